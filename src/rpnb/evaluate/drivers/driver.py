"""Drivers: a uniform way to predict and learn with any kind of learner.

A driver calls the methods of one kind of learner and gets blocks that it has prepared.
Predictions are numbers of labels; on request, each comes with the probability of the
true label, or of the prediction.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.evaluate.confusion import ProbabilityDetails, join_details
from rpnb.evaluate.delays import Event, Events
from rpnb.evaluate.estimates import ErrorEstimate
from rpnb.evaluate.ranking import BinnedScores, bin_scores
from rpnb.evaluate.stream_blocks import Block, join
from rpnb.labels import NO_LABEL, CodedLabels, LabelIndex, join_coded

_NOTHING = np.zeros(0, np.int64)

#: The requested probabilities: none, of the true label, of the prediction.
Probabilities: TypeAlias = Literal["none", "truth", "prediction"]


class Predictions(NamedTuple):
    """A learner's predictions for rows."""

    numbers: IntArray
    """(n,) the number of each predicted label, −1 for none"""
    probability: FloatArray | None
    """(n,) the probabilities; None if they are not requested"""
    details: ProbabilityDetails | None = None
    """details, if the probabilities of the true labels are requested"""

    def some(self, rows: BoolArray) -> "Predictions":
        """Return the predictions of some rows."""
        numbers, probability, details = self
        return Predictions(
            numbers[rows],
            None if probability is None else probability[rows],
            None if details is None else details.some(rows),
        )


class Driver(ABC):
    """Abstract base: predicts and learns with one learner, which it changes.

    `labels` are the numbers of all labels.
    """

    def __init__(
        self, model: Any, labels: LabelIndex, probabilities: Probabilities
    ) -> None:
        self.model = model
        self.labels = labels
        self.probabilities = probabilities
        self.columns = LabelIndex()
        """columns of the labels in the bins of probabilities"""

    @abstractmethod
    def predict(self, block: Block) -> Predictions:
        """Predict rows without learning; labels are for their probabilities only."""

    @abstractmethod
    def learn(self, block: Block) -> None:
        """Learn rows in order."""

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict each row with the model before it, then learn it."""
        parts = []
        for row in range(block.start, block.stop):
            one = block.part(row, row + 1)
            parts.append(self.predict(one))
            self.learn(one)
        return join_predictions(parts)

    def process(self, block: Block, events: Events) -> Predictions:
        """Predict and learn rows of a block, numbered in it by the events."""
        parts = [self.process_one(block.take(event.rows), event) for event in events]
        return join_predictions([part for part in parts if part is not None])

    def process_one(self, block: Block, event: Event) -> Predictions | None:
        """Predict or learn all rows of a block; None if none is to be predicted."""
        if not event.predict:
            self.learn(block)
            return None
        if event.learn:
            return self.predict_then_learn(block)
        return self.predict(block)

    def finish(self) -> None:  # noqa: B027 - most hold nothing back
        """Learn the rows that are held back at the end of the stream."""

    def forget(self, before: int) -> None:  # noqa: B027 - most keep no rows
        """Forget rows before a number: their labels have arrived, or never will."""

    @abstractmethod
    def updates(self) -> int:
        """Return how many rows have changed the model since the driver was created."""

    def prepare(self, block: Block) -> Block:
        """Convert rows to the form that the learner takes; not counted as its time."""
        return block.tabled

    def estimate(self) -> ErrorEstimate | None:
        """Return the error estimated from the labels asked for; None if all arrive."""
        return None


class TableDriver(Driver):
    """Abstract base: drives a learner that can return the probabilities of a table."""

    @abstractmethod
    def predict_table(self, block: Block) -> tuple[LabelArray, FloatArray] | None:
        """Predict rows: their labels, and the probabilities (n, M) of all classes.

        Before the first label is learned there are none.
        """


@final
class BatchDriver(TableDriver):
    """Drives estimators with `predict` and `partial_fit`, in mini-batches.

    Labelled rows are held until there are `batch_size` of them, then learned. The
    first call of `partial_fit` gets `classes`, if there are any.
    """

    def __init__(
        self,
        model: Any,
        labels: LabelIndex,
        probabilities: Probabilities,
        *,
        classes: LabelArray | None,
        batch_size: int,
    ) -> None:
        super().__init__(model, labels, probabilities)
        self._classes = classes
        self._size = batch_size
        self._held: list[Block] = []
        self._learned = 0
        self._fitted = hasattr(model, "classes_")

    def predict(self, block: Block) -> Predictions:
        """Predict rows by `predict`; −1 before the first row is learned."""
        if not self._fitted:
            return no_predictions(self, block)
        return predict_labels(self, block)

    def predict_table(self, block: Block) -> tuple[LabelArray, FloatArray] | None:
        """Predict rows by `predict` and `predict_proba`."""
        return predicted_table(self.model, block) if self._fitted else None

    def learn(self, block: Block) -> None:
        """Collect rows, and learn each full batch by `partial_fit`."""
        for begin, end in self._parts(block):
            self._hold(block.part(begin, end))

    def predict_then_learn(self, block: Block) -> Predictions:
        """Predict the rows of a batch, then learn it, batch by batch."""
        parts = []
        for begin, end in self._parts(block):
            part = block.part(begin, end)
            parts.append(self.predict(part))
            self._hold(part)
        return join_predictions(parts)

    def _parts(self, block: Block) -> list[tuple[int, int]]:
        """Return the parts of a block that end where a batch is full."""
        first = self._size - sum(map(len, self._held))
        edges = list(range(block.start + first, block.stop, self._size))
        edges = [block.start, *edges, block.stop]
        return list(pairwise(edges))

    def _hold(self, block: Block) -> None:
        """Collect rows, and learn them once the batch is full."""
        self._held.append(block)
        if sum(map(len, self._held)) >= self._size:
            self.finish()

    def finish(self) -> None:
        """Learn the last batch, which may be short."""
        if not self._held:
            return
        X = join([block.X for block in self._held])
        y = join_coded([block.labels for block in self._held]).decoded()
        if self._fitted or self._classes is None:
            self.model.partial_fit(X, y)
        else:
            self.model.partial_fit(X, y, classes=self._classes)
        self._fitted = True
        self._learned += len(y)
        self._held = []

    def updates(self) -> int:
        """Return how many rows were learned."""
        return self._learned


@final
class RiverDriver(Driver):
    """Drives River's classifiers, row by row."""

    def __init__(
        self, model: Any, labels: LabelIndex, probabilities: Probabilities
    ) -> None:
        super().__init__(model, labels, probabilities)
        self._learned = 0

    def prepare(self, block: Block) -> Block:
        """Return rows as dicts."""
        return replace(block, X=block.records)

    def predict(self, block: Block) -> Predictions:
        """Predict rows by `predict_one`."""
        rows, probability = block.X, None
        labels = [self.model.predict_one(x) for x in rows]
        if self.probabilities != "none":
            asked = block.y.tolist() if self.probabilities == "truth" else labels
            given = [self.model.predict_proba_one(x) for x in rows]
            pairs = zip(given, asked, strict=True)
            probability = np.array([p.get(y, 0.0) for p, y in pairs], dtype=np.float64)
        if self.probabilities == "truth" and probability is not None:
            squares = [sum(p * p for p in each.values()) for each in given]
            sure = [p.get(y, 0.0) for p, y in zip(given, labels, strict=True)]
            details = ProbabilityDetails(
                np.array(squares) - 2.0 * probability + 1.0,
                np.array(sure, dtype=np.float64),
                np.full(len(labels), np.nan),
                self._bins(given, block),
            )
            return Predictions(self.labels.of(labels), probability, details)
        return Predictions(self.labels.of(labels), probability)

    def _bins(self, given: Sequence[dict[Any, float]], block: Block) -> BinnedScores:
        """Return probabilities by class in bins."""
        classes = list(dict.fromkeys(label for each in given for label in each))
        P = np.array([[each.get(c, 0.0) for c in classes] for each in given])
        P = P.reshape(len(given), -1)
        return bin_scores(P, classes, block.labels, self.columns)

    def learn(self, block: Block) -> None:
        """Learn rows by `learn_one`."""
        for x, y in zip(block.X, block.y.tolist(), strict=True):
            self.model.learn_one(x, y)
            self._learned += 1

    def predict_then_learn(self, block: Block) -> Predictions:
        """Call `predict_one`, then `learn_one`, for each row."""
        if self.probabilities != "none":
            return super().predict_then_learn(block)
        labels = []
        for x, y in zip(block.X, block.y.tolist(), strict=True):
            labels.append(self.model.predict_one(x))
            self.model.learn_one(x, y)
        self._learned += len(block)
        return Predictions(self.labels.of(labels), None)

    def updates(self) -> int:
        """Return how many rows were learned."""
        return self._learned


def no_predictions(driver: Driver, block: Block) -> Predictions:
    """Return the predictions of a block without any prediction."""
    none, zero = np.full(len(block), NO_LABEL), np.zeros(len(block))
    if driver.probabilities == "none":
        return Predictions(none, None)
    if driver.probabilities == "prediction":
        return Predictions(none, zero)
    # Without a probability for any class, the row gets the largest loss.
    scores = bin_scores(np.zeros((len(block), 0)), (), block.labels, driver.columns)
    return Predictions(none, zero, ProbabilityDetails(zero + 1.0, zero, zero, scores))


def predict_labels(driver: Driver, block: Block) -> Predictions:
    """Predict rows by the methods `predict` and `predict_proba` of a fitted model."""
    if driver.probabilities == "none":
        return Predictions(
            driver.labels.of(predicted_labels(driver.model, block)), None
        )
    return predictions_with(driver, block, *predicted_table(driver.model, block))


def predicted_labels(model: Any, block: Block) -> LabelArray:
    """Return the labels that a fitted model predicts."""
    # A class that scikit-learn's naive Bayes has not seen yet has variance 0: a warning
    # for every row until then.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(next_label_method(model)(block.X))


def predicted_table(model: Any, block: Block) -> tuple[LabelArray, FloatArray]:
    """Return the labels and the probabilities (n, M) that a fitted model predicts."""
    labels = predicted_labels(model, block)
    with np.errstate(divide="ignore", invalid="ignore"):
        return labels, next_probability_method(model)(block.X)


def next_label_method(model: Any) -> Any:
    """Return the method of an estimator that predicts the next row of a stream."""
    return getattr(model, "predict_next", model.predict)


def next_probability_method(model: Any) -> Any:
    """Return the method that gives the probabilities of the next row of a stream."""
    return getattr(model, "predict_next_proba", None) or model.predict_proba


def predictions_with(
    driver: Driver,
    block: Block,
    labels: LabelArray | CodedLabels,
    P: FloatArray,
    sets: BoolArray | None = None,
) -> Predictions:
    """Return predictions of a block's rows with the requested probabilities.

    P (n, M) has the probabilities of the model's classes, `sets` (n, M) the prediction
    sets.
    """
    rows, numbers = np.arange(len(block)), driver.labels.of(labels)
    places = places_of(driver)
    truth, best = places[block.numbers], places[numbers]
    if driver.probabilities == "prediction":
        return Predictions(numbers, np.where(best >= 0, P[rows, best], np.nan))
    probability = np.where(truth >= 0, P[rows, truth], 0.0)
    details = details_of(driver, P, block, truth, best, sets)
    return Predictions(numbers, probability, details)


def places_of(driver: Driver) -> IntArray:
    """Return the index of each label among the model's classes, −1 if unknown.

    No label, −1, is looked up in the last place.
    """
    classes = LabelIndex(driver.model.classes_.tolist())
    return np.append(classes.find_all(driver.labels.labels), -1)


def details_of(
    driver: Driver,
    P: FloatArray,
    block: Block,
    truth: IntArray,
    predicted: IntArray,
    sets: BoolArray | None = None,
) -> ProbabilityDetails:
    """Return details of the probabilities P (n, M) that a model gave to a block's rows.

    `truth` and `predicted` are indices among the model's classes, −1 if unknown; `sets`
    (n, M) is true for classes in the prediction set.
    """
    rows = np.arange(P.shape[0])
    of_truth = np.where(truth >= 0, P[rows, truth], 0.0)
    confidence = np.where(predicted >= 0, P[rows, predicted], 0.0)
    brier = (P * P).sum(axis=1) - 2.0 * of_truth + 1.0
    covered = np.full(P.shape[0], np.nan)
    if sets is not None:
        covered = (sets[rows, truth] & (truth >= 0)).astype(np.float64)
    classes = driver.model.classes_.tolist()
    scores = bin_scores(P, classes, block.labels, driver.columns)
    return ProbabilityDetails(brier, confidence, covered, scores)


def join_predictions(parts: Sequence[Predictions]) -> Predictions:
    """Return the predictions of several calls as one."""
    if len(parts) == 1:
        return parts[0]
    numbers = np.concatenate([_NOTHING, *(part.numbers for part in parts)])
    if not parts or parts[0].probability is None:
        return Predictions(numbers, None)
    probability = np.concatenate([part.probability for part in parts])
    details = [part.details for part in parts if part.details is not None]
    if len(details) < len(parts):
        return Predictions(numbers, probability)
    return Predictions(numbers, probability, join_details(details))
