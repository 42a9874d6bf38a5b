"""Target: method calls of a model, in any order and with any arguments."""

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from fuzzer import arguments, models
from fuzzer.target import REFUSALS, Case, Target, choose, report, require_no_temporary
from rpnb.preprocessing import RunningScaler

_LEARNING = ("fit", "partial_fit", "predict_then_learn")
_ASKING = ("predict", "predict_proba", "predict_log_proba", "decision_function")
_OTHERS = (
    *("predict_one", "learn_one", "set_params", "merge", "compile", "clone", "pickle"),
    *("deepcopy", "attributes"),
)
# Methods that only some estimators have.
_OF_SOME = {
    "RPNB": ("predict_set", "predict_set_then_learn", "explain", "unlearn"),
    "RunningScaler": ("transform", "transform_then_learn", "fit_transform"),
}
_OF_EXPLAIN = ("label", "against", "background")
_ATTRIBUTES = (
    *("classes_", "n_samples_seen_", "n_updates_", "weights_", "member_errors_"),
    *("drifts_", "member_history_", "mean_", "var_", "scale_", "scaler_", "learner_"),
)
_ARGUMENTS = (
    *("X", "y", "sample_weight", "classes", "value"),
    *("coverage", *_OF_EXPLAIN),
)
_LABELLED = (*_LEARNING, "predict_set_then_learn", "unlearn")
#: Bounds of parameters that would make states too large to copy before each call.
_BOUNDED = {"n_estimators": 8, "n_components": 8, "n_projections": 32, "window": 64}


def make(rng: np.random.Generator) -> Case:
    """Return an estimator, changes of its parameters, and calls, at random."""
    # Estimators with more code are drawn more often.
    often = tuple(each for each in models.learning_names() if "-" in each)
    often += ("RPNB", "Pooled", "RunningScaler")
    name = choose(rng, (*models.learning_names(), *often))
    calls = [_make_call(rng, name) for _ in range(int(rng.integers(1, 5)))]
    parameters = {}
    if rng.random() < 0.4:
        signature = inspect.signature(models.class_of(name))
        for parameter in signature.parameters:
            if rng.random() < 0.2:
                parameters[parameter] = arguments.make_value(rng)
    return {
        "estimator": name,
        "fitted": bool(rng.random() < 0.7) and not parameters,
        "parameters": parameters,
        "calls": calls,
    }


def _make_call(rng: np.random.Generator, name: str) -> dict[str, Any]:
    some = _OF_SOME.get(name.partition("-")[0], ())
    method = choose(rng, _LEARNING * 3 + _ASKING * 2 + _OTHERS + some * 3)
    rows = arguments.make_rows(rng, models.rows_for(name).shape[1])
    shape = rows.get("shape", [0])
    n = int(shape[0]) if shape else 0
    call: dict[str, Any] = {"method": method, "X": rows}
    if method in _LABELLED:
        call["y"] = arguments.make_labels(rng, n)
        if rng.random() < 0.3:
            call["sample_weight"] = arguments.make_weights(rng, n)
        if method != "fit" and rng.random() < 0.3:
            call["classes"] = arguments.make_labels(rng, 3)
        if method == "predict_set_then_learn" and rng.random() < 0.5:
            call["coverage"] = arguments.make_value(rng)
    elif method in ("predict_set", "explain") and rng.random() < 0.5:
        key = "coverage" if method == "predict_set" else choose(rng, _OF_EXPLAIN)
        rows_wanted = key == "background"
        call[key] = arguments.make_rows(rng, 4) if rows_wanted else _make_class(rng)
    elif method == "set_params":
        call["value"] = arguments.make_value(rng)
        call["which"] = int(rng.integers(20))
    elif method == "learn_one":
        call["y"] = arguments.make_labels(rng, 1)
    return call


def _make_class(rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() < 0.5:
        return arguments.make_value(rng)
    return {"value": choose(rng, ("a", "b", "c", 0.9, 0.5))}


def run(case: Case, folder: Path) -> None:
    """Make the calls; a refused one must not change the model."""
    name = case["estimator"]
    with np.errstate(all="ignore"):
        if case["fitted"]:
            model = models.copy_of(name)
        else:
            model = models.new(name)
            for parameter, described in case["parameters"].items():
                value = arguments.build(described)
                most = _BOUNDED.get(parameter)
                if most is not None and isinstance(value, int) and most < value < 2**32:
                    value = most
                model.set_params(**{parameter: value})
        for call in case["calls"]:
            before = models.state_of(model)
            try:
                model = _make(model, call)
            except REFUSALS:
                if models.state_of(model) != before:
                    report(f"{call['method']} was refused and changed the model")
            except AttributeError:
                # Not every estimator has every method.
                if hasattr(model, call["method"]) and model.__sklearn_is_fitted__():
                    raise
            except MemoryError:
                return  # asked for, by parameters
        if model.__sklearn_is_fitted__() and _is_unchanged(model):
            _check_round_trip(model, folder)


def _is_unchanged(model: Any) -> bool:
    """Return whether the parameters are those that the model was fitted with."""
    if not hasattr(model, "_check_unchanged"):
        return True
    try:
        model._check_unchanged()
    except REFUSALS:
        return False
    return True


def _check_round_trip(model: Any, folder: Path) -> None:
    """Save the model, load it, and compare."""
    path = folder / "model.rpnb"
    try:
        model.save(path)
    except (*REFUSALS, NotImplementedError):
        require_no_temporary(folder)
        return
    loaded = type(model).load(path)
    require_no_temporary(folder)
    if models.saved(loaded) != path.read_bytes():
        report("a model that was saved and loaded is another")


def _make(model: Any, call: dict[str, Any]) -> Any:
    """Make one call; return the model to go on with."""
    method = call["method"]
    given = {key: arguments.build(call[key]) for key in _ARGUMENTS if key in call}
    if method == "clone":
        return clone(model)
    if method == "deepcopy":
        return copy.deepcopy(model)
    if method == "pickle":
        return pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    if method == "attributes":
        for attribute in _ATTRIBUTES:
            getattr(model, attribute, None)
        repr(model)
    elif method == "set_params":
        names = sorted(model.get_params(deep=False))
        if names:
            model.set_params(**{names[call["which"] % len(names)]: given["value"]})
    elif method == "merge":
        if hasattr(model, "merge"):
            model.merge(given["X"] if call["X"].get("damage") else copy.deepcopy(model))
    elif method == "compile":
        if hasattr(model, "compile"):
            model.compile()
    elif method == "predict_one":
        _row(model, "predict_one", given["X"])
    elif method == "learn_one":
        label = given["y"]
        label = label[0] if hasattr(label, "__len__") and len(label) else label
        _row(model, "learn_one", given["X"], label)
    elif method in _LABELLED and hasattr(model, method):
        rows, labels = given.pop("X"), given.pop("y")
        if given.get("sample_weight", 0) is None:
            del given["sample_weight"]
        known = inspect.signature(getattr(model, method)).parameters
        given = {key: value for key, value in given.items() if key in known}
        labelled = () if isinstance(model, RunningScaler) else (labels,)
        getattr(model, method)(rows, *labelled, **given)
    elif hasattr(model, method):
        getattr(model, method)(given.pop("X"), **given)
    return model


def _row(model: Any, method: str, rows: Any, *more: Any) -> None:
    if hasattr(model, method):
        row = (
            rows[0]
            if isinstance(rows, np.ndarray) and len(rows.shape) == 2 and len(rows)
            else rows
        )
        getattr(model, method)(row, *more)


TARGET = Target(make, run, models.prepare)
