"""Schemas of model files: what they accept, what they refuse, and that none is loose.

That each array of each learner's file is held to its schema is tested with crafted
files (test_crafted_files.py).
"""

import math
from typing import Any

import numpy as np
import pytest

from learners import names, new
from rpnb import PooledClassifier
from rpnb.core.pooled.model import MEMBERS
from rpnb.estimators.protocol import saved_model
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.fitted import file_schema
from rpnb.estimators.saving.schema import (
    CHECKSUM,
    COUNT,
    MOST_COUNTED,
    SEED,
    StateSchema,
    ValueSchema,
    check_arrays,
    check_values,
    counts,
    exactly,
    flags,
    indices,
    reals,
    singles,
)
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
Y = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]
MOST = np.finfo(np.float64).max

#: A rule, values that it allows and values that it refuses.
ARRAYS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "reals": (reals(1), [0.0, -MOST, MOST], [math.nan, math.inf, -math.inf]),
    "positive": (reals(1, low=0.5), [0.5, MOST], [np.nextafter(0.5, 0), math.nan]),
    "infinite": (reals(1, infinite=True), [math.inf, -math.inf], [math.nan]),
    "missing": (reals(1, nan=True), [math.nan, 0.0], [math.inf]),
    "share": (reals(1, low=0.0, high=1.0), [0.0, 1.0], [-1e-300, 1.0 + 1e-15]),
    "singles": (singles(1, low=0.0), [0.0], [math.nan, math.inf, -1e-40]),
    "counts": (counts(1), [0, MOST_COUNTED], [-1, MOST_COUNTED + 1]),
    "indices": (indices(1, below=7), [0, 6], [-1, 7]),
    "indices or none": (indices(1, below=7, low=-1), [-1, 6], [-2, 7]),
    "exactly": (exactly(4, 1), [4], [3, 5]),
}
VALUES: dict[str, tuple[ValueSchema, list[Any], list[Any]]] = {
    "count": (COUNT, [0, MOST_COUNTED], [-1, MOST_COUNTED + 1, 1.0, True, "1", None]),
    "seed": (SEED, [0, 2**64 - 1], [-1, 2**64]),
    "checksum": (CHECKSUM, [0, 2**32 - 1], [-1, 2**32]),
    "truth": (ValueSchema(bool), [True, False], [1, 0, None]),
    "real": (ValueSchema(float, 0.0, 1.0), [0, 0.0, 1.0], [1.5, math.nan, "0"]),
}


@pytest.mark.parametrize("rule", ARRAYS)
def test_an_array_is_accepted_up_to_its_bounds(rule: str) -> None:
    array, good, bad = ARRAYS[rule]
    schema = StateSchema({"name": array})
    for value in good:
        given = np.array([value], array.dtype)
        assert (
            check_arrays({"name": given}, schema)["name"].tobytes() == given.tobytes()
        )
    for value in bad:
        with pytest.raises(
            ModelFileError, match=r"'name' holds .* at \[0\], which must"
        ):
            check_arrays({"name": np.array([value], array.dtype)}, schema)
    for other in (
        np.zeros(2, array.dtype),
        np.zeros((1, 1), array.dtype),
        np.zeros(1, np.int8),
    ):
        with pytest.raises(ModelFileError, match="'name' is "):
            check_arrays({"name": other}, schema)


def test_a_boolean_is_one_of_two_bytes() -> None:
    schema = StateSchema({"name": flags(2)})
    check_arrays({"name": np.array([True, False])}, schema)
    with pytest.raises(ModelFileError, match=r"2 at \[1\], which must be 0 or 1"):
        check_arrays({"name": np.array([1, 2], np.uint8).view(np.bool_)}, schema)


@pytest.mark.parametrize("rule", VALUES)
def test_a_value_is_accepted_up_to_its_bounds(rule: str) -> None:
    value, good, bad = VALUES[rule]
    schema = StateSchema({}, {"name": value})
    for given in good:
        check_values({"name": given}, schema)
    for given in bad:
        with pytest.raises(ModelFileError, match="'name' is "):
            check_values({"name": given}, schema)


def test_neither_more_nor_fewer_entries_are_accepted() -> None:
    schema = StateSchema({"name": reals(1)}, {"value": COUNT})
    for arrays in ({}, {"name": np.zeros(1), "more": np.zeros(1)}):
        with pytest.raises(ModelFileError, match="array '"):
            check_arrays(arrays, schema)
    for values in ({}, {"value": 1, "more": 1}):
        with pytest.raises(ModelFileError, match="value '"):
            check_values(values, schema)


def fitted() -> dict[str, Any]:
    """Return each learner, and what parameters add to its file."""
    models = {name: new(name) for name in names()}
    models["RPNB with all"] = new("RPNB", scale="running", class_weight="balanced")
    models["late"] = new("Pooled", delay=3)
    models["all members"] = PooledClassifier(members=[*MEMBERS], n_projections=16)
    models["pipeline"] = make_stream_pipeline(RunningScaler(), new("PA"))
    for model in models.values():
        model.partial_fit(X, Y, np.unique(Y))
    return models


#: They keep missing values of rows as they are.
MISSING = {"scale.rows", "window_forest.window", "boosted_trees.raw", "pending.rows"}


@pytest.mark.parametrize(("name", "model"), fitted().items())
def test_a_saved_model_meets_its_schema_and_no_rule_is_loose(
    name: str, model: Any
) -> None:
    saved = saved_model(model)
    shapes = {key: array.shape for key, array in saved.arrays.items()}
    schema = file_schema(model._learner(), saved.state, shapes, 2, 3)
    check_arrays(saved.arrays, schema)
    check_values(saved.state, schema)
    for key, rule in schema.arrays.items():
        kind = np.dtype(rule.dtype).kind
        # Whole numbers point somewhere or count something: both have an end.
        assert kind != "i" or None not in (rule.low, rule.high), key
        assert not rule.nan or key.removeprefix("late.") in MISSING, key
    for key, value in schema.values.items():
        assert value.type is bool or math.isfinite(value.high), key
