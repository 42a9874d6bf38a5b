"""Every array of every member of a pooled model, with one wrong number in it.

The files are whole to the last checksum. Each is refused, or gives a model that can be
used and saved: what is no index and bounds nothing may be any finite number.
"""

from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from estimators.saving.crafting import (
    Parts,
    array_in,
    npy,
    put_together,
    taken_apart,
)
from rpnb import PooledClassifier
from rpnb.core.pooled.members import selected_neighbours
from rpnb.estimators.saving.files import ModelFileError

rng = np.random.default_rng(4)
# Enough features for all members, and a row that is missing some.
X = rng.normal(size=(330, 34))
y = np.array(["a", "b", "c"])[(X[:, 0] * X[:, 1] > 0) + 1 * (X[:, 2] > 1)]
X[3, 5] = np.nan
#: Arrays of values that may be missing.
MAY_BE_NAN = (
    "scale.rows",
    "window_forest.window",
    "boosted_trees.raw",
)


@cache
def whole() -> bytes:
    model = PooledClassifier(n_projections=16, window=64, random_state=0)
    file = BytesIO()
    model.set_params(shuffle=False).fit(X, y).save(file)
    return file.getvalue()


def wrong_numbers(held: NDArray[Any], turn: int) -> Iterator[NDArray[Any]]:
    """Yield copies of an array, each with one number changed, first or last in turn."""
    numbers: tuple[float, ...] = (-1, np.nan, np.inf, 2**31)
    if held.dtype.kind in "iu":
        info = np.iinfo(held.dtype)
        numbers = (-1, 2**31, int(info.max), int(info.min))
        numbers = tuple(n for n in numbers if info.min <= n <= info.max)
    # Each array gets two of them; another array gets the others.
    count = len(numbers)
    chosen = {numbers[(turn + 2 * step) % count] for step in range(2)}
    for step, number in enumerate(sorted(chosen, key=str)):
        changed = held.copy()
        with np.errstate(over="ignore"):
            changed.reshape(-1)[-((turn + step) % 2)] = number
        yield changed


def use(model: PooledClassifier, path: Path) -> None:
    with np.errstate(all="ignore"):
        model.predict_proba(X[:3])
        model.predict_then_learn(X[:70], y[:70])
        model.partial_fit(X[:9], ["d", *y[:8]])
        model.save(path)


def test_a_wrong_number_is_refused_or_harmless(tmp_path: Path) -> None:
    parts = taken_apart(whole())
    arrays = [name.removesuffix(".npy") for name in parts if name.endswith(".npy")]
    assert "selected_neighbours" in {name.partition(".")[0] for name in arrays}
    path = tmp_path / "crafted.rpnb"
    refused = loaded = 0
    for turn, array in enumerate(arrays):
        held = array_in(parts, array)
        if held.size == 0 or held.dtype == np.bool_:
            continue
        may_be_nan = array in MAY_BE_NAN
        for changed in wrong_numbers(held, turn):
            path.write_bytes(put_together(parts | {f"{array}.npy": npy(changed)}))
            try:
                model = PooledClassifier.load(path)
            except ModelFileError:
                refused += 1
                continue
            loaded += 1
            assert may_be_nan or not np.isnan(changed).any(), array
            if held.dtype.kind == "i" or loaded % 6 == 0:  # for time
                use(model, path)
    assert refused > loaded > 0


#: Arrays in single precision of what is kept in double precision too, or is added up.
MAY_OVERFLOW = [
    f"{member}.{field}"
    for member in ("shared_covariance", "fading_covariance")
    for field in ("V", "offset")
] + ["binned_bayes.bins", "binned_bayes.logs"]


@pytest.mark.parametrize("array", MAY_OVERFLOW)
def test_what_overflowed_single_precision_is_kept_and_does_no_harm(
    array: str, tmp_path: Path
) -> None:
    parts = taken_apart(whole())
    path = tmp_path / "crafted.rpnb"
    held = array_in(parts, array)
    for place in (0, held.size - 1):
        changed = held.copy()
        changed.reshape(-1)[place] = np.inf
        path.write_bytes(put_together(parts | {f"{array}.npy": npy(changed)}))
        model = PooledClassifier.load(path)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        model.save(path)
        assert_array_equal(array_in(taken_apart(path.read_bytes()), array), changed)


# Features that were selected


def put(parts: Parts, field: str, place: Any, value: Any) -> Parts:
    array = f"selected_neighbours.{field}"
    held = array_in(parts, array)
    held[place] = value
    return parts | {f"{array}.npy": npy(held)}


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("chosen", 34, "at most 33"),
        ("chosen", -2, "at least -1"),
        ("chosen", 2**31, "at most 33"),
        ("labels", 3, "at most 2"),
        ("labels", -1, "at least 0"),
        ("clock", -1, "at least 0"),
        ("clock", 2**63 - 1, "at most 4611686018427387904"),
        ("counts", -0.5, "at least 0.0"),
        ("counts", np.nan, "a number"),
        ("weight", -1.0, "at least 0.0"),
        ("class_weight", np.inf, "finite"),
        ("rows", np.nan, "a number"),
        ("relevance", np.inf, "finite"),
        ("near", np.nan, "a number"),
    ],
)
def test_selected_neighbours_are_bounded(
    field: str, value: Any, rule: str, tmp_path: Path
) -> None:
    parts = taken_apart(whole())
    path = tmp_path / "crafted.rpnb"
    flat = array_in(parts, f"selected_neighbours.{field}")
    for place in {0, flat.size - 1}:
        where = np.unravel_index(place, flat.shape)
        path.write_bytes(put_together(put(parts, field, where, value)))
        message = f"'selected_neighbours.{field}' holds .* must be {rule}"
        with pytest.raises(ModelFileError, match=message):
            PooledClassifier.load(path)


def test_features_selected_of_rows_that_were_not_kept(tmp_path: Path) -> None:
    """A file may hold no counts and rows, as for many classes, and yet a choice."""
    parts = taken_apart(whole())
    kept = selected_neighbours.rows_kept(34)
    none = {
        "selected_neighbours.counts.npy": npy(np.zeros((0, 8, 3))),
        "selected_neighbours.rows.npy": npy(np.zeros((kept, 0), np.float32)),
    }
    for chosen in (-1, 33):
        crafted = put(parts, "chosen", Ellipsis, chosen) | none
        path = tmp_path / "crafted.rpnb"
        path.write_bytes(put_together(crafted))
        use(PooledClassifier.load(path), path)
