"""Results of a prequential evaluation: the checkpoints of each learner."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_choice, check_real
from rpnb.estimators.notebook import size_of
from rpnb.estimators.trust.plots import require_pyplot
from rpnb.evaluate.confusion import SPANS, Span
from rpnb.evaluate.differences import LARGEST, Difference, DifferenceTracker, Loss
from rpnb.evaluate.estimates import ErrorEstimate
from rpnb.evaluate.evaluation import Participant
from rpnb.evaluate.metrics import (
    CalibrationCurve,
    Metric,
    calibration_curve,
    figure_text,
    title_of,
)
from rpnb.evaluate.waiting.stream_watch import WaitingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame  # type: ignore[import-untyped]

# Style of the table in notebooks, in the notebook's own colours, light or dark.
_CSS = (
    ".rpnb-result{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".rpnb-result caption{caption-side:top;text-align:left;padding:0.2em 0.6em}"
    ".rpnb-result :is(th,td){padding:0.2em 0.6em;text-align:right;white-space:nowrap}"
    ".rpnb-result :is(th,td):first-child{text-align:left}"
    ".rpnb-result thead th{border-bottom:1px solid;font-weight:600}"
)
# References are drawn in grey.
_REFERENCE_COLOURS = {"majority class": "0.45", "same as last": "0.7"}


@dataclass(frozen=True, slots=True)
class LearnerResult:
    """Result of one learner; arrays have one entry per checkpoint.

    Attributes
    ----------
    name
        Name of the learner.
    rows
        Number of samples predicted so far.
    updates
        Number of samples that changed the model, for learners of rpnb; number of
        samples learned, for others.
    seconds
        Time spent on predicting and learning so far, without the conversion of the
        samples to the learner's format and without metrics.
    figures
        Values of the metrics, by span ("cumulative", "window" or "fading") and name.
    size
        Size of the learner's pickle at the end, in bytes; None if it cannot be pickled.
    answers
        Predictions for all samples, if they were kept; None for a sample without one.
    calibration
        Accuracy by predicted probability, over all samples; None without
        probabilities, or without a metric of probabilities.
    asked
        The error on all samples, estimated from the labels that the learner requested,
        and how many there were; None without a budget.

    Examples
    --------
    >>> from rpnb.baselines import GaussianNB
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> result = prequential(GaussianNB(), streams.mixture(3000, seed=0), every=1000)
    >>> result["GaussianNB"].rows.tolist()
    [1000, 2000, 3000]
    >>> result["GaussianNB"].figures["window"]["accuracy"].round(2).tolist()
    [0.9, 0.92, 0.92]
    """

    name: str
    rows: IntArray
    updates: IntArray
    seconds: FloatArray
    figures: Mapping[Span, Mapping[Metric, FloatArray]] = field(repr=False)
    size: int | None
    answers: tuple[Any, ...] | None = field(default=None, repr=False)
    calibration: CalibrationCurve | None = field(default=None, repr=False)
    asked: ErrorEstimate | None = None

    def last(self, metric: Metric, span: Span = "cumulative") -> float:
        """Return a metric at the end of the stream.

        Parameters
        ----------
        metric
            Name of one of the metrics of the evaluation.
        span
            Samples that count: "cumulative", "window" or "fading".

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> model = RPNBClassifier(20, random_state=0)
        >>> result = prequential({"RPNB": model}, streams.mixture(1000, seed=0))
        >>> result["RPNB"].last("accuracy") > 0.5
        True
        """
        check_choice("span", span, self.figures)
        check_choice("metric", metric, self.figures[span])
        return float(self.figures[span][metric][-1])


@dataclass(frozen=True, slots=True, repr=False)
class PrequentialResult:
    """Result of an evaluation; `result[name]` is the result of one learner.

    Attributes
    ----------
    courses
        Results by name, learners first, then references.
    models
        Trained copies of the learners, by name, as of the end of the stream.
    rows
        Number of samples in the stream.
    classes
        True and predicted labels, in the order of their first appearance.
    metrics, window, fading, every
        Arguments of the same name of `prequential`.
    differences
        Sums that the method `difference` uses.
    waiting
        With `labels="late"`, by learner, the estimates made before labels arrived.

    Examples
    --------
    >>> from rpnb.baselines import PA, GaussianNB
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> result = prequential([GaussianNB(), PA()], streams.mixture(3000, seed=0))
    >>> list(result.courses)
    ['GaussianNB', 'PA', 'majority class', 'same as last']
    >>> int(result.models["PA"].n_samples_seen_)
    3000
    """

    courses: Mapping[str, LearnerResult]
    models: Mapping[str, Any]
    rows: int
    classes: tuple[Hashable, ...]
    metrics: tuple[Metric, ...]
    window: int
    fading: float
    every: int
    differences: Mapping[Loss, DifferenceTracker] = field(
        default_factory=dict, repr=False
    )
    waiting: Mapping[str, WaitingResult] = field(default_factory=dict, repr=False)

    def difference(
        self,
        first: str,
        second: str,
        loss: Loss = "error",
        confidence: float = 0.95,
    ) -> Difference:
        """Return the difference of two learners, with a confidence sequence.

        The intervals are valid at all samples at once: they may be inspected at any
        time, and an evaluation may be stopped because of them.

        Parameters
        ----------
        first, second
            Names of the learners; at most one of them may be a reference.
        loss
            Loss to compare: "error", or "log_loss" if it is among the metrics, where
            probabilities below 0.001 count as 0.001.
        confidence
            Probability that the interval never excludes the expected difference.

        Returns
        -------
        Difference
            Mean loss of the first learner minus that of the second, and its interval,
            at each checkpoint.

        Examples
        --------
        >>> from rpnb import PooledClassifier, RPNBClassifier
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> models = [PooledClassifier(random_state=0), RPNBClassifier(random_state=0)]
        >>> result = prequential(models, streams.led(3000, seed=0))
        >>> found = result.difference("PooledClassifier", "RPNBClassifier")
        >>> found.better
        'PooledClassifier'
        """
        check_choice("loss", loss, LARGEST)
        check_real("confidence", confidence, 0.0, above=True, high=0.999999)
        for name in (first, second):
            check_choice("name", name, self.courses)
        known = self.differences[loss].pairs()
        if (first, second) not in known and (second, first) not in known:
            raise ValueError(
                f"first and second must be two different learners, at most one of them "
                f"a reference, got {first!r} and {second!r}"
            )
        found = self.differences[loss].difference(first, second, confidence)
        if found is None:
            raise ValueError(
                f"{first} and {second} cannot be compared by log-loss: both need "
                "probabilities for all rows, and the metrics must include 'log_loss'"
            )
        return found

    def __getitem__(self, name: str) -> LearnerResult:
        return self.courses[check_choice("name", name, self.courses)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.courses)

    def __len__(self) -> int:
        return len(self.courses)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return the table of `summary` for notebooks."""
        title, lines = self._table()
        head, *body = (
            "".join(f"<{cell}>{escape(text)}</{cell}>" for text in line)
            for cell, line in zip(
                ["th", *["td"] * (len(lines) - 1)], lines, strict=True
            )
        )
        rows = "".join(f"<tr>{line}</tr>" for line in body)
        return (
            f'<style>{_CSS}</style><table class="rpnb-result">'
            f"<caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def summary(self) -> str:
        """Return a table of all metrics at the end of the stream.

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> model = RPNBClassifier(20, random_state=0)
        >>> result = prequential({"RPNB": model}, streams.mixture(1000, seed=0))
        >>> print(result.summary().splitlines()[0])
        1,000 rows, 2 classes; window of 1,000 rows, fading by 0.999
        """
        title, lines = self._table()
        return f"{title}\n\n{_aligned(lines)}"

    def _table(self) -> tuple[str, list[list[str]]]:
        """Return the title and the lines of the summary, the header first."""
        head = ["learner", *(title_of(name) for name in self.metrics)]
        first = self.metrics[0]
        head += [f"{span} {title_of(first)}" for span in SPANS[1:]]
        head += ["updates", "seconds", "bytes"]
        lines = [head]
        for course in self.courses.values():
            cells = [course.name]
            cells += [figure_text(course.last(name)) for name in self.metrics]
            cells += [figure_text(course.last(first, span)) for span in SPANS[1:]]
            size = "—" if course.size is None else f"{course.size:,}"
            seconds = f"{course.seconds[-1]:.3f}"
            lines.append([*cells, f"{course.updates[-1]:,}", seconds, size])
        title = (
            f"{self.rows:,} rows, {len(self.classes)} classes; window of "
            f"{self.window:,} rows, fading by {self.fading:g}"
        )
        return title, lines

    def to_pandas(self) -> "DataFrame":
        """Return a pandas frame with one row per learner and checkpoint.

        Its columns are learner, row, updates, seconds, and one for each span and
        metric, such as `window_accuracy`.

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> model = RPNBClassifier(20, random_state=0)
        >>> result = prequential({"RPNB": model}, streams.mixture(1000, seed=0))
        >>> sorted(set(result.to_pandas()["learner"]))
        ['RPNB', 'majority class', 'same as last']
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas") from error
        frames = [
            pandas.DataFrame(
                {
                    "learner": course.name,
                    "row": course.rows,
                    "updates": course.updates,
                    "seconds": course.seconds,
                    **{
                        f"{span}_{name}": values
                        for span, figures in course.figures.items()
                        for name, values in figures.items()
                    },
                }
            )
            for course in self.courses.values()
        ]
        return pandas.concat(frames, ignore_index=True)

    def plot(
        self,
        metric: Metric | None = None,
        span: Span = "window",
        *,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Plot a metric over the stream, one line per learner, and return the axes.

        Parameters
        ----------
        metric
            Name of the metric; by default the first one of the evaluation.
        span
            Samples that count: "cumulative", "window" or "fading".
        ax
            Axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> model = RPNBClassifier(20, random_state=0)
        >>> result = prequential({"RPNB": model}, streams.mixture(1000, seed=0))
        >>> axes = result.plot("accuracy", "window")
        >>> axes.get_xlabel()
        'rows of the stream'
        """
        name = self.metrics[0] if metric is None else metric
        check_choice("metric", name, self.metrics)
        check_choice("span", span, SPANS)
        if ax is None:
            pyplot = require_pyplot("plot")
            ax = pyplot.subplots(figsize=(7.0, 3.6), layout="constrained")[1]
        for course in self.courses.values():
            learner = course.name in self.models
            ax.plot(
                course.rows,
                course.figures[span][name],
                label=course.name,
                linewidth=1.8 if learner else 1.0,
                linestyle="-" if learner else "--",
                color=None if learner else _REFERENCE_COLOURS[course.name],
            )
        where = {
            "cumulative": "all rows so far",
            "window": f"last {self.window:,} rows",
            "fading": f"fading by {self.fading:g}",
        }
        ax.set_xlabel("rows of the stream")
        ax.set_ylabel(f"{title_of(name)}, {where[span]}")
        return _finished(ax)

    def plot_calibration(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw a reliability diagram, one line per learner, and return the axes.

        The evaluation must have a metric of probabilities, such as "log_loss".

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> model = RPNBClassifier(20, random_state=0)
        >>> stream = streams.mixture(1000, seed=0)
        >>> result = prequential({"RPNB": model}, stream, metrics=["log_loss"])
        >>> axes = result.plot_calibration()
        >>> axes.get_xlabel()
        'probability of the prediction'
        """
        curves = {
            name: each.calibration
            for name, each in self.courses.items()
            if each.calibration is not None
        }
        if not curves:
            raise ValueError(
                "there are no probabilities to draw: metrics must include log_loss, "
                "brier, calibration_error, coverage, auc, average_precision or best_f1"
            )
        if ax is None:
            pyplot = require_pyplot("plot_calibration")
            ax = pyplot.subplots(figsize=(5.6, 4.2), layout="constrained")[1]
        ax.plot([0.0, 1.0], [0.0, 1.0], color="0.6", linestyle="--", linewidth=1.0)
        for name, curve in curves.items():
            there = curve.frequent()
            (line,) = ax.plot(
                curve.confidence[there], curve.accuracy[there], label=name
            )
            sizes = 8.0 + 120.0 * curve.rows / curve.rows.sum()
            colour = line.get_color()
            ax.scatter(curve.confidence, curve.accuracy, s=sizes, color=colour)
        ax.set_xlabel("probability of the prediction")
        ax.set_ylabel("share of correct predictions")
        ax.set_aspect("equal")
        return _finished(ax)

    def plot_members(
        self, name: str | None = None, *, axes: "Sequence[Axes] | None" = None
    ) -> "Sequence[Axes]":
        """Plot the weight and the error of each member of a pool; return the two axes.

        The upper axes show the weight of each member, the lower ones the error of each
        member alone, and of the pool, since the previous point.

        Parameters
        ----------
        name
            Name of a `PooledClassifier` among the learners; by default the first one.
        axes
            Two axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> from rpnb import PooledClassifier
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> model = PooledClassifier(n_projections=16, random_state=0)
        >>> result = prequential({"pool": model}, streams.mixture(1000, seed=0))
        >>> weights, errors = result.plot_members()
        >>> weights.get_ylabel()
        'weight in the pool'
        """
        pooled = [k for k, m in self.models.items() if hasattr(m, "member_history_")]
        if not pooled:
            raise ValueError("there is no pooled classifier among the learners")
        name = check_choice("name", pooled[0] if name is None else name, pooled)
        history = self.models[name].member_history_
        if axes is None:
            axes = require_pyplot("plot_members").subplots(
                2, 1, sharex=True, figsize=(7.0, 6.0), layout="constrained"
            )[1]
        above, below = axes
        colours = {}
        for member, values in history.weights.items():
            (line,) = above.plot(history.rows, values, label=member, linewidth=1.2)
            colours[member] = line.get_color()
        for member, values in history.errors.items():
            pool = member == "pool"
            below.plot(
                history.rows,
                values,
                label=member,
                linewidth=2.2 if pool else 1.0,
                color="0.1" if pool else colours[member],
            )
        above.set_ylabel("weight in the pool")
        below.set_ylabel("error since the previous point")
        below.set_xlabel("labelled rows")
        above.spines[["top", "right"]].set_visible(False)
        _finished(below)
        return axes


def _finished(ax: "Axes") -> "Axes":
    """Return axes without a frame, and with a legend that covers no line."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def learner_result(participant: Participant) -> LearnerResult:
    """Return the result of a learner whose stream has ended."""
    checkpoints = participant.checkpoints
    kept = participant.predictions
    return LearnerResult(
        name=participant.name,
        rows=np.array([each.row for each in checkpoints]),
        updates=np.array([each.updates for each in checkpoints]),
        seconds=np.array([each.seconds for each in checkpoints]),
        figures={
            span: {
                name: np.array([each.measures[span][name] for each in checkpoints])
                for name in checkpoints[0].measures[span]
            }
            for span in SPANS
        },
        size=size_of(participant.model),
        answers=None if kept is None else tuple(kept),
        calibration=calibration_curve(participant.confusion.totals()["cumulative"]),
        asked=participant.driver.estimate(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts about a run that reports show besides its results."""

    source: str
    p: int
    order: str
    """"file", or the seed of a random order"""
    seconds: float
    interrupted: bool
    loaded: str | None
    window: int
    written: tuple[str, ...]
    saved: str | None = None
    """the model file among the written files"""
    table: bool = False
    """whether the rows are a table, whose order has no meaning"""
    reading: str = ""
    """options of the command line with which the file was read"""
    metrics: tuple[Metric, ...] = ()
    """metrics to show besides the usual ones"""
    sensitive: tuple[str, ...] = ()
    """learners that are sensitive to the scales of features"""
    weightable: tuple[str, ...] = ()
    """learners that take class weights"""
    weighted: bool = False
    """whether class weights were given"""
    scaled: tuple[str, ...] = ()
    """learners whose rows are scaled online"""
    advice: tuple[str, ...] = ()
    """hints at possible problems, and what to try"""
    numbers: tuple[str, ...] = ()
    """columns taken as numbers"""
    categories: Mapping[str, int] = field(default_factory=dict)
    """columns taken as categories, and how many values each has"""
    texts: tuple[str, ...] = ()
    """columns read word by word"""
    dates: tuple[str, ...] = ()
    """columns taken as dates"""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """columns left out, and why"""
    notes: tuple[str, ...] = ()
    """notes on how the rows were read"""


def _aligned(lines: list[list[str]]) -> str:
    """Return lines of cells in columns, names to the left, numbers to the right."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    out = []
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)
