"""Frames with non-numeric columns: refused by an error that names the column.

scikit-learn's own check converts a frame as a whole, and its error names no column.
"""

from typing import Any

import numpy as np

from rpnb.core.columns.coding import CODED

# What to do with a column, by its content.
_LEARNED = (
    "PooledClassifier learns {} as {}, and any learner in "
    "make_stream_pipeline(RunningScaler(), …) of rpnb.preprocessing does; or turn {} "
    "into numbers, such as {}, or leave it out"
)
_CODES = {
    "text": "codes",
    "categories": "codes by X[column].cat.codes",
    "dates or times": "days",
}
_CURES = {
    "text": _LEARNED.format("it", "it is", "it", _CODES["text"]),
    "categories": _LEARNED.format("them", "they are", "them", _CODES["categories"]),
    "dates or times": _LEARNED.format(
        "them", "they are", "them", _CODES["dates or times"]
    ),
    "values that are not numbers": "turn them into numbers, or leave it out",
}


def column_names(X: Any) -> list[Any] | None:
    """Return the names of a frame's columns; None if X is not a frame."""
    if type(X) is np.ndarray or not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return None
    return list(X.columns)


def refuse_uncoded(model: Any, X: Any) -> None:
    """Refuse a frame with columns that the model got as codes of the command line."""
    names, known = column_names(X), getattr(model, "feature_names_in_", None)
    if names is None or known is None:
        return
    texts = [name for name in known if isinstance(name, str)]
    coded = {name.removesuffix(CODED) for name in texts if name.endswith(CODED)}
    coded |= {name.partition("=")[0] for name in texts if "=" in name}
    found = [name for name in names if name in coded and name not in texts]
    if found:
        raise ValueError(
            f"this model learned its column {found[0]!r} from a file as codes that "
            "frames do not have: predict files with `rpnb predict`, or learn the file "
            "with --model Pooled or --scale, whose models predict frames"
        )


def refuse_columns(X: Any, estimator: Any = None) -> None:
    """Raise an error where a column of a frame holds no numbers.

    Its advice depends on the estimator, which may wrap another one.
    """
    names = column_names(X)
    if names is None or len(X.shape) != 2:
        return
    # Names may occur twice, so columns are accessed by position.
    kinds = list(X.dtypes)
    for j, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        what = _fault(X, j, kind)
        if what is not None:
            raise ValueError(
                f"X must hold numbers, but its column {name!r} holds {what} ({kind}): "
                f"{_cure(what, estimator)}"
            )


def _cure(what: str, estimator: Any) -> str:
    """Return what to do with a column that holds no numbers."""
    inner = getattr(estimator, "model", None)
    if inner is None or what not in _CODES:
        return _CURES[what]
    wrapper, alone = type(estimator).__name__, type(inner).__name__
    if not hasattr(inner, "categorical_features"):
        alone = f"make_stream_pipeline(RunningScaler(), {alone}(…))"
    return (
        f"{wrapper} takes numbers only; {alone} without {wrapper} learns such columns; "
        f"or turn them into numbers, such as {_CODES[what]}, or leave them out"
    )


def _fault(X: Any, j: int, kind: Any) -> str | None:
    """Return what a column holds instead of numbers; None if it may hold numbers."""
    if hasattr(kind, "is_numeric"):  # polars
        return _fault_of_polars(kind)
    if hasattr(kind, "categories"):
        numbers = getattr(kind.categories, "dtype", np.dtype(object)).kind in "fiub"
        return None if numbers else "categories"
    letter = getattr(kind, "kind", "O")
    if letter in "mM":
        return "dates or times"
    text = str(kind)
    if text.startswith(("string", "str", "large_string")):
        return "text"
    if letter == "O" and type(kind) is np.dtype(object).__class__:
        values = X.iloc[:, j]
        if any(isinstance(v, list | tuple | dict | np.ndarray) for v in values):
            return "values that are not numbers"
        first = next((v for v in values if isinstance(v, str | bytes)), None)
        if first is not None:
            try:
                float(first)
            except ValueError:
                return "text"
    return None


def _fault_of_polars(kind: Any) -> str | None:
    if kind.is_numeric() or str(kind) in ("Boolean", "Null", "Object", "Unknown"):
        return None
    if kind.is_temporal():
        return "dates or times"
    name = str(kind)
    if name.startswith(("Categorical", "Enum")):
        return "categories"
    return "text" if name in ("String", "Utf8") else "values that are not numbers"
