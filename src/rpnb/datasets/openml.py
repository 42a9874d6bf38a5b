"""Downloading datasets from OpenML through scikit-learn, and converting them.

scikit-learn downloads and caches (under `SCIKIT_LEARN_DATA` or `~/scikit_learn_data`).
Its own ARFF parser is used, so that pandas is not needed. The result is compared with
the catalogue: shape and class counts must agree; the rows are compared by checksum.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import URLError

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.datasets.catalogue import Entry, OpenMLSource
from rpnb.datasets.dataset import (
    DatasetUnavailableError,
    LabelArray,
    Rows,
    count_labels,
    fingerprint,
)


def fetch_rows(entry: Entry, source: OpenMLSource) -> tuple[Rows, str]:
    """Download the rows of a dataset, and return them with what was checked.

    Raises
    ------
    DatasetUnavailableError
        If OpenML cannot be reached, or has other data under the number.
    """
    views = [_fetch(number, entry) for number in source.ids]
    for X, y in views[1:]:
        if len(X) != len(views[0][0]) or not np.array_equal(y, views[0][1]):
            raise _unlike(entry, source, "the parts do not have the same labels")
    X, y = np.hstack([X for X, _ in views]), views[0][1]
    X, y = X[: source.rows], y[: source.rows]
    superfluous = X.shape[1] - entry.p
    if not 0 <= superfluous <= source.leading:
        found = f"{X.shape[1]} features instead of {entry.p}"
        raise _unlike(entry, source, found)
    X, y = _without_missing(X[:, superfluous:], y, source)
    if source.decimals is not None:
        X = np.round(X, source.decimals)
    X = np.ascontiguousarray(X)
    return _relabelled(X, y, entry, source)


def _fetch(number: int, entry: Entry) -> Rows:
    """Return one of OpenML's datasets as numbers (NaN: missing) and labels."""
    from sklearn.datasets import fetch_openml  # slow to import, rarely needed

    with warnings.catch_warnings():
        # One warning per retry; the error below is enough.
        warnings.filterwarnings("ignore", "A network error occurred", UserWarning)
        try:
            bunch = fetch_openml(data_id=number, as_frame=False, parser="liac-arff")
        except (URLError, TimeoutError, ConnectionError, ValueError) as error:
            done = "read" if isinstance(error, ValueError) else "downloaded"
            raise DatasetUnavailableError(
                f"{entry.name}: OpenML's dataset {number} could not be {done} "
                f"({error}). {how_to_get(entry)}"
            ) from error
    columns = [
        _numbers(column, (bunch.categories or {}).get(name))
        for name, column in zip(bunch.feature_names, bunch.data.T, strict=True)
    ]
    return np.column_stack(columns), np.array([_token(label) for label in bunch.target])


def how_to_get(entry: Entry) -> str:
    """Return a sentence on how to get a dataset's file without network."""
    sentence = (
        f"Without network, put {entry.slug}.csv.gz ({entry.origin}) into a folder and "
        f"name the folder in the environment variable RPNB_DATA or as data=..."
    )
    if entry.openml is None:
        return sentence
    return (
        f"{sentence}; or call load({entry.name!r}) once on a machine with network and "
        f"copy its folder scikit_learn_data/openml"
    )


def _numbers(column: Any, categories: Sequence[str] | None) -> FloatArray:
    """Return nominal values that are numbers as these instead of scikit-learn's codes.

    Other nominal values are coded by their position in the declared list, from 0.
    """
    numbers: FloatArray = np.array(column, dtype=np.float64)
    if categories is None:
        return numbers
    try:
        meaning = np.array([float(category) for category in categories])
    except ValueError:
        return numbers
    known = np.isfinite(numbers)
    numbers[known] = meaning[numbers[known].astype(np.intp)]
    return numbers


def _token(label: object) -> str:
    """Return a label as text; a numeric target comes as floats, 3.0 for 3."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _without_missing(X: FloatArray, y: LabelArray, source: OpenMLSource) -> Rows:
    missing = np.isnan(X)
    if source.missing == "drop":
        complete = ~missing.any(axis=1)
        return X[complete], y[complete]
    if source.missing is not None:
        return np.where(missing, source.missing, X), y
    return X, y


def _relabelled(
    X: FloatArray, y: LabelArray, entry: Entry, source: OpenMLSource
) -> tuple[Rows, str]:
    """Rename labels as in the catalogue, and compare the rows with the catalogue."""
    if source.labels_by_count:
        candidates = [_renaming_by_count(y, entry)]
    else:
        candidates = [dict(renaming) for renaming in source.labels] or [{}]
    if math.isnan(X.sum()):
        raise _unlike(entry, source, "missing values")
    named = [_rename(y, renaming) for renaming in candidates]
    for labels in named:
        if fingerprint(X, labels) == entry.rows:
            return (X, labels), "rows, in any order"
    counts = count_labels(named[0])
    if len(X) != entry.n or counts != dict(sorted(entry.class_counts.items())):
        raise _unlike(entry, source, f"{len(X)} rows with class counts {counts}")
    return (X, named[0]), "shape and class counts only: some values differ"


def _rename(y: LabelArray, renaming: Mapping[str, str]) -> LabelArray:
    renamed: LabelArray = np.array([renaming.get(label, label) for label in y.tolist()])
    return renamed


def _renaming_by_count(y: LabelArray, entry: Entry) -> dict[str, str]:
    by_count = {count: label for label, count in entry.class_counts.items()}
    return {
        label: by_count.get(count, label) for label, count in count_labels(y).items()
    }


def _unlike(entry: Entry, source: OpenMLSource, found: str) -> DatasetUnavailableError:
    numbers = ", ".join(map(str, source.ids))
    return DatasetUnavailableError(
        f"{entry.name}: what OpenML has under {numbers} must have {entry.n} rows, "
        f"{entry.p} features and the class counts {dict(entry.class_counts)}, found "
        f"{found}. {how_to_get(entry)}"
    )
