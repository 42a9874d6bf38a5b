"""The tables of a study as text, for the terminal and for files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from rpnb.datasets.paper import Comparison
from rpnb.estimators.registry import RPNB
from rpnb.report.table_text import DASH, TextTable, to_csv, to_markdown, to_text
from rpnb.study.agreement import Agreement, Figure, Verdict, root_mean_square
from rpnb.study.analysis import MEASURES, StudyAnalysis
from rpnb.study.methods import notes_on
from rpnb.study.statistics import LEVEL
from rpnb.study.table_rows import Measure

_FIGURES: Mapping[Figure, str] = {
    "error": MEASURES["error"],
    "f1": MEASURES["f1"],
    "updates": "updates",
}
# The linear methods of the paper, which also have a common line.
LINEAR = ("AROW", "OGD", "PA", "SCW")
#: Signs beside a method that differs significantly from RPNB.
ARROWS: Mapping[Comparison | None, str] = {"worse": "↑", "better": "↓"}
_ARROWS_MEAN = "↑ worse than RPNB, ↓ better, by the signed-rank test at 0.05."


def _number(value: float | None, spec: str) -> str:
    return DASH if value is None else format(value, spec)


def _counts(*values: int | None) -> list[str]:
    return [_number(value, "d") for value in values]


def shapes_table(analysis: StudyAnalysis) -> TextTable:
    """Return Table 1."""
    return TextTable(
        "Table 1. Datasets: features p, rows n, classes M",
        ("dataset", "p", "n", "M", "p paper", "n paper", "M paper", "rows from"),
        tuple(
            (
                row.dataset,
                *_counts(row.p, row.n, row.M),
                *_counts(row.paper_p, row.paper_n, row.paper_M),
                row.source or DASH,
            )
            for row in analysis.shapes
        ),
        align="lrrrrrrl",
    )


def results_table(
    analysis: StudyAnalysis,
    measure: Measure,
    methods: Sequence[str] | None = None,
    *,
    variances: bool = True,
) -> TextTable:
    """Return Table 2 (error) or 3 (F1), with our line above the paper's.

    The columns are `methods`, by default all. With `variances`, these follow the means.
    """
    methods = [m for m in analysis.methods if methods is None or m in methods]
    cells = [cell for cell in analysis.results[measure] if cell.method in methods]
    rows = []
    for name in analysis.datasets:
        line = [cell for cell in cells if cell.dataset == name]
        ours = [_shown(c.mean, c.variance, c.versus_rpnb, variances) for c in line]
        theirs = [
            _shown(c.paper_mean, c.paper_variance, c.paper_versus_rpnb, variances)
            for c in line
        ]
        rows += [[name, "ours", *ours], ["", "paper", *theirs]]
    columns = [_without_empty_arrows(column) for column in zip(*rows, strict=True)]
    number = 2 if measure == "error" else 3
    what = "mean (variance)" if variances else "mean"
    runs = sorted({cell.runs for cell in cells if cell.runs}) or [0]
    over = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return TextTable(
        f"Table {number}. {MEASURES[measure].capitalize()}: {what} over {over} "
        f"permutation{'s' * (runs != [1])}, the paper's over 10",
        ("dataset", "", *methods),
        tuple(zip(*columns, strict=True)),
        (_ARROWS_MEAN, *_warnings(analysis), *notes_on(methods)),
        align="ll" + "r" * len(methods),
    )


def _without_empty_arrows(column: Sequence[str]) -> tuple[str, ...]:
    """Return a column without the space for arrows, if it has no arrow."""
    if all(cell.endswith("  ") for cell in column):
        return tuple(cell[:-2] for cell in column)
    return tuple(column)


def _warnings(analysis: StudyAnalysis) -> tuple[str, ...]:
    """Return a warning if there are too few runs for the test to reject."""
    if analysis.can_reject():
        return ()
    return ("With fewer than 6 permutations the test can never reject.",)


def _shown(
    mean: float | None,
    variance: float | None,
    versus: Comparison | None,
    variances: bool,
) -> str:
    if mean is None:
        return f"{DASH}  "
    text = f"{mean:.4f}"
    if variances:
        text += f" ({_number(variance, '.2E')})"
    return f"{text} {ARROWS.get(versus, ' ')}"


def outcomes_table(analysis: StudyAnalysis, measure: Measure) -> TextTable:
    """Return the counts of Figure 1 (error) or 2 (F1)."""
    figure = 1 if measure == "error" else 2
    return TextTable(
        f"Figure {figure}. Datasets on which RPNB wins, ties, loses: "
        f"{MEASURES[measure]}",
        ("RPNB against", "wins", "ties", "losses", "paper: wins", "ties", "losses"),
        tuple(
            (
                row.method,
                *_counts(row.wins, row.ties, row.losses),
                *_counts(row.paper_wins, row.paper_ties, row.paper_losses),
            )
            for row in analysis.counts[measure]
        ),
        (
            f"By the signed-rank test over the permutations at {LEVEL}.",
            *_warnings(analysis),
        ),
    )


def updates_table(analysis: StudyAnalysis) -> TextTable:
    """Return the numbers of Figure 3."""
    return TextTable(
        "Figure 3. Number of updates of the model: mean over the permutations",
        ("dataset", "method", "updates", "variance", "paper"),
        tuple(
            (
                row.dataset,
                row.method,
                _number(row.mean, ".1f"),
                _number(row.variance, ".1f"),
                _number(row.paper, ".1f"),
            )
            for row in analysis.updates
        ),
        align="llrrr",
    )


def ranking_table(analysis: StudyAnalysis, measure: Measure) -> TextTable:
    """Return average ranks, and RPNB compared with each method across datasets."""
    ranking = analysis.rankings[measure]
    title = f"Average ranks by {MEASURES[measure]}"
    header = ("method", "rank", "wins", "ties", "losses", "p", "p (Holm)")
    if ranking is None:
        note = "Ranks need at least two methods on two datasets."
        return TextTable(title, header, (), (note,))
    test = ranking.friedman
    rows = [
        (
            row.method,
            f"{row.rank:.3f}",
            *_counts(row.wins, row.ties, row.losses),
            *(_number(value, ".2g") for value in (row.p, row.p_holm)),
        )
        for row in ranking.ranks()
    ]
    return TextTable(
        f"{title}, {test.N} datasets",
        header,
        tuple(rows),
        (
            f"Friedman: χ² = {test.chi2:.2f}, p = {test.p_chi2:.2g}; "
            f"Iman-Davenport: F = {test.F:.2f}, p = {test.p_F:.2g}.",
            "Nemenyi's critical difference of ranks at "
            f"{test.level}: {test.critical_difference:.3f}.",
            "Wins, ties, losses and p: RPNB against the method, by their means on the "
            f"datasets; Holm's correction is for all {len(ranking.pairs)} pairs.",
        ),
    )


def agreement_table(analysis: StudyAnalysis) -> TextTable:
    """Return each printed value beside ours, with numbered reasons below."""
    reasons = analysis.reasons
    lines = []
    for row in analysis.agreements:
        spec = ".1f" if row.figure == "updates" else ".4f"
        lines.append(
            (
                row.dataset,
                row.method,
                _FIGURES[row.figure],
                _number(row.paper, spec),
                _number(row.ours, spec),
                _number(row.difference, "+" + spec),
                _number(row.standard_error, spec),
                _number(row.z, "+.1f"),
                row.verdict,
                f"[{reasons.index(row.reason) + 1}]" if row.reason else "",
            )
        )
    return TextTable(
        "Agreement with the printed values",
        (
            *("dataset", "method", "figure", "paper", "ours", "difference"),
            *("std. error", "z", "verdict", "why"),
        ),
        tuple(lines),
        tuple(f"[{i}] {reason}." for i, reason in enumerate(reasons, start=1)),
        align="lllrrrrrll",
    )


def agreement_counts_table(
    analysis: StudyAnalysis, methods: Sequence[str] | None = None
) -> TextTable:
    """Return how many printed values agree with ours, by measure and method.

    `methods` are those to include, by default all methods of the paper.
    """
    rows = [a for a in analysis.agreements if methods is None or a.method in methods]
    found = {row.verdict for row in rows}
    columns = [verdict for verdict in get_args(Verdict) if verdict in found]
    lines = []
    for figure in dict.fromkeys(row.figure for row in rows):
        for method in dict.fromkeys(row.method for row in rows):
            mine = [r for r in rows if (r.method, r.figure) == (method, figure)]
            if mine:
                count = Counter(row.verdict for row in mine)
                known = sum(bool(r.reason) for r in mine if r.verdict == "differs")
                numbers = [count[verdict] for verdict in columns]
                if "differs" in found:
                    numbers.insert(columns.index("differs") + 1, known)
                cells = [str(number) for number in numbers]
                lines.append((_FIGURES[figure], method, *cells, _rms(mine)))
        linear = [r for r in rows if r.figure == figure and r.method in LINEAR]
        if {row.method for row in linear} == set(LINEAR):
            blank = [""] * len(lines[-1][2:-1])
            lines.append((_FIGURES[figure], "the four linear", *blank, _rms(linear)))
    if "differs" in found:
        columns.insert(columns.index("differs") + 1, "known why")
    columns.append("r.m.s.")
    return TextTable(
        "The paper's values and ours, by their distance in standard errors",
        ("figure", "method", *columns),
        tuple(lines),
        () if (few := analysis.few()) is None else (few,),
        align="ll" + "r" * len(columns),
    )


def _rms(rows: Iterable[Agreement]) -> str:
    return _number(root_mean_square(rows), ".2f")


def terminal_tables(analysis: StudyAnalysis, methods: Sequence[str]) -> list[TextTable]:
    """Return the tables that `rpnb paper` prints: errors, wins and agreement.

    They include only `methods`, and wins only if the test can reject.
    """
    shown = [results_table(analysis, "error", methods, variances=False)]
    if RPNB in methods and analysis.can_reject():
        shown.append(outcomes_table(analysis, "error"))
    if any(each.method in methods for each in analysis.agreements):
        shown.append(agreement_counts_table(analysis, methods))
    return shown


def all_tables(analysis: StudyAnalysis) -> list[TextTable]:
    """Return all tables of a study, in the paper's order."""
    shown = [shapes_table(analysis)]
    shown += [results_table(analysis, measure) for measure in MEASURES]
    shown += [outcomes_table(analysis, measure) for measure in MEASURES]
    if analysis.updates:
        shown.append(updates_table(analysis))
    shown += [ranking_table(analysis, measure) for measure in MEASURES]
    return [*shown, agreement_counts_table(analysis), agreement_table(analysis)]


def table_files(analysis: StudyAnalysis) -> dict[str, bytes]:
    """Return all tables as files by name: together as Markdown and text, each as CSV.

    `tables.md` and `tables.txt` come first.
    """
    shown = all_tables(analysis)
    rows: dict[str, Sequence[Any]] = {
        "table_1": analysis.shapes,
        "table_2": analysis.results["error"],
        "table_3": analysis.results["f1"],
        "figure_1": analysis.counts["error"],
        "figure_2": analysis.counts["f1"],
        "figure_3": analysis.updates,
    }
    for measure, ranking in analysis.rankings.items():
        rows[f"ranks_{measure}"] = ranking.ranks() if ranking else ()
        rows[f"pairs_{measure}"] = ranking.pairs if ranking else ()
    rows["agreement"] = analysis.agreements
    texts = {
        "tables.md": "\n".join(map(to_markdown, shown)),
        "tables.txt": "\n".join(map(to_text, shown)),
    }
    texts |= {f"{name}.csv": to_csv(table) for name, table in rows.items()}
    return {name: text.encode() for name, text in texts.items()}
