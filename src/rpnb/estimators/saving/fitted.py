"""Conversion between fitted models and the content of model files."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rpnb.estimators.checks.columns import CATEGORICAL, names_columns
from rpnb.estimators.saving.estimator import (
    SavedEstimator,
    check_parameters,
    describe,
    read_estimator,
    report_damage,
    require_fitted,
    set_features,
)
from rpnb.estimators.saving.files import ModelSource
from rpnb.estimators.saving.saved_columns import (
    array_names,
    check_categories,
    saved_columns,
    with_columns,
    without_columns,
)
from rpnb.estimators.saving.schema import (
    StateSchema,
    check_arrays,
    check_values,
    saturated,
)
from rpnb.estimators.stream.asking import (
    ASKING,
    check_asking,
    has_asking,
    with_asking,
    without_asking,
)
from rpnb.estimators.stream.class_weights import (
    COUNTS,
    check_class_weight,
    counts_schema,
    is_balanced,
)
from rpnb.estimators.stream.learner import Learner, Shapes
from rpnb.estimators.stream.prediction_sets import (
    ENTRY,
    check_thresholds,
    has_thresholds,
    with_thresholds,
    without_thresholds,
)


def saved_model(model: Any) -> SavedEstimator:
    """Return the content of a model file for a model."""
    require_fitted(model)
    model._check_unchanged()
    learner = model._learner()
    metadata, arrays = learner.export(model._state)
    if is_balanced(model._class_weight):
        counts = model._class_counts
        if counts is None:  # before the first row
            counts = np.zeros(model.classes_.shape[0], np.int64)
        arrays = {**arrays, COUNTS: counts}
    shapes = {name: array.shape for name, array in arrays.items()}
    schema = file_schema(
        learner, metadata, shapes, model.classes_.shape[0], _n_inputs(model)
    )
    metadata, arrays = saturated(metadata, arrays, schema)
    parameters = model._parameters_to_json()
    saved = describe(model, parameters, model.classes_, metadata, arrays)
    saved = with_columns(saved, model._columns, model._categories)
    saved = with_asking(saved, model._asking)
    return with_thresholds(saved, model._set_thresholds)


def load_model(estimator: Any, path: ModelSource, key: bytes | None) -> Any:
    """Read a model of a given class and check all of its content."""
    saved = read_estimator(
        path, estimator.__name__, key, lambda saved: _array_names(estimator, saved)
    )
    with report_damage(path):
        model = new_model(estimator, saved.parameters)
        learner = model._learner()
        model._set_thresholds = check_thresholds(saved)
        model._asking = check_asking(saved)
        saved = without_asking(without_thresholds(saved))
        found = saved_columns(saved)
        categories = None if found is None else check_categories(saved, found)
        saved = without_columns(saved)
        check_class_weight(model._class_weight, saved.classes, whole=False)
        model._set_classes(saved.classes)
        set_features(model, saved)
        M = saved.classes.shape[0]
        p = saved.n_features if found is None else found.width
        shapes = {name: array.shape for name, array in saved.arrays.items()}
        schema = file_schema(learner, saved.state, shapes, M, p)
        check_values(saved.state, schema)
        arrays = check_arrays(saved.arrays, schema)
        counts = arrays.pop(COUNTS, None)
        # A damaged file may hold any numbers, which may overflow.
        with np.errstate(all="ignore"):
            model._state = learner.restore(saved.state, arrays, saved.classes, p)
        model._record_parameters()
        model._class_counts = counts
        if found is not None:
            if not hasattr(model, "categorical_features"):
                raise ValueError(f"{estimator.__name__} learns numbers only")
            model._columns, model._categories = found.columns, categories
    return model


def new_model(estimator: Any, parameters: dict[str, Any]) -> Any:
    """Return a new, unfitted model with the parameters of a file."""
    known = estimator._get_param_names()
    check_parameters(parameters, [name for name in known if name != "n_jobs"])
    model = estimator(**estimator._parameters_from_json(parameters))
    if CATEGORICAL in known:
        names_columns(model.categorical_features, model.text_features)
    return model


def file_schema(
    learner: Learner[Any], state: Mapping[str, Any], shapes: Shapes, M: int, p: int
) -> StateSchema:
    """Return the schema of a model file with M classes and p features."""
    schema = learner.schema(state, shapes, M, p)
    if not is_balanced(learner.given._class_weight):
        return schema
    return StateSchema({**schema.arrays, COUNTS: counts_schema(M)}, schema.values)


def _array_names(estimator: Any, saved: SavedEstimator) -> Collection[str]:
    """Return the arrays that a file of this version must have."""
    model = new_model(estimator, saved.parameters)
    learner = model._learner()
    M, p = saved.classes.shape[0], saved.n_features
    with report_damage("the model file"):
        found = saved_columns(saved)
    own = without_columns(without_asking(without_thresholds(saved))).state
    if found is not None:
        p = found.width
    names = {*file_schema(learner, own, {}, M, p).arrays}
    if found is not None:
        names |= array_names(found)
    if has_asking(saved):
        names |= {ASKING}
    return names | {ENTRY} if has_thresholds(saved) else names


def _n_inputs(model: Any) -> int:
    """Return the number of features of a row as the learner sees it."""
    if model._categories is not None:
        width: int = model._categories.width
        return width
    features: int = model.n_features_in_
    return features if model._columns is None else int(model._columns.width)
