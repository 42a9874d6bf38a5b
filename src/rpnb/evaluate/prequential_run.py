"""Prequential evaluation: each row is predicted, scored and then learned."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rpnb.estimators.checks.labels import LabelArray, as_labels
from rpnb.estimators.checks.parameters import check_choice, check_integer, check_real
from rpnb.evaluate.arrival_times import ArrivalTimes
from rpnb.evaluate.confusion import Confusion
from rpnb.evaluate.drivers.driver import Driver
from rpnb.evaluate.drivers.selection import (
    can_be_corrected,
    check_learner,
    drive,
    drive_references,
    has_probabilities,
    is_native,
    is_river,
    learner_of,
    named,
    warn_of_zero_variances,
)
from rpnb.evaluate.evaluation import Evaluation, Participant
from rpnb.evaluate.metrics import METRICS, OF_PROBABILITIES, Metric
from rpnb.evaluate.progress import EvaluationProgress
from rpnb.evaluate.result import PrequentialResult, learner_result
from rpnb.evaluate.stream_blocks import Block, blocks_of, table_of
from rpnb.evaluate.waiting.stream_watch import StreamWatch
from rpnb.labels import LabelIndex

# Defaults: the number of checkpoints for a table, and the rows between checkpoints for
# a stream of unknown length.
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
    correct_class_mix: bool = False,
    references: bool = True,
    keep_answers: bool = False,
    progress: bool = False,
) -> PrequentialResult:
    """Evaluate learners on a stream: each row is predicted before it is learned.

    With labels that arrive at once, the result is that of the loop:

        for x, label in stream:
            prediction = model.predict(x)
            score(prediction, label)
            model.learn(x, label)

    for each learner, all of them in one pass over the stream. Learners of this package
    process whole chunks through `predict_then_learn`, which gives the same predictions
    as the loop. Estimators of scikit-learn are called row by row unless `batch_size` is
    larger than 1, and River's always are.

    Parameters
    ----------
    models : learner, list of learners, or mapping from name to learner
        Learners of rpnb, scikit-learn estimators with `partial_fit`, scikit-learn
        pipelines whose steps all have it, or River classifiers. Unnamed learners get
        the name of their class. They are not changed: copies are evaluated, and
        returned in `result.models`. A learner that has seen data resumes from there.
    stream : array-like of shape (n_samples, n_features), or iterable
        The samples. With `y`, a table: an array, a sparse matrix, or a pandas or polars
        frame. Without, an iterable of chunks `(X, y)`, or of rows `(x, y)` in which x
        is a vector or, as in River, a dict.
    y : array-like of shape (n_samples,) or column name, optional
        Labels of a table, or the name of the column of a frame that holds them.
    classes : array-like of shape (n_classes,), optional
        Classes that are known from the start. Learners of rpnb and River do not need
        them. Estimators of scikit-learn need all classes: for a table they are taken
        from `y`; for other streams they must be given here.
    metrics : sequence of str, default=("accuracy", "macro_f1", "kappa", \
"kappa_temporal")
        Metrics to compute: these, "error", "balanced_accuracy", and the metrics of
        probabilities, which are NaN for learners without: "log_loss", "brier",
        "calibration_error", "coverage", "auc", "average_precision" and "best_f1". An
        `RPNBClassifier` or a `PooledClassifier` computes probabilities in the same
        pass, other learners row by row. "coverage" is the share of samples whose class
        is in the 90 % prediction set of an `RPNBClassifier`; NaN for others. "auc" is
        the mean over the classes, each against the rest, from probabilities in narrow
        bins.
        "average_precision" and "best_f1", the F1 at the best threshold, are those of
        the rarer of two classes, or the mean over more than two.
    window : int, default=1000
        Number of samples in the sliding window.
    fading : float, default=0.999
        Factor by which the weight of a sample shrinks with each later sample; in
        (0, 1].
    every : int, optional
        Number of samples between checkpoints, by default a fiftieth of a table or 1000
        for other streams. The last sample always has a checkpoint.
    batch_size : int, default=1
        Number of labelled samples that estimators of scikit-learn, and an
        `RPNBClassifier` with `batch_size=None`, collect before they learn them in one
        call. 1 is the strict protocol, and slow: the input checks of scikit-learn take
        longer than the learning. With larger values, samples are predicted by a model
        that is up to `batch_size` samples behind. scikit-learn's GaussianNB needs a
        larger value if features are constant within a class.
    delay : int, float, timedelta, array-like of shape (n_samples,) or column name, \
optional
        Time between a sample and its label: a number of rows, or a time in the unit of
        `moment`. Infinity, or NaT, means never.
    arrival : array-like of shape (n_samples,) or column name, optional
        Arrival times of the labels, instead of `delay`: row numbers, or times as in
        `moment`.
    moment : array-like of shape (n_samples,) or column name, optional
        Arrival times of the samples, in ascending order: numbers or time stamps; by
        default 0, 1, 2, … Learners do not see columns named by `delay`, `arrival` or
        `moment`.
    leftover : {"learn", "drop"}, default="learn"
        Whether labels that have not arrived when the stream ends are learned then,
        which changes no prediction, or dropped.
    budget : float, optional
        Share of the labels that each learner may request; it learns from no others. The
        method `ask` chooses the samples; for learners without probabilities they are
        chosen at random. Metrics cover all samples; `result[name].asked` is the error
        estimated from the requested labels. By default learners get all labels.
    labels : {"known", "late"}, default="known"
        With "late", `result.waiting` holds what can be estimated before labels arrive:
        the expected error of the predictions, and alarms about inputs, predicted
        classes and errors, with what changed. Without `delay` or `arrival`, no row
        waits, and only the alarms are of use. Needs learners with probabilities, and
        cannot be combined with `budget`.
    correct_class_mix : bool, default=False
        Whether to correct probabilities and predictions for a class mix that changes
        before labels arrive, as `rpnb.evaluate.waiting.PriorCorrection` does, where
        that has lowered the log-loss on the labels so far. Needs `labels="late"`,
        `delay` or `arrival`, and learners of rpnb or scikit-learn with probabilities.
    references : bool, default=True
        Whether to evaluate the references "majority class" and "same as last" too.
    keep_answers : bool, default=False
        Whether to keep the predictions for all samples, as `answers`.
    progress : bool, default=False
        Whether to show the progress at every checkpoint: with tqdm in notebooks, with
        rich in terminals (``pip install 'rpnb[progress]'``), or as a line on the
        standard error if neither is installed.

    Returns
    -------
    PrequentialResult
        Results of each learner at all checkpoints.

    Notes
    -----
    With late labels, those that have arrived are learned before the next sample is
    predicted, ties in the order of samples: see `rpnb.evaluate.delays`. Predictions are
    scored in the order of samples, no matter when labels arrive; only the learner has
    to wait for them. A learner of rpnb or scikit-learn makes no prediction before it
    has learned anything, which counts as a mistake, unless `classes` were declared to a
    learner of rpnb and labels arrive with their samples.

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
    options = _Options(
        metrics=_check_metrics(metrics, given),
        window=check_integer("window", window, 1),
        fading=check_real("fading", fading, 0.0, above=True, high=1.0),
        batch_size=check_integer("batch_size", batch_size, 1),
        learn_leftover=check_choice("leftover", leftover, ("learn", "drop")) == "learn",
        budget=_check_budget(budget),
        watched=check_choice("labels", labels, ("known", "late")) == "late",
        correct_class_mix=correct_class_mix,
        keep_answers=keep_answers,
    )
    times = ArrivalTimes(delay, arrival, moment)
    if options.watched:
        _check_late(given, options.budget)
    if correct_class_mix:
        _check_class_mix(labels, times, given)
    declared = None if classes is None else np.unique(as_labels(classes, "classes"))
    index = LabelIndex()
    table = None if y is None else table_of(stream, y, index)
    n = None if table is None else len(table)
    times.check_rows(n)
    every = _rows_between_checkpoints(every, n)
    all_classes = _all_classes(given, declared, table)
    late = not times.immediate
    drivers = _drivers(given, index, options, declared, all_classes, late)
    if references:
        drivers |= drive_references(index, declared, late, options.budget)
    evaluation = _evaluation(drivers, index, options, given)
    shown = EvaluationProgress(n) if progress else None
    try:
        evaluation.run(
            blocks_of(stream, index) if table is None else [table],
            count(every, every) if shown is None else shown.checkpoints(every),
            times,
            learn_leftover=options.learn_leftover,
        )
    finally:
        if shown is not None:
            shown.close(evaluation.rows)
    learned = {name: learner_of(drivers[name]) for name in given}
    for name, model in learned.items():
        warn_of_zero_variances(name, model)
    return PrequentialResult(
        courses={each.name: learner_result(each) for each in evaluation.participants},
        models=learned,
        rows=evaluation.rows,
        classes=index.labels,
        metrics=options.metrics,
        window=options.window,
        fading=options.fading,
        every=every,
        differences={"error": evaluation.errors, "log_loss": evaluation.losses},
        waiting={} if evaluation.watch is None else evaluation.watch.results(),
    )


class _Options(NamedTuple):
    """Options that have been checked."""

    metrics: tuple[Metric, ...]
    window: int
    fading: float
    batch_size: int
    learn_leftover: bool
    budget: float | None
    watched: bool
    """whether predictions are watched until their labels arrive"""
    correct_class_mix: bool
    keep_answers: bool


def _check_budget(budget: float | None) -> float | None:
    """Return the share of rows whose labels may be asked for, None for all."""
    if budget is None:
        return None
    return check_real("budget", budget, 0.0, above=True, high=1.0)


def _rows_between_checkpoints(every: int | None, n: int | None) -> int:
    """Return the number of rows between checkpoints, of n rows if that is known."""
    if every is None:
        every = _EVERY if n is None else max(-(-n // _CHECKPOINTS), 1)
    return check_integer("every", every, 1)


def _drivers(
    models: Mapping[str, Any],
    labels: LabelIndex,
    options: _Options,
    declared: LabelArray | None,
    classes: LabelArray | None,
    late: bool,
) -> dict[str, Driver]:
    """Return what makes each learner predict and learn."""
    asked = not OF_PROBABILITIES.isdisjoint(options.metrics)
    return {
        name: drive(
            model,
            labels,
            probabilities=options.watched or asked,
            declared=declared,
            classes=classes,
            batch_size=options.batch_size,
            late=late,
            budget=options.budget,
            correct_class_mix=options.correct_class_mix,
        )
        for name, model in models.items()
    }


def _evaluation(
    drivers: Mapping[str, Driver],
    labels: LabelIndex,
    options: _Options,
    models: Mapping[str, Any],
) -> Evaluation:
    """Return the evaluation of models and references before the first row."""
    participants = [
        Participant(
            name,
            driver,
            Confusion(options.window, options.fading),
            metrics=options.metrics,
            reference=name not in models,
            keep=options.keep_answers,
        )
        for name, driver in drivers.items()
    ]
    evaluation = Evaluation(participants, labels, compare=True)
    if options.watched:
        evaluation.watch = _watch(participants, labels, models)
    return evaluation


def _check_late(models: Mapping[str, Any], budget: float | None) -> None:
    """Check that all labels arrive, and that some learner has probabilities."""
    if budget is not None:
        raise ValueError(
            "labels='late' cannot be combined with budget: the estimates would come "
            "from labels that the learner has not asked for; use delay and budget "
            "without it"
        )
    if not any(map(has_probabilities, models.values())):
        raise ValueError(
            f"labels='late' needs a learner with probabilities, got {', '.join(models)}"
        )


def _check_class_mix(
    labels: str, times: ArrivalTimes, models: Mapping[str, Any]
) -> None:
    """Check that labels are late, and that the class mix of all can be corrected."""
    if labels != "late":
        raise ValueError("correct_class_mix=True needs labels='late'")
    if times.immediate:
        raise ValueError(
            "correct_class_mix=True needs delay or arrival: without them, no label is "
            "late"
        )
    others = [name for name, model in models.items() if not can_be_corrected(model)]
    if others:
        raise ValueError(
            "correct_class_mix=True needs learners of rpnb or scikit-learn with "
            f"probabilities, got {', '.join(others)}"
        )


def _watch(
    participants: Sequence[Participant], labels: LabelIndex, models: Mapping[str, Any]
) -> StreamWatch:
    """Return a watch of the learners that have probabilities."""
    learners = {
        each.name: (place, each.driver)
        for place, each in enumerate(participants)
        if each.name in models and has_probabilities(models[each.name])
    }
    return StreamWatch(learners, labels)


def _check_metrics(metrics: Any, models: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return the names of the metrics without repetition; refuse unknown ones."""
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
            f"metrics has {asked[0]!r}, which needs a learner with probabilities, got "
            f"{', '.join(models)}"
        )
    return names


def _all_classes(
    models: Mapping[str, Any], declared: LabelArray | None, table: Block | None
) -> LabelArray | None:
    """Return the classes for learners that need all of them in advance."""
    if table is not None and declared is None:
        return np.unique(table.labels.values)
    for name, model in models.items():
        if declared is None and not (is_native(model) or is_river(model)):
            raise ValueError(
                f"classes must be given: {name} needs all classes in advance, and "
                "those of a stream of chunks or rows are unknown"
            )
    return declared
