"""Run by `test_capymoa` where CapyMOA is installed: prints what was seen, as JSON."""

import json
import sys
from typing import Any

import numpy as np
from capymoa.base import learner_from_params
from capymoa.classifier import NaiveBayes
from capymoa.core import Instance, LabeledInstance
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import NumpyStream, Schema
from capymoa.stream.generator import RandomRBFGenerator

from rpnb.capymoa import PooledClassifier, RPNBClassifier

ROWS = 400
NAMES = ("RPNBClassifier", "PooledClassifier")


def streams() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, ROWS)
    X = rng.normal(size=(ROWS, 5)) + 1.5 * y[:, None]
    return {
        "of Java": RandomRBFGenerator(number_of_classes=4, number_of_attributes=7),
        "of NumPy": NumpyStream(X, y, target_type="categorical"),
    }


def learners(schema: Any) -> dict[str, Any]:
    return {
        "RPNBClassifier": RPNBClassifier(schema, n_estimators=20, random_seed=7),
        "PooledClassifier": PooledClassifier(
            schema, n_projections=16, window=64, random_seed=7
        ),
    }


def evaluated(stream: Any, name: str) -> dict[str, Any]:
    schema = stream.get_schema()
    settings = {"max_instances": ROWS, "window_size": 100, "store_predictions": True}
    stream.restart()
    ours = learners(schema)[name]
    results = prequential_evaluation(stream, ours, **settings)
    beside = prequential_evaluation(stream, NaiveBayes(schema), **settings)
    stream.restart()
    instances = [stream.next_instance() for _ in range(ROWS)]
    return {
        "X": [instance.x.tolist() for instance in instances],
        "y": [instance.y_index for instance in instances],
        "classes": schema.get_num_classes(),
        "predicted": [int(label) for label in results.predictions()],
        "accuracy": float(results.cumulative.accuracy()),
        "windows": [float(value) for value in results.windowed.accuracy()],
        "learner": results.learner,
        "beside": float(beside.cumulative.accuracy()),
        "probabilities": ours.predict_proba(instances[0]).tolist(),
        "seen": ours._model.n_samples_seen_,
    }


def refused(call: Any, *arguments: Any) -> str:
    try:
        call(*arguments)
    except ValueError as error:
        return str(error)
    return "nothing was refused"


def details() -> dict[str, Any]:
    stream = streams()["of NumPy"]
    schema = stream.get_schema()
    model = RPNBClassifier(schema, n_estimators=5, update="all")
    fresh = model.predict(stream.next_instance())
    before = model._model.n_samples_seen_
    unlabelled = LabeledInstance.from_array(schema, np.ones(5), -1)
    model.train(unlabelled)
    missing = Instance.from_array(schema, np.array([1.0, np.nan, 0.0, 0.0, 0.0]))
    spec: Any = {"learner": "rpnb.capymoa.RPNBClassifier", "params": model.get_params()}
    again = learner_from_params(spec, schema, random_seed=9)
    return {
        "fresh": fresh,
        "learned without a label": model._model.n_samples_seen_ - before,
        "missing": refused(model.predict, missing),
        "regression": refused(
            RPNBClassifier, Schema.from_custom(["a", "b", "t"], target="t")
        ),
        "parameter": refused(lambda: RPNBClassifier(schema, n_components=0)),
        "again": repr(again._model),
        "parameters": RPNBClassifier(schema, random_seed=3)._model.get_params(),
        "own": sorted(model.get_params()),
        "pooled": pooled_details(schema, missing, unlabelled),
    }


def pooled_details(schema: Any, missing: Any, unlabelled: Any) -> dict[str, Any]:
    model = PooledClassifier(schema, "mergeable", 32, 99)
    fresh = model.predict(missing)
    model.train(unlabelled)
    spec: Any = {
        "learner": "rpnb.capymoa.PooledClassifier",
        "params": model.get_params(),
    }
    again = learner_from_params(spec, schema, random_seed=9)
    return {
        "fresh": fresh,
        "learned without a label": model._model.n_samples_seen_,
        "regression": refused(
            PooledClassifier, Schema.from_custom(["a", "b", "t"], target="t")
        ),
        "parameter": refused(lambda: PooledClassifier(schema, n_projections=7)),
        "again": repr(again._model),
        "parameters": PooledClassifier(schema, random_seed=3)._model.get_params(),
        "own": sorted(model.get_params()),
    }


if __name__ == "__main__":
    report = {
        name: {learner: evaluated(stream, learner) for learner in NAMES}
        for name, stream in streams().items()
    }
    json.dump({"streams": report, "details": details()}, sys.stdout)
