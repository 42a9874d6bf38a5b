"""Summaries as text tables, and tables and charts as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.charts import speed_chart
from peers.peers import PEERS
from peers.rounds import Outcome
from peers.summary import LearnerSummary
from rpnb.report.charts.drawing import Drawing
from rpnb.report.html import slug
from rpnb.report.table_text import DASH, TextTable, to_csv, to_markdown
from rpnb.report.written_files import chart_files, write_files

_HEADER = (
    "library",
    "learner",
    "rows",
    "rows/s",
    "range",
    "error",
    "RPNB's",
    "model",
    "memory",
    "RPNB ×",
    "range",
)


def table(
    stream: str, summaries: Sequence[LearnerSummary], outcome: Outcome
) -> TextTable:
    """Return the table of one stream."""
    here = [f for f in summaries if f.stream == stream]
    plan = outcome.plan
    scaled = ", features standardised by the rows so far" if plan.scale else ""
    notes = [
        "rows/s: of processor time, one thread, median of "
        f"{plan.rounds} interleaved rounds; a round is one permutation or draw.",
        "error: share of wrong predictions; RPNB's: that of RPNB on the same rows.",
        "model: as saved (rpnb, VW) or serialised. memory: growth of a new process.",
        "RPNB ×: rows/s of RPNB divided by those of this learner in the same round.",
    ]
    if any(f.rows < f.n for f in here):
        notes.append(f"*: only the first rows, as many as take about {plan.limit:g} s.")
    notes += [
        f"{PEERS[f.peer].label}, {f.learner}, failed: {f.message}"
        for f in outcome.failures
        if f.stream == stream
    ]
    return TextTable(
        f"{stream}: {here[0].n:,} rows{scaled}" if here else stream,
        _HEADER,
        tuple(_cells(f) for f in here),
        tuple(notes),
        align="llrrrrrrrrr",
    )


def _cells(f: LearnerSummary) -> tuple[str, ...]:
    return (
        f"{f.library} {f.version}",
        f.learner,
        f"{f.rows:,}" + "*" * (f.rows < f.n),
        three_digits(f.speed),
        f"{three_digits(f.speed_low)}–{three_digits(f.speed_high)}",
        f"{f.error:.4f}",
        DASH if f.reference_error is None else f"{f.reference_error:.4f}",
        amount(f.model_bytes),
        amount(f.peak_bytes),
        DASH if f.ratio is None or f.is_reference else three_digits(f.ratio),
        DASH
        if f.ratio_low is None or f.ratio_high is None or f.is_reference
        else f"{three_digits(f.ratio_low)}–{three_digits(f.ratio_high)}",
    )


def three_digits(value: float) -> str:
    """Return a positive number with three significant digits.

    >>> three_digits(123456.0), three_digits(12.345), three_digits(0.01234)
    ('123,000', '12.3', '0.0123')
    """
    rounded = float(f"{value:.3g}")
    if rounded >= 100.0:
        return f"{rounded:,.0f}"
    return f"{rounded:#.3g}" if rounded >= 0.001 else f"{rounded:g}"


def amount(count: int | None) -> str:
    """Return a number of bytes with a unit.

    >>> amount(512), amount(181_175), amount(96_474_100), amount(None)
    ('512 B', '181 kB', '96.5 MB', '—')
    """
    if count is None:
        return DASH
    for size, unit in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")):
        if count >= size:
            return f"{three_digits(count / size)} {unit}"
    return f"{count} B"


def write_tables(
    summaries: Sequence[LearnerSummary], outcome: Outcome, directory: Path, command: str
) -> list[Path]:
    """Write tables as Markdown, summaries and runs as CSV, and one chart per stream.

    Returns
    -------
    list
        The files.
    """
    tables = [to_markdown(table(s, summaries, outcome)) for s in outcome.plan.streams]
    texts = {
        "bench.md": f"`{command}`\n\n" + "\n".join(tables),
        "bench.csv": to_csv(summaries),
        "runs.csv": to_csv(outcome.runs),
    }
    charts = {
        f"error-speed-{slug(stream)}": speed_chart(
            f"{stream}: error against rows per second", here
        )
        for stream in outcome.plan.streams
        if (here := [f for f in summaries if f.stream == stream])
    }
    return _write(texts, charts, directory)


def write_growth(
    points: Sequence[Any],
    shown: TextTable,
    chart: Drawing,
    directory: Path,
    command: str,
) -> list[Path]:
    """Write the measurements of growth: the table, its points, and the chart."""
    texts = {
        "growth.md": f"`{command}`\n\n" + to_markdown(shown),
        "growth.csv": to_csv(points),
    }
    return _write(texts, {"growth": chart}, directory)


def _write(
    texts: dict[str, str], charts: dict[str, Drawing], directory: Path
) -> list[Path]:
    files = {name: text.encode() for name, text in texts.items()}
    return write_files(files | chart_files(charts), directory)
