"""MOA's side of `compare_moa`: run by an interpreter that has CapyMOA.

It needs nothing of rpnb. A request is a line of JSON on standard input, the answer a
line of JSON on standard output; arrays travel in .npz files that the request names.

Run: never by hand; see compare_moa.py.
"""

import json
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

LEARNERS = {
    "tree": "moa.classifiers.trees.HoeffdingTree",
    "bagging": "moa.classifiers.meta.OzaBag",
    "pure boosting": "moa.classifiers.meta.OzaBoost",
}


def java(name: str) -> Any:
    """Return a class of the virtual machine by its full name."""
    return import_module("jpype").JClass(name)


def instances(X: np.ndarray, y: np.ndarray, M: int) -> Any:
    """Return MOA's header and the rows as its instances, all attributes numeric."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arff"
        with path.open("w") as file:
            file.write("@relation rows\n")
            file.writelines(f"@attribute x{j} numeric\n" for j in range(X.shape[1]))
            file.write(f"@attribute y {{{','.join(map(str, range(M)))}}}\n@data\n")
            for x, label in zip(X.tolist(), y.tolist(), strict=True):
                file.write(",".join(map(repr, x)) + f",{label}\n")
        stream = java("moa.streams.ArffFileStream")(str(path), -1)
        stream.prepareForUse()
        rows = java("com.yahoo.labs.samoa.instances.Instances")(
            stream.getHeader(), len(X)
        )
        while stream.hasMoreInstances():
            rows.add(stream.nextInstance().getData())
    return stream.getHeader(), rows


def learner_for(request: dict[str, Any], header: Any) -> Any:
    """Return the learner that is asked for, untrained."""
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


def pass_by_row(request: dict[str, Any]) -> dict[str, Any]:
    """Test, then train, row by row; answer with the votes and with a tree's splits."""
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
    np.savez(request["answer"], votes=votes)
    return {"splits": splits}


def pass_at_once(request: dict[str, Any]) -> dict[str, Any]:
    """Test, then train, in MOA's own loop; answer with the labels and the time."""
    data = np.load(request["rows"])
    header, rows = instances(data["X"], data["y"], request["classes"])
    learner = learner_for(request, header)
    clock = java("java.lang.management.ManagementFactory").getThreadMXBean()
    evaluation = "moa.evaluation."
    began, wall = clock.getCurrentThreadCpuTime(), time.perf_counter()
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
    wall = time.perf_counter() - wall
    seconds = (clock.getCurrentThreadCpuTime() - began) * 1e-9
    np.savez(request["answer"], labels=np.array(result.predictions).astype(np.int64))
    return {"seconds": seconds, "wall": wall}


def draw_weights(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the weights that MOA's bagging draws: row by row, one a member."""
    generator = java("java.util.Random")(request["seed"])
    poisson = java("moa.core.MiscUtils").poisson
    shape = (len(np.load(request["rows"])["X"]), request["members"])
    weights = np.array([poisson(1.0, generator) for _ in range(shape[0] * shape[1])])
    np.savez(request["answer"], weights=weights.reshape(shape).astype(np.float64))
    return {}


def main() -> None:
    """Answer requests until the input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints is no answer
    import_module("capymoa")  # starts the Java virtual machine
    jobs = {"by row": pass_by_row, "at once": pass_at_once, "draw": draw_weights}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(jobs[request["job"]](request)), file=answers, flush=True)


if __name__ == "__main__":
    main()
