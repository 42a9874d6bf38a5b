"""What a prequential evaluation found: checkpoints of each learner along the stream."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_choice
from rpnb.evaluate.running import SPANS, Metric, Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame  # type: ignore[import-untyped]

_TITLES: Mapping[Metric, str] = {
    "accuracy": "accuracy",
    "error": "error",
    "macro_f1": "macro F1",
    "balanced_accuracy": "balanced accuracy",
    "kappa": "kappa",
    "kappa_temporal": "temporal kappa",
    "log_loss": "log loss",
}
# The references stay in the background.
_REFERENCE_COLOURS = {"majority class": "0.45", "same as last": "0.7"}


@dataclass(frozen=True, slots=True)
class LearnerResult:
    """One learner along the stream. Arrays have an entry for each checkpoint.

    Attributes
    ----------
    name
        The learner's.
    rows
        How many rows had been predicted.
    updates
        How many rows had changed the model: as learners of rpnb count them; for others,
        all rows learnt.
    seconds
        Time spent predicting and learning so far. Bringing rows into the learner's
        form, and measuring, is not in it.
    figures
        By span, "cumulative", "window" or "fading", and measure.
    size
        Bytes of the learner's pickle at the end, None where there is none.
    answers
        All answers, where they were to be kept.
    """

    name: str
    rows: IntArray
    updates: IntArray
    seconds: FloatArray
    figures: Mapping[Span, Mapping[Metric, FloatArray]] = field(repr=False)
    size: int | None
    answers: tuple[Any, ...] | None = field(default=None, repr=False)

    def last(self, metric: Metric, span: Span = "cumulative") -> float:
        """Return a measure at the end of the stream."""
        check_choice("span", span, self.figures)
        check_choice("metric", metric, self.figures[span])
        return float(self.figures[span][metric][-1])


@dataclass(frozen=True, slots=True, repr=False)
class PrequentialResult:
    """Learners evaluated along one stream; `result[name]` is a learner's course.

    Attributes
    ----------
    courses
        By name, the learners and then the references.
    models
        The learners as they were at the end: copies of those that were given.
    rows
        How many rows the stream had.
    classes
        The labels met, as truth or as answers, in that order.
    metrics, window, fading, every
        As they were asked for.
    """

    courses: Mapping[str, LearnerResult]
    models: Mapping[str, Any]
    rows: int
    classes: tuple[Hashable, ...]
    metrics: tuple[Metric, ...]
    window: int
    fading: float
    every: int

    def __getitem__(self, name: str) -> LearnerResult:
        return self.courses[check_choice("name", name, self.courses)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.courses)

    def __len__(self) -> int:
        return len(self.courses)

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return a table of where each learner stands at the end of the stream."""
        head = ["learner", *(_TITLES[name] for name in self.metrics)]
        first = self.metrics[0]
        head += [f"{span} {_TITLES[first]}" for span in SPANS[1:]]
        head += ["updates", "seconds", "bytes"]
        lines = [head]
        for course in self.courses.values():
            cells = [course.name]
            cells += [_number(course.last(name)) for name in self.metrics]
            cells += [_number(course.last(first, span)) for span in SPANS[1:]]
            size = "—" if course.size is None else f"{course.size:,}"
            seconds = f"{course.seconds[-1]:.3f}"
            lines.append([*cells, f"{course.updates[-1]:,}", seconds, size])
        title = (
            f"{self.rows:,} rows, {len(self.classes)} classes; window of "
            f"{self.window:,} rows, fading by {self.fading:g}"
        )
        return f"{title}\n\n{_aligned(lines)}"

    def to_pandas(self) -> "DataFrame":
        """Return a frame with a row for each learner and checkpoint.

        Columns: learner, row, updates, seconds, and a column for each span and measure,
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
        """Draw a measure along the stream, a line for each learner; return the axes.

        Parameters
        ----------
        metric
            Which one; by default the first that was asked for.
        span
            "cumulative", "window" or "fading".
        ax
            Where to draw; a new figure by default.
        """
        name = self.metrics[0] if metric is None else metric
        check_choice("metric", name, self.metrics)
        check_choice("span", span, SPANS)
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError(
                "plot needs matplotlib: pip install 'rpnb[report]'"
            ) from error
        if ax is None:
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
        ax.set_ylabel(f"{_TITLES[name]}, {where[span]}")
        ax.spines[["top", "right"]].set_visible(False)
        # Beside the lines: wherever it stood among them it would cover some.
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return ax


def _number(value: float) -> str:
    return "—" if value != value else f"{value:.4f}"


def _aligned(lines: list[list[str]]) -> str:
    """Return lines of cells in columns, names to the left and figures to the right."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    out = []
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)
