"""One run of a study: a method on one permutation of one dataset.

Worker processes call `survey` and `run_task`.
"""

import warnings
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

import rpnb
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets import DatasetError
from rpnb.estimators.checks.spread import SpreadWarning
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.evaluate import error_rate, macro_f1
from rpnb.evaluate.evaluation import Participant, native_evaluation
from rpnb.evaluate.stream_blocks import Block
from rpnb.labels import CodedLabels, LabelIndex
from rpnb.study.dataset_sources import DatasetRequest, load
from rpnb.study.methods import Method, find, make, parameters_of
from rpnb.study.plan import content_of, learner_seed, permutation
from rpnb.study.run_records import CurvePoint, RunKey, RunRecord

# Number of points of a run's learning curve.
CHECKPOINTS = 50
# Datasets that a worker keeps in memory; tasks arrive roughly dataset by dataset.
_KEPT = 6


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """Fingerprint and shape of a dataset."""

    content: str
    n: int
    p: int
    M: int


@dataclass(frozen=True, slots=True)
class RunTask:
    """A run that has not been computed yet."""

    request: DatasetRequest
    method: str
    permutation: int
    content: str
    seed: int
    """seed of the study"""

    @property
    def key(self) -> RunKey:
        """The key of the run's record."""
        return RunKey(
            dataset=self.request.dataset,
            method=self.method,
            parameters=_parameters(self.method),
            permutation=self.permutation,
            reading=self.request.reading,
            content=self.content,
            version=rpnb.__version__,
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a dataset, or a method on a dataset, has no result."""

    dataset: str
    method: str | None
    """None if the dataset itself cannot be loaded"""
    message: str


@dataclass(frozen=True, slots=True)
class _Rows:
    """A dataset whose classes are numbered in the order of their labels as text."""

    X: FloatArray
    y: IntArray
    M: int
    content: str
    source: str


@lru_cache(maxsize=_KEPT)
def _rows(request: DatasetRequest) -> _Rows:
    dataset, source = load(request)
    labels, numbers = np.unique(dataset.y, return_inverse=True)
    content = content_of(dataset.X, dataset.y)
    return _Rows(dataset.X, numbers.astype(np.int64), len(labels), content, source)


@cache
def _parameters(method: str) -> str:
    return parameters_of(find(method))


def survey(request: DatasetRequest) -> DatasetSummary | RunFailure:
    """Load a dataset, keep its rows, and return its fingerprint and shape."""
    try:
        rows = _rows(request)
    except DatasetError as error:
        return RunFailure(request.dataset, None, str(error))
    except Exception as error:  # the study continues with the other datasets
        return RunFailure(request.dataset, None, f"{type(error).__name__}: {error}")
    n, p = rows.X.shape
    return DatasetSummary(rows.content, n, p, rows.M)


def run_task(task: RunTask) -> RunRecord | RunFailure:
    """Compute a run and return its record, or the reason why it failed."""
    dataset, method = task.request.dataset, find(task.method)
    try:
        rows = _rows(task.request)
        if rows.content != task.content:
            message = "the rows changed while the study was running"
            return RunFailure(dataset, None, message)
        return _record(task, method, rows)
    except DatasetError as error:
        return RunFailure(dataset, None, str(error))
    except Exception as error:  # the study continues with the other runs
        return RunFailure(dataset, task.method, f"{type(error).__name__}: {error}")


def _record(task: RunTask, method: Method, rows: _Rows) -> RunRecord:
    """Run one method on one permutation of a dataset; return the record."""
    (n, p), key = rows.X.shape, task.key
    order = permutation(key.seed, key.dataset, key.permutation, n)
    X, y = rows.X[order], rows.y[order]
    seed = learner_seed(key.seed, key.dataset, key.permutation, key.method)
    with warnings.catch_warnings():
        # The paper does not scale its datasets.
        warnings.simplefilter("ignore", SpreadWarning)
        result = stream(make(method, seed), X, y, rows.M)
    counts, checkpoints = result.confusion.counts, result.checkpoints
    return RunRecord(
        **key._asdict(),
        n=n,
        p=p,
        M=rows.M,
        error=error_rate(counts),
        f1=macro_f1(counts),
        updates=checkpoints[-1].updates,
        seconds=round(result.seconds, 6),
        curve=tuple(
            CurvePoint(each.row, each.mistakes, each.updates) for each in checkpoints
        ),
        source=rows.source,
    )


def stream(
    learner: StreamClassifier, X: FloatArray, y: IntArray, M: int
) -> Participant:
    """Predict and then learn each row; return the confusion counts and checkpoints.

    The learner must be new. All M classes, numbered in `y`, are declared to it before
    the first row.
    """
    n = len(y)
    places = np.unique(np.linspace(0, n, CHECKPOINTS + 1).round().astype(int)).tolist()
    numbers = range(M)
    evaluation = native_evaluation(
        {"": learner}, labels=LabelIndex(numbers), classes=numbers
    )
    block = Block(0, X, CodedLabels(y, np.arange(M)))
    evaluation.run([block], places[1:], rows_per_call=n)
    (participant,) = evaluation.participants
    return participant
