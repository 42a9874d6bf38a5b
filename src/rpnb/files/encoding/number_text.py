"""Numbers as text: decimal commas, thousands separators, currencies, percents."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_CURRENCY = r"(?:[$€£¥₹₽₩]|USD|EUR|GBP|CHF)"
_SIGN = re.compile(rf"{_CURRENCY}|%")
_BLANKS = r"[ \x{00a0}\x{202f}\x{2009}]"
_PLAIN = re.compile(
    r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)\s*",
    re.IGNORECASE | re.ASCII,
)
#: Values of `--thousands` and `--decimal`, by name.
SIGNS = {
    "comma": ",",
    "dot": ".",
    "point": ".",
    "space": " ",
    "apostrophe": "'",
    "underscore": "_",
}
_NAMES = {" ": "space", "'": "apostrophe"}
# Largest number of characters of a unit.
_LONGEST_UNIT = 12
_WITH_UNIT = re.compile(
    rf"\s*([+-]?[\d.,'_ ]*\d[.,]?(?:[eE][+-]?\d+)?)\s*([^\W\d_%]|[°µ])"
    rf"([^\d\s]{{0,{_LONGEST_UNIT - 1}}})\s*"
)
#: Texts that mean a missing value among numbers, but may be words elsewhere.
PERHAPS_MISSING = frozenset(("-", "--", ".", "none", "None", "NONE", "n.a."))
#: Known units: a column with several of them cannot be read as numbers.
UNITS = frozenset(
    [
        "kg",
        "g",
        "mg",
        "lb",
        "lbs",
        "oz",
        "t",
        "km",
        "m",
        "cm",
        "mm",
        "mi",
        "ft",
        "in",
        "yd",
        "h",
        "hr",
        "hrs",
        "min",
        "s",
        "sec",
        "ms",
        "°c",
        "°f",
        "l",
        "ml",
        "kb",
        "mb",
        "gb",
        "tb",
        "w",
        "kw",
        "kwh",
        "v",
        "hz",
        "khz",
        "mhz",
        "ghz",
        "px",
        "km/h",
        "mph",
    ]
)


def split_unit(text: str) -> tuple[str, str] | None:
    """Return a number, as written, and its unit; None for anything else.

    >>> split_unit("70.1 kg"), split_unit("-3°C"), split_unit("kg"), split_unit("5")
    (('70.1', 'kg'), ('-3', '°C'), None, None)
    """
    found = _WITH_UNIT.fullmatch(text)
    return None if found is None else (found[1].strip(), found[2] + found[3])


def same_unit(unit: str) -> str:
    """Return the spelling of a unit by which it is compared with others.

    Known units of several letters may be capitalised.

    >>> [same_unit(unit) for unit in ("KG", "kg", "m", "M")]
    ['kg', 'kg', 'm', 'M']
    """
    return unit.casefold() if len(unit) > 1 and unit.casefold() in UNITS else unit


def sign_of(text: str) -> str:
    """Return the currency or percent sign of a number, "" if it has none.

    >>> [sign_of(text) for text in ("$5", "5 EUR", "84.5%", "5")]
    ['$', 'EUR', '%', '']
    """
    found = _SIGN.search(text)
    return "" if found is None else found[0]


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number in the notation of programs.

    >>> [is_plain_number(text) for text in ("-1.5e3", "nan", "1_000", "1,5")]
    [True, True, False, False]
    """
    return _PLAIN.fullmatch(text) is not None


@dataclass(frozen=True)
class Notation:
    """Notation of numbers.

    Currencies, percent signs and parentheses for negative numbers are always allowed,
    as they are unambiguous. 12% is read as 12.

    Attributes
    ----------
    decimal, thousands
        Decimal and thousands separators; by default a dot and none.
    unit
        Unit that may follow each number, such as kg.
    missing
        Texts that mean a missing number.
    """

    decimal: str = "."
    thousands: str | None = None
    unit: str | None = None
    missing: tuple[str, ...] = ()

    def to_json(self) -> list[Any]:
        """Return the notation as JSON values, for a model file."""
        return [self.decimal, self.thousands, self.unit, list(self.missing)]

    @classmethod
    def from_json(cls, saved: Any) -> "Notation":
        """Return a notation from the result of `to_json`; ValueError if invalid."""
        decimal, thousands, unit, missing = saved
        signs = SIGNS.values()
        if (
            decimal not in signs
            or (thousands is not None and thousands not in signs)
            or not (unit is None or isinstance(unit, str))
            or len(unit or "") > _LONGEST_UNIT
            or not set(missing) <= PERHAPS_MISSING
        ):
            raise ValueError(f"{saved!r} is not a notation of numbers")
        return cls(decimal, thousands, unit, tuple(missing))

    @cached_property
    def pattern(self) -> str:
        """Regular expression, in the syntax of RE2, that matches all numbers."""
        point = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands is not None:
            sign = _BLANKS if self.thousands == " " else re.escape(self.thousands)
            # 0,123 has no thousands: its comma is a decimal sign.
            whole = rf"(?:[1-9]\d{{0,2}}(?:{sign}\d{{2,3}})*{sign}\d{{3}}|\d+)"
        digits = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
        after = [_CURRENCY, "%"]
        if self.unit is not None:
            after.append(self._unit_pattern)
        end = rf"{_BLANKS}*(?:{'|'.join(after)})?"
        bare = rf"(?:{_CURRENCY}{_BLANKS}?)?{digits}{end}"
        signed = rf"[+-]{_BLANKS}?{bare}|{_CURRENCY}{_BLANKS}?[+-]{digits}{end}"
        special = r"[+-]?(?i:inf|infinity|nan)"
        return rf"^\s*(?:{bare}|{signed}|\({bare}\)|{special})\s*$"

    @property
    def _unit_pattern(self) -> str:
        """Regular expression of the unit, which several spellings may have."""
        assert self.unit is not None  # noqa: S101 - the callers have one
        unit = re.escape(self.unit)
        several = len(self.unit) > 1 and self.unit.casefold() in UNITS
        return f"(?i:{unit})" if several else unit

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
        """Return whether each text is a number; None if it is missing or blank."""
        from pyarrow import compute

        return compute.match_substring_regex(self._there(values), self.pattern)

    def _there(self, values: "pa.Array") -> "pa.Array":
        """Return texts with null for those that mean a missing value, or are blank."""
        import pyarrow as pa
        from pyarrow import compute

        trimmed = compute.utf8_trim_whitespace(values)
        gone = compute.is_in(trimmed, value_set=pa.array(["", *self.missing]))
        return compute.if_else(gone, pa.scalar(None, values.type), values)

    def parse(self, values: "pa.Array") -> "pa.Array":
        """Return texts, all of them numbers in this notation, as doubles."""
        import pyarrow as pa
        from pyarrow import compute

        values = self._there(values)
        if self.unit is not None:
            values = compute.replace_substring_regex(
                values, rf"{self._unit_pattern}\s*$", ""
            )
        taken = rf"\s|{_BLANKS}|{_CURRENCY}|[%+]"
        if self.thousands is not None:
            taken += f"|{re.escape(self.thousands)}"
        # A plus is redundant, even in an exponent.
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


def notation_for(texts: Iterable[str]) -> Notation | None:
    """Return the most likely notation of some texts; None if there is none.

    >>> notation_for(["1,5"]).decimal, notation_for(["1,234", "12,500"]).thousands
    (',', ',')
    """
    given = list(texts)
    fitting = [n for n in _NOTATIONS if all(n.matches(text) for text in given)]
    comma, thousand = Notation(","), Notation(".", ",")
    if comma in fitting and thousand in fitting:
        return thousand
    return fitting[0] if fitting else None


def is_ambiguous(texts: Iterable[str]) -> bool:
    """Return whether a comma in numbers may be a decimal or a thousands separator.

    >>> is_ambiguous(["1,234", "12,500"]), is_ambiguous(["1,234", "0,5"])
    (True, False)
    """
    comma, thousand = Notation(","), Notation(".", ",")
    return all(comma.matches(text) and thousand.matches(text) for text in texts)


def options_for(texts: Iterable[str], columns: Sequence[str] = ()) -> str | None:
    """Return the options that read some texts as numbers; None if there are none.

    They are options for `columns`, or for all columns if none are named.

    >>> options_for(["1,5", "20,25"]), options_for(["1,5"], ["price", "size"])
    ('--decimal ,', '--decimal price=, --decimal size=,')
    >>> options_for(["1.234,5"]), options_for(["1_000"])
    ('--decimal , --thousands .', '--thousands _')
    >>> options_for(["1,234"])
    '--decimal , (1,234 is between 1 and 2) or --thousands , (1,234 is more than 1000)'
    """
    given = list(texts)
    notation = notation_for(given)
    if notation is None:
        return None
    if is_ambiguous(given):
        return (
            f"{_as_typed(Notation(','), columns)} (1,234 is between 1 and 2) or "
            f"{_as_typed(notation, columns)} (1,234 is more than 1000)"
        )
    return _as_typed(notation, columns)


def notation_options(
    notation: Notation, columns: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return options for a notation, of some columns or of all, with their values.

    >>> notation_options(Notation(",", "."), ["size"])
    [('--decimal', 'size=,'), ('--thousands', 'size=.')]
    """
    found = []
    for before in [f"{column}=" for column in columns] or [""]:
        if notation.decimal != ".":
            found.append(("--decimal", f"{before}{notation.decimal}"))
        if notation.thousands is not None:
            sign = _NAMES.get(notation.thousands, notation.thousands)
            found.append(("--thousands", f"{before}{sign}"))
    return found


def _as_typed(notation: Notation, columns: Sequence[str]) -> str:
    options = notation_options(notation, columns)
    return shlex.join(word for option in options for word in option)
