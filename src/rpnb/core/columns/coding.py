"""Values of a column as numbers: categories, text and dates. Nothing is learned here.

A category is identified by a number: text by 52 bits of its hash, a number by itself.
After the input checks, rows of a table are therefore numeric arrays. What is learned
about categories is in `rpnb.core.columns.categories`.
"""

import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import blake2b
from numbers import Real
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import circle

#: Numeric columns that a text column becomes: half for words, half for trigrams.
TEXT_WIDTH: Final = 256
#: Numeric columns that a date column becomes: days, and three cycles by sine, cosine.
DATE_WIDTH: Final = 7
#: What a column holds.
ColumnKind: TypeAlias = Literal["number", "category", "text", "date"]
#: How many numeric columns a column becomes.
WIDTHS: Final[dict[ColumnKind, int]] = {
    "number": 1,
    "category": 1,
    "text": TEXT_WIDTH,
    "date": DATE_WIDTH,
}
#: Most numeric columns that all text and date columns together may become.
MOST_WIDTH: Final = 1 << 16
#: Number of words from which a value counts as text, not as a category.
MANY_WORDS: Final = 5

#: Ending of the names of features that are codes of a file's categories.
CODED: Final = " (code)"

#: Number of a missing category where NaN is not allowed; texts have positive numbers.
MISSING_CATEGORY: Final = -float(1 << 52)

#: Characters of a text that are read, which bounds the cost of a row.
LONGEST_READ: Final = 20_000

_WORD = re.compile(r"\w+")
_WITH_OFFSET = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d[\d:.]*)(Z|[+-]\d\d(:?\d\d)?)")
# Microseconds of a day, a week and a mean year of 365.2425 days.
_CYCLES = 86_400_000_000, 604_800_000_000, 31_556_952_000_000


def number_of_text(text: str) -> float:
    """Return the number of a text category: 2⁵² plus 52 bits of its hash.

    >>> number_of_text("red") == number_of_text("red") != number_of_text("blue")
    True
    """
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return float((1 << 52) + (int.from_bytes(digest, "little") >> 12))


def category_numbers(values: Iterable[Any]) -> FloatArray:
    """Return the numbers of categories (n,), NaN for missing ones.

    Text gets the number of its hash; a number or boolean is its own. Other types are
    refused, since their spelling may change.

    >>> category_numbers([3, True, None, "3"])[:3]
    array([ 3.,  1., nan])
    """
    known: dict[Any, float] = {}
    found = []
    for value in values:
        kind = type(value)
        if kind is str:
            number = known.get(value)
            if number is None:
                number = known[value] = number_of_text(value)
        else:
            number = _number_of(value)
        found.append(number)
    return np.array(found, np.float64)


def _number_of(value: Any) -> float:
    """Return the number of a category that is not a plain `str`."""
    if isinstance(value, str):
        return number_of_text(str(value))
    if is_missing(value):
        return np.nan
    if isinstance(value, Real | np.bool_):
        return float(value) + 0.0  # −0.0 becomes 0.0
    if isinstance(value, date):
        return number_of_text(value.isoformat())
    raise TypeError(f"a category must be text or a number, got {value!r}")


def is_missing(value: Any) -> bool:
    """Return whether a value of a table is missing: None, NaN, NaT or NA.

    >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None:
        return True
    return bool(type(value).__name__ == "NAType" or value != value)


def text_numbers(texts: Sequence[Any]) -> FloatArray:
    """Return hashed words and trigrams of texts (n, 256), zeros for missing ones.

    Each case-folded word adds 1 or −1 to one of 128 columns, and each character
    trigram of the word, padded by a blank at both ends, to one of 128 others; column
    and sign are given by a hash (Weinberger et al., "Feature hashing for large scale
    multitask learning", ICML 2009, eq. 2). Each half is divided by its Euclidean norm.
    Characters beyond the first 20,000 are not read.
    """
    half = TEXT_WIDTH // 2
    found = np.zeros((len(texts), 2, half))
    for i, text in enumerate(texts):
        if is_missing(text):
            continue
        for word in _WORD.findall(str(text)[:LONGEST_READ].casefold()):
            _add(found[i, 0], word)
            padded = f" {word} "
            for start in range(len(padded) - 2):
                _add(found[i, 1], padded[start : start + 3])
    length = np.sqrt((found * found).sum(axis=2, keepdims=True))
    return (found / np.maximum(length, 1.0)).reshape(len(texts), TEXT_WIDTH)


def _add(row: FloatArray, piece: str) -> None:
    """Add a piece of text to a row; its hash gives the column and the sign."""
    number = zlib.crc32(piece.encode("utf-8", "surrogatepass"))
    row[(number >> 1) % row.shape[0]] += 1.0 if number & 1 else -1.0


def is_words(value: Any) -> bool:
    """Return whether a value is text, with too many words for a category.

    >>> is_words("New York"), is_words("the quick brown fox jumps")
    (False, True)
    """
    return isinstance(value, str) and len(_WORD.findall(value)) >= MANY_WORDS


def local_time(text: str) -> str:
    """Return the local time of a text, without its offset from UTC.

    >>> local_time("2024-01-01T05:15:00+05:00"), local_time("2024-01-01")
    ('2024-01-01T05:15:00', '2024-01-01')
    """
    found = _WITH_OFFSET.fullmatch(text)
    return text if found is None else found[1]


def date_numbers(times: NDArray[np.datetime64]) -> FloatArray:
    """Return days since 1970, and the phase of the day, week and year.

    Each phase is given by its sine and cosine, which makes (n, 7) columns; all are NaN
    where the time is missing.

    >>> date_numbers(np.array(["1970-01-02T06:00"], "M8[us]")).round(3)[0, :3]
    array([1.25, 1.  , 0.  ])
    """
    micros = times.astype("M8[us]").astype(np.int64)
    found = np.empty((len(times), DATE_WIDTH))
    found[:, 0] = micros / 1e6 / 86_400.0
    for i, cycle in enumerate(_CYCLES):
        found[:, 2 * i + 1], found[:, 2 * i + 2] = circle(micros, cycle)
    found[np.isnat(times)] = np.nan
    return found
