"""The result of a prequential evaluation: checkpoints of each learner on a stream."""

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
from rpnb.evaluate.waiting.stream import WaitingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame  # type: ignore[import-untyped]

# Of the table in notebooks: colours are those of the notebook, light or dark.
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
    """The result of one learner. Arrays have one entry for each checkpoint.

    Attributes
    ----------
    name
        The learner's.
    rows
        How many rows had been predicted.
    updates
        How many rows had changed the model: as learners of rpnb count them; for others,
        all rows learned.
    seconds
        Time spent predicting and learning so far, without converting rows to the
        learner's form and without computing metrics.
    figures
        By span, "cumulative", "window" or "fading", and metric.
    size
        Bytes of the learner's pickle at the end, None where there is none.
    answers
        The predictions for all rows, if they were kept; None for a row without one.
    calibration
        How often predictions were right, by the probability that they were given, over
        all rows; None without metrics of probabilities, or without probabilities.
    asked
        With a budget: the error on all rows as estimated from the labels that the
        learner asked for and got, and how many these are; otherwise None.
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
        """Return a metric at the end of the stream."""
        check_choice("span", span, self.figures)
        check_choice("metric", metric, self.figures[span])
        return float(self.figures[span][metric][-1])


@dataclass(frozen=True, slots=True, repr=False)
class PrequentialResult:
    """The result of an evaluation; `result[name]` is that of one learner.

    Attributes
    ----------
    courses
        By name, the learners and then the references.
    models
        The learners at the end of the stream: copies of those that were given.
    rows
        How many rows the stream had.
    classes
        The true and predicted labels, in the order in which they were first met.
    metrics, window, fading, every
        As passed to `prequential`.
    differences
        Sums from which `difference` computes.
    waiting
        With `labels="late"`, by learner, what was known of its predictions before
        their labels came.
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
        """Compare two learners by a confidence sequence, valid at every row at once.

        The interval of the difference may be looked at as often as one likes, and an
        evaluation may be stopped because of it.

        Parameters
        ----------
        first, second
            Names of the learners; at most one of them is a reference.
        loss
            "error", or "log_loss" if that was among the metrics; probabilities below
            0.001 count as that.
        confidence
            Probability that the interval never excludes the expected difference.

        Returns
        -------
        Difference
            The mean loss of the first less that of the second, with its interval, at
            each checkpoint.

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
                f"two different learners must be compared, at most one of them a "
                f"reference, got {first!r} and {second!r}"
            )
        found = self.differences[loss].difference(first, second, confidence)
        if found is None:
            raise ValueError(
                f"{first} and {second} have no common log-loss: both need "
                "probabilities of all rows, and the metrics must hold 'log_loss'"
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
        """Return a table of all metrics at the end of the stream."""
        title, lines = self._table()
        return f"{title}\n\n{_aligned(lines)}"

    def _table(self) -> tuple[str, list[list[str]]]:
        """Return the title and the lines of the summary, the head first."""
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
        """Return a frame with a row for each learner and checkpoint.

        Columns: learner, row, updates, seconds, and a column for each span and metric,
        such as `window_accuracy`.
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
        """Draw a metric along the stream, one line per learner; return the axes.

        Parameters
        ----------
        metric
            Which one; by default the first of the evaluation.
        span
            "cumulative", "window" or "fading".
        ax
            Where to draw; a new figure by default.
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
        ax.spines[["top", "right"]].set_visible(False)
        # Beside the axes, where it covers no line.
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return ax

    def plot_calibration(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw a reliability diagram, one line per learner; return the axes.

        Needs a metric of probabilities among those of the evaluation.

        Parameters
        ----------
        ax
            Where to draw; a new figure by default.
        """
        curves = {
            name: each.calibration
            for name, each in self.courses.items()
            if each.calibration is not None
        }
        if not curves:
            raise ValueError(
                "there are no probabilities to draw: metrics must hold one of "
                "log_loss, brier, calibration_error, coverage, auc, "
                "average_precision or best_f1"
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
        ax.set_ylabel("share of predictions that were right")
        ax.set_aspect("equal")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return ax

    def plot_members(
        self, name: str | None = None, *, axes: "Sequence[Axes] | None" = None
    ) -> "Sequence[Axes]":
        """Draw which member of a pool carries the stream; return the two axes.

        Above, the weight of each member in the pool; below, the share of mistakes that
        each by itself, and the pool, made since the point before.

        Parameters
        ----------
        name
            A learner that is a `PooledClassifier`; by default the first one.
        axes
            Two axes to draw on; a new figure by default.
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
        below.set_ylabel("error since the point before")
        below.set_xlabel("labelled rows")
        for ax in (above, below):
            ax.spines[["top", "right"]].set_visible(False)
        below.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return axes


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
    """What `rpnb run` says of a run besides the counts."""

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
    """the model file among these"""
    table: bool = False
    """whether the rows are a table, without an order"""
    metrics: tuple[Metric, ...] = ()
    """metrics that are shown besides the usual ones"""
    sensitive: tuple[str, ...] = ()
    """learners that features on different scales harm"""
    weightable: tuple[str, ...] = ()
    """learners that take class weights"""
    weighted: bool = False
    """whether class weights were given"""
    scaled: tuple[str, ...] = ()
    """learners whose rows are scaled along the stream"""
    advice: tuple[str, ...] = ()
    """what may be wrong, and what to try"""
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
    """what a user should know of how the rows were read"""


def _aligned(lines: list[list[str]]) -> str:
    """Return lines of cells in columns, names to the left and figures to the right."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    out = []
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)
