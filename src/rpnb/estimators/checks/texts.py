"""A warning about columns of text whose values look like numbers or dates.

As categories, their size and order are lost, and most of what can be learned from them.
"""

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# Fewer different numbers may be names of categories.
_FEWEST = 10
_NUMBER = re.compile(
    r"(?=\D*\d)\s*[$€£¥]?\s*[+-]?("
    r"(?:0|[1-9]\d*)?(?:([.,])\d+)?|[1-9]\d{0,2}(?:[.,' ]\d{3})+[.,]?\d*"
    r")(?:[eE][+-]?\d+)?(\s*(?:%|[°µ]?[^\W\d_]{1,6}(?:/[^\W\d_]{1,3})?))?\s*"
)
# Whole numbers as text are often meant as names, unless such a text is among them.
_WHOLE = re.compile(r"\d+")
_MISSING = {
    "",
    "-",
    "--",
    ".",
    "?",
    "none",
    "na",
    "n/a",
    "n.a.",
    "null",
    "nan",
    "unknown",
}
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d([T ]\d\d:\d\d\S*)?\s*")


class TextColumnWarning(UserWarning):
    """A column of text holds numbers or dates for the most part."""


def warn_of_texts(X: Any, columns: Mapping[Any, Sequence[str]]) -> None:
    """Warn about columns of a frame, with their first texts, that look like others."""
    for name, texts in columns.items():
        found = _looks_like(name, texts, pandas=hasattr(X, "iloc"))
        if found is not None:
            what, remedy = found
            warnings.warn(
                f"column {name!r} is learned as text or categories, but most values "
                f"look like {what}: {remedy}; if they are categories, name the column "
                "in categorical_features",
                TextColumnWarning,
                stacklevel=6,
            )


def _looks_like(
    name: Any, texts: Sequence[str], *, pandas: bool
) -> tuple[str, str] | None:
    """Return what most texts look like, and the remedy; None for categories."""
    dates = [text for text in texts if _DATE.fullmatch(text)]
    if 2 * len(dates) > len(texts) > 1:
        remedy = f"use pandas.to_datetime(X[{name!r}])" if pandas else "parse them"
        return f"dates, such as {dates[0]!r}", remedy
    found = [(text, _NUMBER.fullmatch(text)) for text in texts]
    numbers = [(text, each) for text, each in found if each]
    if 2 * len(numbers) <= len(texts) or len({t for t, _ in numbers}) < _FEWEST:
        return None
    others = {text.strip().casefold() for text, each in found if not each}
    if all(_WHOLE.fullmatch(text) for text, _ in numbers) and not others & _MISSING:
        return None
    units = Counter(each[3] for _, each in numbers if each[3])
    if len(units) > 3:
        return None  # such as 12a, 12b, 13c
    example = numbers[0][0]
    if units:
        ((unit, _),) = units.most_common(1)
        cells = f"X[{name!r}].str.removesuffix({unit!r})"
        what = f"numbers with a unit, such as {example!r}"
    elif any(each[2] == "," for _, each in numbers):
        cells = f"X[{name!r}].str.replace(',', '.')"
        what = f"numbers with a decimal comma, such as {example!r}"
    else:
        cells = f"X[{name!r}]"
        what = f"numbers, such as {example!r}"
    if not pandas:
        return what, "turn them into numbers"
    return what, f"use pandas.to_numeric({cells}, errors='coerce')"
