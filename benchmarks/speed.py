"""Speed of rpnb, compared with the unavoidable work and with alternatives.

floor    learning a stream, compared with the unavoidable matrix products
one-row  a call with one row, compared with the same work inside the compiled loop
river    one observation, compared with River's GaussianNB
linear   PA and AROW, compared with scikit-learn's passive-aggressive step, row by row
threads  `n_jobs=1`, compared with `n_jobs=2`, predicting and learning
passes   each pass over the rows, compared with the one that is chosen (decision 7)
delay    a loop over single rows, compared with `prequential`, labels 100 rows late
start    a new process until its first prediction, compared with importing scikit-learn

Jobs take turns, and the first turn, which fills the caches, does not count. A table has
the median time per row and its range, then the time relative to that of the first job:
the median and range of the ratios within a turn, and the ratio of the best times, which
a busy machine affects least. BLAS has one thread.

Run: python benchmarks/speed.py NAME [NAME ...] [--repeat 5] [--data DIR]
"""

import argparse
import copy
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from peers.floor import products
from rpnb import RPNBClassifier, baselines
from rpnb.core.bayes.model import Model, copy_model
from rpnb.core.bayes.statistics import LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.passes.choice import Path
from rpnb.core.passes.engine import run
from rpnb.estimators.protocol import state_of
from rpnb.evaluate import prequential
from workloads import Workload, paper_stream

K = 200
TRAINED, ROWS = 10_000, 2000
DELAY = 100


class Job(NamedTuple):
    """Work to be timed."""

    rows: int
    make: Callable[[], Callable[[], object]]
    """prepares a run, and returns the function to time"""


def _ready(run: Callable[[], object]) -> Callable[[], Callable[[], object]]:
    """Return a preparation that returns `run`: nothing has to be prepared."""
    return lambda: run


#: The title of a table, and its jobs by name.
Group: TypeAlias = tuple[str, Mapping[str, Job]]


def floor() -> Iterator[Group]:
    """Yield the products of a stream, and a new model that predicts and learns it."""
    for name in ("Letter", "Skin_NonSkin", "Isolet", "GM"):
        work = paper_stream(name)
        n, least = work.y.shape[0], products(work.X, np.unique(work.y).size, K)
        learn = _learner(work, RPNBClassifier(K, random_state=0))
        jobs = {"floor": Job(n, _ready(least)), "rpnb": Job(n, learn)}
        yield _title(work), jobs


def _learner(work: Workload, model: Any) -> Callable[[], Callable[[], object]]:
    """Return a job in which a new model predicts and learns a whole stream."""
    classes = np.unique(work.y)

    def make() -> Callable[[], object]:
        fresh = clone(model)
        return lambda: fresh.predict_then_learn(work.X, work.y, classes=classes)

    return make


def one_row() -> Iterator[Group]:
    """Yield the ways to predict and learn 2,000 rows with a model that has started."""
    work = paper_stream("Letter")
    X, y = work.X[TRAINED : TRAINED + ROWS], work.y[TRAINED : TRAINED + ROWS]
    trained = RPNBClassifier(K, random_state=0).fit(work.X[:TRAINED], work.y[:TRAINED])

    def inside(model: Any) -> None:
        model.predict(X)
        model.partial_fit(X, y)

    def calls(model: Any) -> None:
        for i in range(ROWS):
            model.predict(X[i : i + 1])
            model.partial_fit(X[i : i + 1], y[i : i + 1])

    yield (
        _title(work),
        {
            "many rows in one call": _with_copy(trained, inside),
            "predict, partial_fit of a row": _with_copy(trained, calls),
            "predict_one, learn_one": _with_copy(trained, _lane(X, y.tolist())),
        },
    )


def _with_copy(trained: Any, run: Callable[[Any], None]) -> Job:
    """Return a job that changes a copy of a model."""

    def make() -> Callable[[], object]:
        model = copy.deepcopy(trained)
        return lambda: run(model)

    return Job(ROWS, make)


def _lane(rows: Any, labels: list[Any]) -> Callable[[Any], None]:
    """Return a loop over `predict_one` and `learn_one`."""

    def run(model: Any) -> None:
        for x, y in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    return run


def river() -> Iterator[Group]:
    """Yield River's GaussianNB, our adapter and our estimator, row by row."""
    from river import naive_bayes

    import rpnb.river

    work = paper_stream("Letter")
    names = [f"x{i}" for i in range(work.X.shape[1])]
    arrays = list(work.X[: TRAINED + ROWS])
    dicts = [dict(zip(names, row.tolist(), strict=True)) for row in arrays]
    labels = work.y[: TRAINED + ROWS].tolist()
    learners: dict[str, tuple[Any, list[Any]]] = {
        "River's GaussianNB": (naive_bayes.GaussianNB(), dicts),
        "rpnb.river.RPNBClassifier": (rpnb.river.RPNBClassifier(seed=0), dicts),
        "rpnb.RPNBClassifier": (RPNBClassifier(K, random_state=0), arrays),
    }
    jobs = {}
    for name, (model, rows) in learners.items():
        for x, y in zip(rows[:TRAINED], labels, strict=False):
            model.learn_one(x, y)
        jobs[name] = _with_copy(model, _lane(rows[TRAINED:], labels[TRAINED:]))
    yield _title(work), jobs


def linear() -> Iterator[Group]:
    """Yield scikit-learn's passive-aggressive step on 1,000 rows, ours on all."""
    work = paper_stream("Letter")
    classes, slow = np.unique(work.y), 1000

    def loop() -> None:
        # The step of scikit-learn's own passive-aggressive class, which is deprecated.
        model = SGDClassifier(
            penalty=None, learning_rate="pa1", eta0=1.0, fit_intercept=False
        )
        model.partial_fit(work.X[:1], work.y[:1], classes=classes)
        for i in range(1, slow):
            model.predict(work.X[i : i + 1])
            model.partial_fit(work.X[i : i + 1], work.y[i : i + 1])

    jobs = {"scikit-learn, row by row": Job(slow, _ready(loop))}
    for name in ("PA", "AROW"):
        model = baselines.make(name)
        jobs[f"rpnb {name}"] = Job(work.y.shape[0], _learner(work, model))
    yield _title(work), jobs


def threads() -> Iterator[Group]:
    """Yield predicting and learning a stream, with two threads and with one."""
    for name in ("Letter", "Skin_NonSkin", "Isolet", "Madelon"):
        work = paper_stream(name)
        n, trained = work.y.shape[0], RPNBClassifier(K, random_state=0)
        trained.fit(work.X, work.y)
        models = {count: copy.deepcopy(trained) for count in (2, 1)}
        predicting, learning = {}, {}
        for count, model in models.items():
            model.set_params(n_jobs=count)
            predict = _predictor(work, model)
            predicting[f"n_jobs={count}"] = Job(n, _ready(predict))
            learning[f"n_jobs={count}"] = Job(n, _learner(work, model))
        yield f"{_title(work)}, predict", predicting
        yield f"{_title(work)}, learn", learning


def passes() -> Iterator[Group]:
    """Yield predicting and learning, by the chosen pass and by each."""
    learning: list[Path | None] = [None, "exact", "screened"]
    predicting: list[Path | None] = [*learning, "forms"]
    for name in ("Skin_NonSkin", "Letter", "Satimage", "Twonorm", "Penbased"):
        work = paper_stream(name)
        trained = RPNBClassifier(K, random_state=0).fit(work.X, work.y)
        for job, learn, paths in (
            ("predict", LEARN_NOTHING, predicting),
            ("learn", LEARN_MISTAKES, learning),
        ):
            jobs: dict[str, Job] = {
                path or "chosen": _pass(work, state_of(trained)[0], learn, path)
                for path in paths
            }
            yield f"{_title(work)}, {job}", jobs


def _pass(work: Workload, model: Model, learn: int, path: Path | None) -> Job:
    """Return a job that takes a copy of a model over a stream, by one of the passes."""
    y = np.unique(work.y, return_inverse=True)[1].astype(np.int64)

    def make() -> Callable[[], object]:
        fresh, labels = copy_model(model), np.empty(len(y), np.int64)
        return lambda: run(fresh, work.X, y, np.ones(1), learn, labels, path)

    return Job(len(y), make)


def _predictor(work: Workload, model: RPNBClassifier) -> Callable[[], object]:
    return lambda: model.predict(work.X)


def delay() -> Iterator[Group]:
    """Yield `prequential` and a loop of single calls, after comparing their labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 20_000)
    X = rng.standard_normal((20_000, 8)) + 3.0 * np.eye(8)[y]
    learners = {
        "RPNB": RPNBClassifier(K, random_state=0),
        "RPNB, update=all": RPNBClassifier(K, update="all", random_state=0),
        "GaussianNB": baselines.GaussianNB(),
        "PA": baselines.PA(),
        "AROW": baselines.AROW(),
        "OnlineBagging": baselines.OnlineBagging(10, random_state=0),
    }
    for name, model in learners.items():

        def whole(model: Any = model) -> list[Any]:
            result = prequential(
                *({"it": model}, X, y),
                delay=DELAY,
                references=False,
                keep_answers=True,
            )
            return list(result["it"].answers or ())

        def loop(model: Any = model) -> list[Any]:
            fresh: Any = clone(model)
            found: list[Any] = [None] * DELAY
            for i in range(DELAY, len(y)):
                late = slice(i - DELAY, i - DELAY + 1)
                fresh.partial_fit(X[late], y[late])
                found.append(fresh.predict(X[i : i + 1])[0])
            return found

        assert whole() == loop(), name
        n = len(y)
        jobs = {
            "prequential": Job(n, _ready(whole)),
            "loop over rows": Job(n, _ready(loop)),
        }
        yield f"{name}, labels {DELAY} rows late", jobs


def start() -> Iterator[Group]:
    """Yield fresh processes; a row is a process."""
    first = """
import numpy as np
from rpnb import RPNBClassifier
X = np.random.default_rng(0).normal(size=(64, 16))
RPNBClassifier(random_state=0).fit(X, np.arange(64) % 4).predict(X)
"""
    codes = {
        "import sklearn.base": "import sklearn.base",
        "rpnb to its first prediction": first,
        "rpnb run --help": "from rpnb.cli import main; main(['run', '--help'])",
    }

    def process(code: str) -> Callable[[], object]:
        words = [sys.executable, "-c", code]
        return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours

    yield (
        "fresh processes",
        {name: Job(1, _ready(process(code))) for name, code in codes.items()},
    )


def _title(work: Workload) -> str:
    return work.name + (" (drawn data of its shape)" if work.stand_in else "")


BENCHMARKS: Mapping[str, Callable[[], Iterator[Group]]] = {
    "floor": floor,
    "one-row": one_row,
    "river": river,
    "linear": linear,
    "threads": threads,
    "passes": passes,
    "delay": delay,
    "start": start,
}


def seconds(run: Callable[[], object]) -> float:
    """Return the time of a run."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def measure(title: str, jobs: Mapping[str, Job], repeat: int) -> None:
    """Time jobs in turns, and print a line for each."""
    turns = [
        [seconds(job.make()) / job.rows for job in jobs.values()]
        for _ in range(repeat + 1)
    ]
    times = np.array(turns[1:])
    print(f"{title}\n{'':32} {'µs/row':>12}  {'range':20} {'relative':>9}  range, best")
    first = times[:, 0]
    for name, mine in zip(jobs, times.T, strict=True):
        micro, ratio = 1e6 * mine, mine / first
        spread = f"{micro.min():.2f}–{micro.max():.2f}"
        print(
            f"  {name:30} {np.median(micro):12.2f}  {spread:20} "
            f"{np.median(ratio):9.3g}  {ratio.min():.3g}–{ratio.max():.3g}  "
            f"{mine.min() / first.min():.3g}"
        )
    print(flush=True)


def main() -> None:
    """Run the requested measurements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", choices=BENCHMARKS, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--data", help="folder with the paper's files")
    arguments = parser.parse_args()
    if arguments.data:
        os.environ["RPNB_DATA"] = arguments.data
    with threadpool_limits(1, "blas"):
        for name in arguments.names:
            for title, jobs in BENCHMARKS[name]():
                measure(title, jobs, arguments.repeat)


if __name__ == "__main__":
    main()
