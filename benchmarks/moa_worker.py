"""MOA's side of `compare_moa`: more jobs for the worker of `python -m peers`.

compare_moa.py runs it; `peers.workers.serving` describes the protocol.
"""

import time
from importlib import import_module
from typing import Any

import numpy as np

# By name: it lies beside serving.py, which runs us, and not in this folder.
capymoa_worker: Any = import_module("capymoa_worker")
java, instances = capymoa_worker.java, capymoa_worker.instances

LEARNERS = {
    "tree": "moa.classifiers.trees.HoeffdingTree",
    "bagging": "moa.classifiers.meta.OzaBag",
    "pure boosting": "moa.classifiers.meta.OzaBoost",
}


def learner_for(request: dict[str, Any], header: Any) -> Any:
    """Return the requested learner, untrained."""
    learner = java(LEARNERS[request["learner"]])()
    if request["learner"] != "tree":
        learner.ensembleSizeOption.setValue(request["members"])
        learner.setRandomSeed(request["seed"])
    if request["learner"] == "pure boosting":
        learner.pureBoostOption.set()
    learner.setModelContext(header)
    learner.prepareForUse()
    return learner


def splits_of(node: Any, path: str, found: dict[str, tuple[int, float]]) -> None:
    """Collect attribute and threshold of every split below a node, by its path."""
    if node is None or node.isLeaf():
        return
    test = node.getSplitTest()
    attribute = int(test.getAttsTestDependsOn()[0])
    found[path] = (attribute, float(test.getSplitValue()))
    for side in range(node.numChildren()):
        splits_of(node.getChild(side), f"{path}{side}", found)


def pass_by_row(library: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Test, then train, row by row; reply with the votes and with a tree's splits."""
    data = np.load(request["rows"])
    X, y, weight = data["X"], data["y"], data["weight"]
    header, rows = instances(X, y, request["classes"])
    learner = learner_for(request, header)
    votes = np.zeros((len(X), request["classes"]))
    known: dict[str, tuple[int, float]] = {}
    splits: list[tuple[int, int, float]] = []
    nodes = 0
    for i in range(len(X)):
        row = rows.get(i)
        ballot = np.array(learner.getVotesForInstance(row))
        votes[i, : len(ballot)] = ballot
        if weight[i] > 0.0:
            row.setWeight(float(weight[i]))
            learner.trainOnInstance(row)
        if request["learner"] == "tree" and learner.getNodeCount() != nodes:
            nodes = learner.getNodeCount()
            found: dict[str, tuple[int, float]] = {}
            splits_of(learner.getTreeRoot(), "", found)
            splits += [(i, *found[path]) for path in found.keys() - known.keys()]
            known = found
    np.savez(request["output"], votes=votes)
    return {"splits": splits}


def pass_at_once(library: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Test, then train, in MOA's own loop; reply with the labels and the time."""
    data = np.load(request["rows"])
    header, rows = instances(data["X"], data["y"], request["classes"])
    learner = learner_for(request, header)
    clock = java("java.lang.management.ManagementFactory").getThreadMXBean()
    evaluation = "moa.evaluation."
    began, began_wall = clock.getCurrentThreadCpuTime(), time.perf_counter()
    result = java(evaluation + "EfficientEvaluationLoops").PrequentialEvaluation(
        java("moa.streams.CachedInstancesStream")(rows),
        learner,
        java(evaluation + "BasicClassificationPerformanceEvaluator")(),
        java(evaluation + "WindowClassificationPerformanceEvaluator")(),
        len(data["X"]),
        len(data["X"]),
        True,
        True,
    )
    wall = time.perf_counter() - began_wall
    seconds = (clock.getCurrentThreadCpuTime() - began) * 1e-9
    np.savez(request["output"], labels=np.array(result.predictions).astype(np.int64))
    return {"seconds": seconds, "wall": wall}


def draw_weights(library: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Reply with the weights that MOA's bagging draws: one per row and member."""
    generator = java("java.util.Random")(request["seed"])
    poisson = java("moa.core.MiscUtils").poisson
    shape = (len(np.load(request["rows"])["X"]), request["members"])
    weights = np.array([poisson(1.0, generator) for _ in range(shape[0] * shape[1])])
    np.savez(request["output"], weights=weights.reshape(shape).astype(np.float64))
    return {}


JOBS = {"by row": pass_by_row, "at once": pass_at_once, "draw": draw_weights}
