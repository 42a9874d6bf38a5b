"""Schemas of estimators' states, against which the content of files is checked.

An estimator declares a `StateSchema`: for each array its type, its shape, and the range
of its values (an index is below what it points into); for each JSON value its type and
range. `check_arrays` and `check_values` refuse everything else before it is used.
Estimators check themselves what no range can express, such as that nodes form a tree;
`check_tree` is for those with trees.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.saving.files import ModelFileError, checked_array

#: Largest value of a counter of rows, far below overflow.
MOST_COUNTED: Final = 1 << 62
#: Largest number of features of a model from a file. Where projections are drawn again,
#: memory grows with the number of features, but the file does not.
MOST_FEATURES: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class ArraySchema:
    """An array: all values are from `low` to `high`, None for no bound."""

    dtype: type[np.generic]
    shape: tuple[int, ...]
    low: float | None = None
    high: float | None = None
    nan: bool = False
    """whether values may be NaN"""
    infinite: bool = False
    """whether values may be infinite"""


@dataclass(frozen=True, slots=True)
class ValueSchema:
    """A JSON value: a number of this type from `low` to `high`, or a boolean."""

    type: type[bool] | type[int] | type[float]
    low: float = 0
    high: float = MOST_COUNTED


@dataclass(frozen=True, slots=True)
class StateSchema:
    """The state of an estimator, as a model file holds it."""

    arrays: Mapping[str, ArraySchema]
    values: Mapping[str, ValueSchema] = field(default_factory=dict)


#: A seed of 64 bits, and a checksum of 32.
SEED: Final = ValueSchema(int, 0, (1 << 64) - 1)
CHECKSUM: Final = ValueSchema(int, 0, (1 << 32) - 1)
COUNT: Final = ValueSchema(int)


def reals(*shape: int, low: float | None = None, **rules: Any) -> ArraySchema:
    """Return the schema of an array of finite float64."""
    return ArraySchema(np.float64, shape, low, **rules)


def singles(*shape: int, low: float | None = None, **rules: Any) -> ArraySchema:
    """Return the schema of an array of finite float32."""
    return ArraySchema(np.float32, shape, low, **rules)


def flags(*shape: int) -> ArraySchema:
    """Return the schema of an array of booleans."""
    return ArraySchema(np.bool_, shape)


def counts(*shape: int) -> ArraySchema:
    """Return the schema of an array of counters."""
    return ArraySchema(np.int64, shape, 0, MOST_COUNTED)


def indices(
    *shape: int, below: int, low: int = 0, dtype: type[np.generic] = np.int64
) -> ArraySchema:
    """Return the schema of an array of indices; with low=−1, −1 stands for none."""
    return ArraySchema(dtype, shape, low, below - 1)


def exactly(value: int, *shape: int) -> ArraySchema:
    """Return the schema of an array of integers that are all this value."""
    return ArraySchema(np.int64, shape, value, value)


def check_values(state: Mapping[str, Any], schema: StateSchema) -> None:
    """Refuse a state whose JSON values are not those of the schema."""
    _check_names(state, schema.values, "value")
    for name, rule in schema.values.items():
        value = state[name]
        if rule.type is float and type(value) is int:
            value = float(value)
        if type(value) is not rule.type:
            raise ModelFileError(
                f"the model file is damaged: {name!r} is {value!r}, not of type "
                f"{rule.type.__name__}"
            )
        if rule.type is not bool and not rule.low <= value <= rule.high:
            raise ModelFileError(
                f"the model file is damaged: {name!r} is {value!r}, not from "
                f"{rule.low} to {rule.high}"
            )


def check_arrays(
    arrays: Mapping[str, NDArray[Any]], schema: StateSchema
) -> dict[str, NDArray[Any]]:
    """Return the arrays in C order; refuse arrays that violate the schema."""
    found = {
        name: checked_array(arrays, name, rule.dtype, rule.shape)
        for name, rule in schema.arrays.items()
    }
    _check_names(arrays, schema.arrays, "array")
    for name, rule in schema.arrays.items():
        _check_range(name, found[name], rule)
    return found


def saturated(
    state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], schema: StateSchema
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return values and arrays limited to what a model file may hold.

    Counters beyond the limit of a file, and sums that have overflowed, are set to their
    bounds. Undefined values that result from overflow, such as ∞ − ∞, become 0.
    Anything else is unchanged.
    """
    values = dict(state)
    for name, rule in schema.values.items():
        if rule.type is int and type(values.get(name)) is int:
            values[name] = min(values[name], int(rule.high))
    found = dict(arrays)
    for name, bounds in schema.arrays.items():
        array = found.get(name)
        if array is None or array.dtype != bounds.dtype or array.size == 0:
            continue
        kind = array.dtype.kind
        if kind == "f":
            found[name] = _finite(array, bounds)
        elif kind == "i" and bounds.high == MOST_COUNTED < array.max():
            found[name] = np.minimum(array, MOST_COUNTED)
    return values, found


def _finite(array: NDArray[Any], rule: ArraySchema) -> NDArray[Any]:
    """Return an array of floats that a file may hold; the same object if unchanged."""
    undefined = np.isnan(array) & (not rule.nan)
    overflowed = np.isinf(array) & (not rule.infinite)
    if not undefined.any() and not overflowed.any():
        return array
    most = np.finfo(array.dtype).max
    usable = np.where(
        undefined, 0.0, np.where(overflowed, np.copysign(most, array), array)
    )
    low = -np.inf if rule.low is None else rule.low
    high = np.inf if rule.high is None else rule.high
    return np.clip(usable, low, high).astype(array.dtype)


def _check_names(given: Collection[str], known: Collection[str], what: str) -> None:
    for name in known:
        if name not in given:
            raise ModelFileError(
                f"the model file is damaged: it has no {what} {name!r}"
            )
    for name in given:
        if name not in known:
            raise ModelFileError(
                f"the model file is damaged: it has a {what} {name!r}, which no such "
                "model has"
            )


def _check_range(name: str, array: NDArray[Any], rule: ArraySchema) -> None:
    """Refuse an array with a value that is not allowed, naming its position."""
    if array.size == 0:
        return
    if array.dtype == np.bool_:
        # A byte of a file may have any value, but a boolean must be 0 or 1.
        _refuse_where(name, array.view(np.uint8) > 1, array.view(np.uint8), "0 or 1")
        return
    if array.dtype.kind == "f":
        if not rule.nan:
            _refuse_where(name, np.isnan(array), array, "a number")
        if not rule.infinite:
            _refuse_where(name, np.isinf(array), array, "finite")
    if rule.low is not None:
        _refuse_where(name, array < rule.low, array, f"at least {rule.low}")
    if rule.high is not None:
        _refuse_where(name, array > rule.high, array, f"at most {rule.high}")


def _refuse_where(
    name: str, wrong: NDArray[np.bool_], array: NDArray[Any], rule: str
) -> None:
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ModelFileError(
            f"the model file is damaged: array {name!r} holds {array[place]} at "
            f"{list(place)}, which must be {rule}"
        )


def check_tree(what: str, left: IntArray, right: IntArray, n_leaves: int) -> None:
    """Refuse nodes 0 … s − 1 that do not form a binary tree with s + 1 leaves.

    The root is node 0. A child r ≥ 0 is node r, and r < 0 is leaf −1 − r. Nodes are
    numbered in order of creation, so a node comes after its parent. Together with each
    node and leaf being the child of one node, this excludes cycles and unreachable
    nodes.
    """
    s = left.shape[0]
    children = np.concatenate([left, right]).astype(np.int64)
    parents = np.tile(np.arange(s), 2)
    inner = children >= 0
    if (children[inner] <= parents[inner]).any():
        refuse_tree(what, "a node is not after its parent")
    expected = (np.arange(1, s), np.arange(n_leaves) if s > 0 else np.arange(0))
    found = (np.sort(children[inner]), np.sort(-1 - children[~inner]))
    for numbers, wanted in zip(found, expected, strict=True):
        if not np.array_equal(numbers, wanted):
            refuse_tree(what, "not every node and leaf is the child of one node")


def refuse_tree(what: str, why: str) -> None:
    """Raise ModelFileError for an invalid tree."""
    raise ModelFileError(f"the model file is damaged: {what} is not a tree: {why}")
