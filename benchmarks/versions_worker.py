"""The worker that runs one version of rpnb for scripts that compare versions.

The interpreter of that version runs it, so it uses only what the oldest version has.
The loop around the jobs is in peers/workers/serving.py.
"""

import time
from importlib import import_module
from typing import Any

import numpy as np

Request = dict[str, Any]
Reply = dict[str, Any]

#: Rows learned before single rows are measured, and single rows of one measurement.
BEFORE, SINGLE = 1000, 500
# The current rows, and the models of the jobs by learner.
_rows: dict[str, Any] = {}
_models: dict[tuple[str, str], Any] = {}


def load(library: Any, request: Request) -> Reply:
    """Take the rows of a file for all further requests, and forget the models."""
    with np.load(request["rows"]) as arrays:
        _rows.update(X=arrays["X"], y=arrays["y"])
    _rows["classes"] = np.unique(_rows["y"])
    _rows["members"] = request["members"]
    _models.clear()
    return {"version": str(import_module("rpnb").__version__)}


def learn(library: Any, request: Request) -> Reply:
    """Predict, then learn all rows with a new model."""
    model = _new("rpnb", request["learner"], random_state=0)
    X, y = _rows["X"], _rows["y"]
    start = time.process_time()
    labels = model.predict_then_learn(X, y, classes=_rows["classes"])
    seconds = time.process_time() - start
    _models["all", request["learner"]] = model
    return {"seconds": seconds / len(y), "mistakes": int(np.sum(labels != y))}


def score(library: Any, request: Request) -> Reply:
    """Predict, then learn all rows with a new model; return what it predicted."""
    model = _new("rpnb", request["learner"], random_state=request["seed"])
    labels, P = model.predict_then_learn(
        _rows["X"], _rows["y"], classes=_rows["classes"], return_proba=True
    )
    np.savez(request["output"], labels=labels, P=P)
    return {}


def predict(library: Any, request: Request) -> Reply:
    """Predict all rows with the model that has learned them."""
    model = _models["all", request["learner"]]
    X, y = _rows["X"], _rows["y"]
    start = time.process_time()
    labels = model.predict(X)
    seconds = time.process_time() - start
    return {"seconds": seconds / len(y), "mistakes": int(np.sum(labels != y))}


def one(library: Any, request: Request) -> Reply:
    """Predict, then learn single rows, a call each."""
    key = "one", request["learner"]
    if key not in _models:
        model = _new("rpnb", request["learner"], random_state=0)
        first = slice(BEFORE)
        model.partial_fit(_rows["X"][first], _rows["y"][first], _rows["classes"])
        _models[key] = model
    model, chosen = _models[key], _single(request)
    rows = [_rows["X"][i : i + 1] for i in chosen]
    labels = [_rows["y"][i : i + 1] for i in chosen]
    found = []
    start = time.process_time()
    for x, y in zip(rows, labels, strict=True):
        found.append(model.predict_then_learn(x, y))
    seconds = time.process_time() - start
    mistakes = int(np.sum(np.concatenate(found) != _rows["y"][chosen]))
    return {"seconds": seconds / len(rows), "mistakes": mistakes}


def river(library: Any, request: Request) -> Reply:
    """Call `predict_one` and `learn_one` of the adapter for River."""
    names = [f"x{j}" for j in range(_rows["X"].shape[1])]

    def observations(chosen: Any) -> list[tuple[dict[str, float], Any]]:
        values, labels = _rows["X"][chosen].tolist(), _rows["y"][chosen].tolist()
        return [
            (dict(zip(names, row, strict=True)), label)
            for row, label in zip(values, labels, strict=True)
        ]

    key = "river", request["learner"]
    if key not in _models:
        model = _new("rpnb.river", request["learner"], seed=0)
        for x, y in observations(np.arange(min(BEFORE, len(_rows["y"])))):
            model.learn_one(x, y)
        _models[key] = model
    model, rows = _models[key], observations(_single(request))
    mistakes = 0
    start = time.process_time()
    for x, y in rows:
        mistakes += model.predict_one(x) != y
        model.learn_one(x, y)
    seconds = time.process_time() - start
    return {"seconds": seconds / len(rows), "mistakes": mistakes}


JOBS = {
    "load": load,
    "learn": learn,
    "score": score,
    "predict": predict,
    "one": one,
    "river": river,
}


def _new(module: str, learner: str, **parameters: Any) -> Any:
    if learner == "Pooled" and _rows["members"]:
        parameters["members"] = _rows["members"]
    if learner in ("Pooled", "RPNB"):
        return getattr(import_module(module), f"{learner}Classifier")(**parameters)
    # Baselines are not random.
    return getattr(import_module("rpnb.baselines"), learner)()


def _single(request: Request) -> Any:
    """Return the numbers of the rows of a turn: the next ones of the stream."""
    start = BEFORE + SINGLE * int(request["turn"])
    return np.arange(start, start + SINGLE) % len(_rows["y"])
