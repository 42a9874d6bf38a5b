"""Numbers written as text: decimal commas, thousands, currencies, percents."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_CURRENCY = r"(?:[$€£¥₹₽₩]|USD|EUR|GBP|CHF)"
_BLANKS = r"[ \x{00a0}\x{202f}\x{2009}]"
_PLAIN = re.compile(
    r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)\s*",
    re.IGNORECASE | re.ASCII,
)
#: What `--thousands` and `--decimal` may be, by name.
SIGNS = {
    "comma": ",",
    "dot": ".",
    "point": ".",
    "space": " ",
    "apostrophe": "'",
    "underscore": "_",
}
_NAMES = {" ": "space", "'": "apostrophe"}


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number as programs write it.

    >>> [is_plain_number(text) for text in ("-1.5e3", "nan", "1_000", "1,5")]
    [True, True, False, False]
    """
    return _PLAIN.fullmatch(text) is not None


@dataclass(frozen=True)
class Notation:
    """How numbers are written.

    Currencies, percent signs and parentheses for negative numbers are always allowed:
    they have one meaning only. 12% is 12.

    Attributes
    ----------
    decimal, thousands
        The signs; no thousands by default.
    """

    decimal: str = "."
    thousands: str | None = None

    @cached_property
    def pattern(self) -> str:
        """A regular expression, in the syntax of RE2, of all that is a number."""
        point = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands is not None:
            sign = _BLANKS if self.thousands == " " else re.escape(self.thousands)
            whole = rf"(?:\d{{1,3}}(?:{sign}\d{{2,3}})*{sign}\d{{3}}|\d+)"
        digits = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
        end = rf"{_BLANKS}?(?:{_CURRENCY}|%)?"
        bare = rf"(?:{_CURRENCY}{_BLANKS}?)?{digits}{end}"
        signed = rf"[+-]{_BLANKS}?{bare}|{_CURRENCY}{_BLANKS}?[+-]{digits}{end}"
        special = r"[+-]?(?i:inf|infinity|nan)"
        return rf"^\s*(?:{bare}|{signed}|\({bare}\)|{special})\s*$"

    def matches(self, text: str) -> bool:
        """Return whether a text is a number in this notation.

        >>> Notation().matches("$12"), Notation().matches("1,234")
        (True, False)
        >>> Notation(thousands=",").matches("1,234.50 EUR")
        True
        """
        return self._compiled.match(text) is not None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        pattern = re.sub(r"\\x\{([0-9a-f]{4})\}", r"\\u\1", self.pattern)
        return re.compile(pattern, re.ASCII)

    def fits(self, values: "pa.Array") -> "pa.Array":
        """Return whether each text is a number in this notation, None if missing."""
        from pyarrow import compute

        return compute.match_substring_regex(values, self.pattern)

    def parse(self, values: "pa.Array") -> "pa.Array":
        """Return texts, all of them numbers in this notation, as doubles."""
        import pyarrow as pa
        from pyarrow import compute

        taken = rf"\s|{_BLANKS}|{_CURRENCY}|[%+]"
        if self.thousands is not None:
            taken += f"|{re.escape(self.thousands)}"
        # The sign of an exponent has no meaning if it is a plus.
        bare = compute.replace_substring_regex(values, taken, "")
        bare = compute.replace_substring_regex(bare, r"^\((.*)\)$", r"-\1")
        if self.decimal != ".":
            bare = compute.replace_substring(bare, self.decimal, ".")
        return bare.cast(pa.float64())


# Notations in use, the most common first.
_NOTATIONS = tuple(
    Notation(decimal, thousands)
    for decimal, thousands in (
        (",", None),
        (".", ","),
        (",", "."),
        (",", " "),
        (".", " "),
        (".", "'"),
        (",", "'"),
        (".", "_"),
    )
)


def is_number_in_some_notation(text: str) -> bool:
    """Return whether a text is a number in any notation in use."""
    return any(notation.matches(text) for notation in _NOTATIONS)


def options_for(texts: Iterable[str]) -> str | None:
    """Return the options that read numbers as they are written in some texts.

    >>> options_for(["1,5", "20,25"])
    '--decimal ,'
    >>> options_for(["1.234,5"]), options_for(["1_000"])
    ('--decimal , --thousands .', '--thousands _')
    >>> options_for(["1,234"])
    '--decimal , (1,234 is between 1 and 2) or --thousands , (1,234 is more than 1000)'
    """
    given = list(texts)
    fitting = [n for n in _NOTATIONS if all(n.matches(text) for text in given)]
    if not fitting:
        return None
    # 1,5 can only be a fraction; 1,234 may also be a thousand.
    if Notation(",") in fitting and Notation(".", ",") in fitting:
        return (
            "--decimal , (1,234 is between 1 and 2) or --thousands , (1,234 is more "
            "than 1000)"
        )
    return _options(fitting[0])


def _options(notation: Notation) -> str:
    words = []
    if notation.decimal != ".":
        words.append(f"--decimal {notation.decimal}")
    if notation.thousands is not None:
        words.append(
            f"--thousands {_NAMES.get(notation.thousands, notation.thousands)}"
        )
    return " ".join(words)
