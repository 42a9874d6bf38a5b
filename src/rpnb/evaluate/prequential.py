"""Prequential evaluation: each row is predicted, scored and then learned."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rpnb.estimators.checks.labels import LabelArray, as_labels
from rpnb.estimators.checks.parameters import check_choice, check_integer, check_real
from rpnb.evaluate.arrival_times import ArrivalTimes
from rpnb.evaluate.blocks import Block, blocks_of, table_of
from rpnb.evaluate.confusion import Confusion
from rpnb.evaluate.drivers.selection import (
    check_learner,
    drive,
    drive_references,
    has_probabilities,
    is_native,
    is_river,
    learner_of,
    named,
)
from rpnb.evaluate.evaluation import Evaluation, Participant
from rpnb.evaluate.metrics import METRICS, OF_PROBABILITIES, Metric
from rpnb.evaluate.progress import EvaluationProgress
from rpnb.evaluate.result import PrequentialResult, learner_result
from rpnb.evaluate.waiting.stream import StreamWatch
from rpnb.labels import LabelIndex

# By default: how many checkpoints a table has, and how many rows lie between those of a
# stream whose length is not known.
_CHECKPOINTS = 50
_EVERY = 1000
_DEFAULT: tuple[Metric, ...] = ("accuracy", "macro_f1", "kappa", "kappa_temporal")


def prequential(
    models: Any,
    stream: Any,
    y: Any = None,
    *,
    classes: ArrayLike | None = None,
    metrics: Sequence[Metric] = _DEFAULT,
    window: int = 1000,
    fading: float = 0.999,
    every: int | None = None,
    batch_size: int = 1,
    delay: Any = None,
    arrival: Any = None,
    moment: Any = None,
    leftover: Literal["learn", "drop"] = "learn",
    budget: float | None = None,
    labels: Literal["known", "late"] = "known",
    references: bool = True,
    keep_answers: bool = False,
    progress: bool = False,
) -> PrequentialResult:
    """Evaluate learners on a stream: each row is predicted before it is learned.

    Without late labels the result is that of the loop ::

        for x, label in stream:
            prediction = model.predict(x)
            score(prediction, label)
            model.learn(x, label)

    for each learner, all of them in one pass over the stream. The learners of this
    package get whole chunks through `predict_then_learn`, which gives the same
    predictions as the loop; estimators of scikit-learn are called row by row unless
    `batch_size` says otherwise, and River's always are.

    Parameters
    ----------
    models : learner, list of learners, or mapping from name to learner
        Learners of rpnb, scikit-learn estimators with `partial_fit`, its pipelines of
        steps that all have it, River classifiers. Without names they have those of
        their classes. They are not changed: copies are evaluated, and returned in
        `result.models`. A learner that has seen data resumes from there.
    stream : array-like of shape (n, p), or iterable
        The rows: with `y` a table (array, sparse matrix, pandas or polars frame);
        without, an iterable of chunks `(X, y)`, or of rows `(x, y)` with x a dict, as
        River has them, or a vector.
    y : array-like of shape (n,) or column name, optional
        The labels of a table, or the column of a frame that holds them.
    classes : array-like, optional
        Classes that are known from the start. Learners of rpnb and River do not need
        them. Estimators of scikit-learn need all classes: those of a table are
        taken from `y`; for other streams they must be given here.
    metrics : sequence of str, default=("accuracy", "macro_f1", "kappa", \
"kappa_temporal")
        Of these, "error", "balanced_accuracy", and "log_loss", "brier",
        "calibration_error", "coverage", "auc", "average_precision" and "best_f1", which
        need the probabilities of every row and are NaN for learners without. Those of
        an `RPNBClassifier` or a `PooledClassifier` are computed in one pass, others row
        by row. "coverage" is the share of rows whose class is in the prediction set for
        0.9, where a learner has such sets. "auc" is the mean over the classes, each
        against all others, of probabilities in narrow bins. "average_precision" and
        "best_f1", the F1 at the best threshold, are those of the rarer of two classes,
        and the mean over more than two.
    window : int, default=1000
        Rows in the sliding window.
    fading : float, default=0.999
        By which a row's weight is multiplied with each row after it; in (0, 1].
    every : int, optional
        Rows between checkpoints. By default a fiftieth of a table, or 1000 rows of a
        stream. The last row always has a checkpoint.
    batch_size : int, default=1
        Labelled rows that estimators of scikit-learn, and an RPNBClassifier with
        `batch_size=None`, gather before they learn them in one call. 1 treats them as
        the others, and is slow: scikit-learn's checks take longer than its learning.
        With more, a row is predicted by a model that lags up to so many rows behind.
    delay : int, float, timedelta, array-like of shape (n,) or column name, optional
        How long after its row a label arrives: in rows, or in the unit of `moment`.
        Infinity, or NaT, stands for never.
    arrival : array-like of shape (n,) or column name, optional
        When labels arrive, instead of `delay`: row numbers, or times as in `moment`.
    moment : array-like of shape (n,) or column name, optional
        When rows arrive, in ascending order: numbers or time stamps. By default their
        numbers 0, 1, 2, … Columns named by these three are no features: learners do not
        see them.
    leftover : {"learn", "drop"}, default="learn"
        What happens to labels that have not arrived when the stream ends: they are
        learned then, which changes no prediction, or not at all.
    budget : float, optional
        Share of the labels that each learner may ask for, and gets; it learns from no
        others. Rows are chosen as by the method `ask`, at random for learners without
        probabilities. Metrics are those of all rows; `result[name].asked` is what the
        labels asked for say about the error. By default learners get all labels.
    labels : {"known", "late"}, default="known"
        With "late", what could be known of predictions before their labels came is in
        `result.waiting`: their expected error, and alarms of inputs, predicted classes
        and errors with what changed. Needs `delay` or `arrival`, and learners with
        probabilities.
    references : bool, default=True
        Whether "majority class" and "same as last" are evaluated too.
    keep_answers : bool, default=False
        Whether the predictions for all rows are kept, as `answers`.
    progress : bool, default=False
        Whether to show the rows so far at every checkpoint: a bar of tqdm in notebooks,
        of rich in terminals (``pip install 'rpnb[progress]'``), and a line on the
        standard error where neither is installed.

    Returns
    -------
    PrequentialResult
        Checkpoints along the stream for each learner.

    Notes
    -----
    The order of events with late labels is that of `rpnb.evaluate.delays`: labels that
    have arrived are learned before a row is predicted, ties in the order of rows.
    Predictions are scored in the order of their rows, whenever the label arrives; only
    the learner has to wait for it. A learner of rpnb or scikit-learn that has not
    learned anything has no prediction, which is a mistake, unless `classes` were
    declared to one of rpnb and labels come with their rows.

    Examples
    --------
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> model = RPNBClassifier(random_state=0)
    >>> result = prequential(model, streams.mixture(2000, M=3), metrics=["accuracy"])
    >>> result.rows, list(result)
    (2000, ['RPNBClassifier', 'majority class', 'same as last'])
    >>> bool(result["RPNBClassifier"].last("accuracy") > 0.8)
    True
    """
    given = named(models)
    for name, model in given.items():
        check_learner(name, model)
    names = _check_metrics(metrics, given)
    window = check_integer("window", window, 1)
    fading = check_real("fading", fading, 0.0, above=True, high=1.0)
    batch_size = check_integer("batch_size", batch_size, 1)
    check_choice("leftover", leftover, ("learn", "drop"))
    if budget is not None:
        budget = check_real("budget", budget, 0.0, above=True, high=1.0)
    check_choice("labels", labels, ("known", "late"))
    times = ArrivalTimes(delay, arrival, moment)
    watched = labels == "late"
    if watched:
        _check_late(times, given)
    declared = None if classes is None else np.unique(as_labels(classes, "classes"))
    table = None if y is None else table_of(stream, y)
    n = None if table is None else len(table)
    times.check_rows(n)
    if every is None:
        every = _EVERY if n is None else max(-(-n // _CHECKPOINTS), 1)
    every = check_integer("every", every, 1)
    all_classes = _all_classes(given, declared, table)
    index = LabelIndex()
    late = not times.immediate
    drivers = {
        name: drive(
            model,
            index,
            probabilities=watched or not OF_PROBABILITIES.isdisjoint(names),
            declared=declared,
            classes=all_classes,
            batch_size=batch_size,
            late=late,
            budget=budget,
        )
        for name, model in given.items()
    }
    if references:
        drivers |= drive_references(index, declared, late, budget)
    participants = [
        Participant(
            name,
            driver,
            Confusion(window, fading),
            metrics=names,
            reference=name not in given,
            keep=keep_answers,
        )
        for name, driver in drivers.items()
    ]
    evaluation = Evaluation(participants, index, compare=True)
    if watched:
        evaluation.watch = _watch(participants, index, given)
    shown = EvaluationProgress(n) if progress else None
    try:
        evaluation.run(
            blocks_of(stream) if table is None else [table],
            count(every, every) if shown is None else shown.checkpoints(every),
            times,
            learn_leftover=leftover == "learn",
        )
    finally:
        if shown is not None:
            shown.close(evaluation.rows)
    return PrequentialResult(
        courses={each.name: learner_result(each) for each in participants},
        models={name: learner_of(drivers[name]) for name in given},
        rows=evaluation.rows,
        classes=index.labels,
        metrics=names,
        window=window,
        fading=fading,
        every=every,
        differences={"error": evaluation.errors, "log_loss": evaluation.losses},
        waiting={} if evaluation.watch is None else evaluation.watch.results(),
    )


def _check_late(times: ArrivalTimes, models: Mapping[str, Any]) -> None:
    """Refuse labels that are not late, and learners without probabilities."""
    if times.immediate:
        raise ValueError(
            "labels='late' needs delay or arrival: no label would be waited for"
        )
    if not any(map(has_probabilities, models.values())):
        raise ValueError(
            f"labels='late' needs a learner with probabilities, got {', '.join(models)}"
        )


def _watch(
    participants: Sequence[Participant], labels: LabelIndex, models: Mapping[str, Any]
) -> StreamWatch:
    """Return what watches the learners that have probabilities."""
    learners = {
        each.name: (place, each.driver)
        for place, each in enumerate(participants)
        if each.name in models and has_probabilities(models[each.name])
    }
    return StreamWatch(learners, labels)


def _check_metrics(metrics: Any, models: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return the names of the metrics, each once; refuse unknown ones."""
    if isinstance(metrics, str):
        metrics = [metrics]
    names = tuple(dict.fromkeys(metrics))
    if not names:
        raise ValueError("metrics must name at least one metric, got none")
    for name in names:
        check_choice("metrics", name, METRICS)
    asked = [name for name in names if name in OF_PROBABILITIES]
    if asked and not any(map(has_probabilities, models.values())):
        raise ValueError(
            f"metrics must not hold {asked[0]!r} where no learner gives probabilities, "
            f"as with {', '.join(models)}"
        )
    return names


def _all_classes(
    models: Mapping[str, Any], declared: LabelArray | None, table: Block | None
) -> LabelArray | None:
    """Return the classes for learners that must know them all beforehand."""
    if table is not None and declared is None:
        return np.unique(table.y)
    for name, model in models.items():
        if declared is None and not (is_native(model) or is_river(model)):
            raise ValueError(
                f"classes must be given: {name} has to know all classes beforehand, "
                "and those of a stream in chunks or rows are not known"
            )
    return declared
