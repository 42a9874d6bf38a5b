"""Print the import graph of the package, and trace a row through it.

    python tools/import_graph.py [SOURCES]

SOURCES is the folder that contains the package, by default that of this checkout.
Modules are files; an import is a pair of modules, anywhere in the file. Cycles and the
longest chain do not count imports for annotations only. A trace counts the modules and
functions of the package that run, and the depth of their calls, while a model that has
learned 300 rows predicts and learns one more in one call; for ``rpnb run``, while the
command follows a file of 300 rows; for the service, while it answers a request of one
row, from the request to the answer, in all threads; for Spark, in the driver, since
workers are other processes. The compiled core is not counted. A second line has the
calls of functions that check or number labels. The service and Spark are left out where
they are not installed.
"""

import argparse
import ast
import asyncio
import os
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

PACKAGE = "rpnb"


def module_names(folder: Path) -> dict[str, Path]:
    """Return the files of the package's modules, by name."""
    found = {}
    for path in sorted((folder / PACKAGE).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        found[".".join(parts)] = path
    return found


def imports(
    modules: dict[str, Path], *, annotations: bool = True
) -> set[tuple[str, str]]:
    """Return pairs of a module and a module that it imports.

    Without `annotations`, imports under ``if TYPE_CHECKING`` are left out.
    """
    pairs = set()
    for name, path in modules.items():
        tree = ast.parse(path.read_text())
        left_out = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If)
            and not annotations
            and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if node in left_out:
                continue
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                wanted = [each if each in modules else node.module for each in inner]
            else:
                continue
            pairs |= {(name, each) for each in wanted if each in modules}
    return {(one, other) for one, other in pairs if one != other}


def cycles_and_chain(pairs: set[tuple[str, str]]) -> tuple[list[set[str]], list[str]]:
    """Return groups of modules that import each other, and a longest chain of imports.

    Of such a group, the chain names one module.
    """
    names = sorted({name for pair in pairs for name in pair})
    number = {name: i for i, name in enumerate(names)}
    edges = np.array([[number[one], number[other]] for one, other in sorted(pairs)])
    matrix = coo_array((np.ones(len(edges)), edges.T), (len(names), len(names)))
    _, group = connected_components(matrix, directed=True, connection="strong")
    groups: defaultdict[int, set[str]] = defaultdict(set)
    for name, which in zip(names, group.tolist(), strict=True):
        groups[which].add(name)
    below: defaultdict[int, set[int]] = defaultdict(set)
    for one, other in group[edges].tolist():
        if one != other:
            below[one].add(other)

    @cache
    def longest(which: int) -> tuple[int, ...]:
        return (which, *max(map(longest, sorted(below[which])), key=len, default=()))

    chain = max(map(longest, sorted(groups)), key=len)
    cycles = [each for each in groups.values() if len(each) > 1]
    return cycles, [min(groups[which]) for which in chain]


def print_graph(folder: Path) -> None:
    """Print the numbers of modules, imports and lines, in total and by package."""
    modules = module_names(folder)
    pairs = imports(modules)
    importers = Counter(other for _, other in pairs)
    lines = {name: len(path.read_text().splitlines()) for name, path in modules.items()}
    single = [name for name in modules if importers[name] == 1]
    short = [name for name in single if lines[name] < 110]
    print(f"modules {len(modules)}, imports {len(pairs)}, lines {sum(lines.values())}")
    print(f"with one importer {len(single)}, of them under 110 lines {len(short)}")
    cycles, chain = cycles_and_chain(imports(modules, annotations=False))
    listed = "; ".join(", ".join(sorted(each)) for each in cycles)
    print(f"cycles {len(cycles)}{f' ({listed})' if cycles else ''}")
    print(f"longest chain of imports, {len(chain)} modules: {' -> '.join(chain)}")
    rooms: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for name in modules:
        room = name.split(".")[1] if "." in name else name
        rooms[room] += lines[name]
        files[room] += 1
    for room, count in rooms.most_common(8):
        print(f"  {room:14} {files[room]:4} files {count:7,} lines")


#: Functions that check or number the labels of rows, as file and name.
LABELS = {
    ("labels.py", name) for name in ("add", "find", "of", "of_codes", "_of_integers")
} | {
    ("estimators/checks/labels.py", "as_labels"),
    ("estimators/checks/labels.py", "number_labels"),
    ("estimators/checks/labels.py", "encode"),
    ("serve/label_rules.py", "check_label_values"),
    ("serve/commands/group.py", "accept_labels"),
    ("estimators/protocol.py", "check_labels"),
}


class Trace:
    """Modules and functions of the package that run, and the depth of their calls."""

    def __init__(self, folder: Path) -> None:
        self._root = str(folder / PACKAGE) + os.sep
        self._modules: set[str] = set()
        self._functions: set[tuple[str, str, int]] = set()
        self._labels: Counter[str] = Counter()
        self._depth: defaultdict[int, int] = defaultdict(int)
        self._deepest = 0
        self.on = True

    def follow(self, work: Callable[[], Any]) -> None:
        """Call a function and record what runs in this thread."""
        sys.setprofile(self.note)
        try:
            work()
        finally:
            sys.setprofile(None)

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Record a call or a return; for `sys.setprofile`."""
        code = frame.f_code
        if event not in ("call", "return") or not self.on:
            return
        if not code.co_filename.startswith(self._root):
            return
        thread = threading.get_ident()
        if event == "return":
            # A call that began before the trace was on returns to depth 0.
            self._depth[thread] = max(self._depth[thread] - 1, 0)
            return
        self._depth[thread] += 1
        self._deepest = max(self._deepest, self._depth[thread])
        self._modules.add(code.co_filename)
        self._functions.add((code.co_filename, code.co_name, code.co_firstlineno))
        place = code.co_filename.removeprefix(self._root)
        if (place, code.co_name) in LABELS:
            self._labels[code.co_name] += 1

    def __str__(self) -> str:
        labels = ", ".join(f"{name} {n}" for name, n in self._labels.items())
        return (
            f"{len(self._modules)} modules, {len(self._functions)} functions, depth "
            f"{self._deepest}\n    labels: {labels or 'none of these functions'}"
        )


def print_traces(folder: Path) -> None:
    """Print the traces of a row through both classifiers and the command."""
    from rpnb import PooledClassifier, RPNBClassifier
    from rpnb.cli import main as command

    rng = np.random.default_rng(0)
    X = rng.normal(size=(303, 8))
    y = (X[:, 0] > 0).astype(np.int64)
    learners: tuple[Any, ...] = (PooledClassifier, RPNBClassifier)
    for learner in learners:
        model = learner(random_state=0).partial_fit(X[:300], y[:300])
        model.predict_then_learn(X[300:301], y[300:301])
        plain, checked = Trace(folder), Trace(folder)
        plain.follow(partial(model.predict_then_learn, X[301:302], y[301:302]))
        print(f"{learner.__name__}, predict_then_learn of a plain row: {plain}")
        listed = X[302:303].tolist(), y[302:303].tolist()
        checked.follow(partial(model.predict_then_learn, *listed))
        print(f"{learner.__name__}, of a row that must be checked: {checked}")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.csv"
        header = ",".join([*(f"x{j}" for j in range(8)), "y"])
        np.savetxt(path, np.c_[X, y], delimiter=",", header=header, comments="")
        run = Trace(folder)
        words = ["run", str(path), "--target", "y"]
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            command(words)
            run.follow(lambda: command(words))
        print(f"rpnb run: {run}")


def print_spark_trace(folder: Path) -> None:
    """Print the trace of a row that Spark learns, in the driver."""
    from pyspark.sql import SparkSession

    from rpnb import RPNBClassifier
    from rpnb.spark import learn

    builder = SparkSession.builder.master("local[1]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    rows = [(i, float(i % 7), float(i % 5), i % 2) for i in range(301)]
    first, last = (
        session.createDataFrame(some, ["time", "a", "b", "y"])
        for some in (rows[:300], rows[300:])
    )
    model = RPNBClassifier(random_state=0, batch_size=300)
    learn(model, first, label="y", order="time")
    driver = Trace(folder)
    driver.follow(lambda: learn(model, last, label="y", order="time"))
    print(f"Spark, learn of a row, in the driver: {driver}")
    session.stop()


async def print_service_trace(folder: Path, place: Path) -> None:
    """Print the trace of a row through the service, from the request to the answer."""
    import httpx
    from starlette.types import ASGIApp

    from rpnb.serve.app import make_app
    from rpnb.serve.http.guard import Guard
    from rpnb.serve.limits import Limits
    from rpnb.serve.log import make_private_folder
    from rpnb.serve.metrics import Metrics
    from rpnb.serve.writer import Writer

    trace = Trace(folder)
    trace.on = False
    make_private_folder(place)
    threading.setprofile(trace.note)  # threads that begin from now on
    writer = Writer(place, Limits())
    metrics = Metrics(writer)
    guard: ASGIApp = Guard(make_app(writer, metrics), Limits(), None, metrics)
    writer.start()
    sys.setprofile(trace.note)
    rows = [[float(i % 7), float(i % 5)] for i in range(301)]
    labels = ["a" if i % 2 else "b" for i in range(301)]
    transport = httpx.ASGITransport(guard)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1"
    ) as client:
        spec = {"name": "m", "learner": "Pooled", "n_features": 2}
        (await client.post("/v1/models", json=spec)).raise_for_status()
        for first, stop in ((0, 299), (299, 300), (300, 301)):
            trace.on = stop == 301
            body = {"rows": rows[first:stop], "labels": labels[first:stop]}
            answer = await client.post("/v1/models/m/observe", json=body)
            answer.raise_for_status()
        trace.on = False
    sys.setprofile(None)
    threading.setprofile(None)
    await asyncio.to_thread(writer.stop)
    print(f"service, observe of a row: {trace}")


def main() -> None:
    """Print the graph and the traces."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("sources", type=Path, nargs="?")
    given = parser.parse_args().sources or Path(__file__).parents[1] / "src"
    folder = given.resolve()
    print_graph(folder)
    sys.path.insert(0, str(folder))
    # An editable installation would find other sources first.
    sys.meta_path[:] = [
        each for each in sys.meta_path if "editable" not in type(each).__module__
    ]
    print_traces(folder)
    if find_spec("starlette") is not None:
        with tempfile.TemporaryDirectory() as place:
            asyncio.run(print_service_trace(folder, Path(place) / "service"))
    if find_spec("pyspark") is not None:
        print_spark_trace(folder)


if __name__ == "__main__":
    main()
