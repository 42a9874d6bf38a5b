"""MOA's learners by CapyMOA's Java loop; see serving.py.

`prequential_evaluation` leaves the whole loop to Java where the stream is MOA's own
(`optimise=True`); a NumpyStream is not, and would cross into Java several times a row.
So the rows are turned into MOA's instances first, in memory, before the clock runs.
"""

import tempfile
from importlib import import_module
from importlib.metadata import version as release
from pathlib import Path
from typing import Any

import numpy as np

#: Learner -> class of `capymoa.classifier`, base learner, whether K is its size.
LEARNERS = {
    "NaiveBayes": ("NaiveBayes", None, False),
    "OzaBag of NaiveBayes": ("OnlineBagging", "NaiveBayes", True),
    "OzaBag of HoeffdingTree": ("OnlineBagging", "HoeffdingTree", True),
    "AdaptiveRandomForest": ("AdaptiveRandomForestClassifier", None, False),
    "StreamingRandomPatches": ("StreamingRandomPatches", None, False),
}


def java(name: str) -> Any:
    """Return a class of the virtual machine by its full name."""
    import_module("capymoa")  # starts the virtual machine
    return import_module("jpype").JClass(name)


def version() -> str:
    """Return the library's release."""
    return release("capymoa")


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


def prepare(learner: str, X: np.ndarray, y: np.ndarray, M: int) -> Any:
    """Return a stream of CapyMOA around rows that are in Java's memory already."""
    header, rows = instances(X, y, M)
    streams = import_module("capymoa.stream")
    stream = streams.MOAStream(schema=streams.Schema(moa_header=header))
    # Given to the constructor, it would be asked to prepare itself, which it cannot.
    stream.moa_stream = java("moa.streams.CachedInstancesStream")(rows)
    return stream


def make(learner: str, p: int, M: int, K: int, seed: int) -> Any:
    """Return a way to make the model: its constructor wants the stream's schema."""
    classifiers = import_module("capymoa.classifier")
    name, base, sized = LEARNERS[learner]
    options: dict[str, Any] = {} if name == "NaiveBayes" else {"random_seed": seed + 1}
    if sized:
        options["ensemble_size"] = K
    if base is not None:
        options["base_learner"] = base
    return _Model(getattr(classifiers, name), options)


class _Model:
    """A learner that is made when its stream is known."""

    def __init__(self, cls: Any, options: dict[str, Any]) -> None:
        self.cls = cls
        self.options = options
        self.learner: Any = None

    def start(self, schema: Any) -> Any:
        base = self.options.get("base_learner")
        options = dict(self.options)
        if base is not None:
            classifiers = import_module("capymoa.classifier")
            options["base_learner"] = getattr(classifiers, base)(schema)
        self.learner = self.cls(schema, **options)
        return self.learner


def test_then_train(learner: str, model: Any, rows: Any) -> Any:
    """Return the labels of one pass in Java."""
    evaluation = import_module("capymoa.evaluation")
    results = evaluation.prequential_evaluation(
        rows, model.start(rows.get_schema()), store_predictions=True, optimise=True
    )
    return np.asarray(results.predictions(), np.int64)


def size(learner: str, model: Any, rows: Any) -> int | None:
    """Return the bytes of the model as Java serialises it; some it cannot."""
    buffer = java("java.io.ByteArrayOutputStream")()
    out = java("java.io.ObjectOutputStream")(buffer)
    try:
        out.writeObject(model.learner.moa_learner)
    except java("java.io.NotSerializableException"):
        return None
    out.close()
    return int(buffer.size())
