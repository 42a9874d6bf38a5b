"""Target: calls of a model in any order with any arguments."""

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from fuzzer import arguments, models
from fuzzer.target import REFUSALS, Case, Target, choose, report, require_no_temporary
from rpnb.estimators.registry import learners

_LEARNING = ("fit", "partial_fit", "predict_then_learn")
_ASKING = ("predict", "predict_proba", "predict_log_proba", "decision_function")
_OTHERS = (
    *("predict_one", "learn_one", "set_params", "merge", "compile", "clone", "pickle"),
    *("deepcopy", "attributes"),
)
#: Parameters that make states too large to be copied before each call.
_BOUNDED = {"n_estimators": 8, "n_components": 8, "n_projections": 32, "window": 64}


def make(rng: np.random.Generator) -> Case:
    """Return an estimator, changes of its parameters, and calls."""
    name = choose(rng, learners())
    calls = [_make_call(rng) for _ in range(int(rng.integers(1, 5)))]
    parameters = {}
    if rng.random() < 0.4:
        signature = inspect.signature(learners()[name].estimator)
        for parameter in signature.parameters:
            if rng.random() < 0.2:
                parameters[parameter] = arguments.make_value(rng)
    return {
        "estimator": name,
        "fitted": bool(rng.random() < 0.7) and not parameters,
        "parameters": parameters,
        "calls": calls,
    }


def _make_call(rng: np.random.Generator) -> dict[str, Any]:
    method = choose(rng, _LEARNING * 3 + _ASKING * 2 + _OTHERS)
    rows = arguments.make_rows(rng, 4)
    shape = rows.get("shape", [0])
    n = int(shape[0]) if shape else 0
    call: dict[str, Any] = {"method": method, "X": rows}
    if method in _LEARNING:
        call["y"] = arguments.make_labels(rng, n)
        if rng.random() < 0.3:
            call["sample_weight"] = arguments.make_weights(rng, n)
        if method != "fit" and rng.random() < 0.3:
            call["classes"] = arguments.make_labels(rng, 3)
    elif method == "set_params":
        call["value"] = arguments.make_value(rng)
        call["which"] = int(rng.integers(20))
    elif method == "learn_one":
        call["y"] = arguments.make_labels(rng, 1)
    return call


def run(case: Case, folder: Path) -> None:
    """Make the calls; one that is refused leaves the model as it was."""
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
            before = _state_of(model)
            try:
                model = _make(model, call)
            except REFUSALS:
                if _state_of(model) != before:
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
    except REFUSALS:
        require_no_temporary(folder)
        return
    loaded = type(model).load(path)
    require_no_temporary(folder)
    if models.saved(loaded) != path.read_bytes():
        report("a model that was saved and loaded is another")


def _state_of(model: Any) -> Any:
    """Return what a model holds, to the bit, its parameters aside."""
    if not model.__sklearn_is_fitted__():
        return sorted(set(vars(model)) - set(model.get_params(deep=False)))
    metadata, arrays = model._export_state(model._state)
    content = {name: array.tobytes() for name, array in arrays.items()}
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else list(names)
    return metadata, content, model.classes_.tolist(), model.n_features_in_, names


def _make(model: Any, call: dict[str, Any]) -> Any:
    """Make one call; return the model to go on with."""
    method = call["method"]
    given = {
        key: arguments.build(call[key])
        for key in ("X", "y", "sample_weight", "classes", "value")
        if key in call
    }
    if method == "clone":
        return clone(model)
    if method == "deepcopy":
        return copy.deepcopy(model)
    if method == "pickle":
        return pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    if method == "attributes":
        for attribute in ("classes_", "n_seen_", "n_updates_", "weights_"):
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
    elif method in _LEARNING:
        rows, labels = given.pop("X"), given.pop("y")
        if given.get("sample_weight", 0) is None:
            del given["sample_weight"]
        known = inspect.signature(getattr(model, method)).parameters
        given = {key: value for key, value in given.items() if key in known}
        getattr(model, method)(rows, labels, **given)
    elif hasattr(model, method):
        getattr(model, method)(given["X"])
    return model


def _row(model: Any, method: str, rows: Any, *more: Any) -> None:
    if hasattr(model, method):
        row = (
            rows[0]
            if isinstance(rows, np.ndarray) and len(rows.shape) == 2 and len(rows)
            else rows
        )
        getattr(model, method)(row, *more)


TARGET = Target(make, run, models.warm_up)
