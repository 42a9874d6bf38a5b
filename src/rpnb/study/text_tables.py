"""The study's tables laid out to be read, and written to files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from rpnb.datasets.paper import Comparison
from rpnb.report.tables import DASH, TextTable, to_csv, to_markdown, to_text
from rpnb.study import agreement, tables
from rpnb.study.agreement import Agreement, Figure, Verdict
from rpnb.study.methods import notes_on
from rpnb.study.records import RunRecord
from rpnb.study.statistics import LEVEL, can_reject
from rpnb.study.tables import Measure

MEASURES: Mapping[Measure, str] = {"error": "error rate", "f1": "F1 score"}
_FIGURES: Mapping[Figure, str] = {
    "error": MEASURES["error"],
    "f1": MEASURES["f1"],
    "updates": "updates",
}
# The paper's linear methods, which are judged together as well.
LINEAR = ("AROW", "OGD", "PA", "SCW")
_ARROWS: Mapping[Comparison | None, str] = {"worse": "↑", "better": "↓"}
_ARROWS_MEAN = "↑ worse than RPNB, ↓ better, by the signed-rank test at 0.05."


def _number(value: float | None, spec: str) -> str:
    return DASH if value is None else format(value, spec)


def show_shapes(rows: Sequence[tables.DatasetRow]) -> TextTable:
    """Lay out Table 1."""
    return TextTable(
        "Table 1. Datasets: features p, rows n, classes M",
        ("dataset", "p", "n", "M", "p paper", "n paper", "M paper", "rows from"),
        tuple(
            (
                row.dataset,
                *(_number(value, "d") for value in (row.p, row.n, row.M)),
                _number(row.paper_p, "d"),
                _number(row.paper_n, "d"),
                _number(row.paper_M, "d"),
                row.source or DASH,
            )
            for row in rows
        ),
        align="lrrrrrrl",
    )


def show_results(
    cells: Sequence[tables.ResultRow], measure: Measure, *, variances: bool = True
) -> TextTable:
    """Lay out Table 2 or 3, a line of ours above a line of the paper's."""
    methods = list(dict.fromkeys(cell.method for cell in cells))
    rows = []
    for name in dict.fromkeys(cell.dataset for cell in cells):
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
        (_ARROWS_MEAN, *_warnings(cells), *notes_on(methods)),
        align="ll" + "r" * len(methods),
    )


def _without_empty_arrows(column: Sequence[str]) -> tuple[str, ...]:
    """Take the room for arrows away where a column has none."""
    if all(cell.endswith("  ") for cell in column):
        return tuple(cell[:-2] for cell in column)
    return tuple(column)


def _warnings(cells: Sequence[tables.ResultRow]) -> tuple[str, ...]:
    """Say so where our runs are too few for any test to reject."""
    if can_reject(max((cell.runs for cell in cells), default=0)):
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
    return f"{text} {_ARROWS.get(versus, ' ')}"


def show_counts(cells: Sequence[tables.ResultRow], measure: Measure) -> TextTable:
    """Lay out Figure 1 or 2 from the cells of Table 2 or 3."""
    figure = 1 if measure == "error" else 2
    return TextTable(
        f"Figure {figure}. Datasets on which RPNB wins, ties, loses: "
        f"{MEASURES[measure]}",
        ("RPNB against", "wins", "ties", "losses", "paper: wins", "ties", "losses"),
        tuple(
            (
                row.method,
                *(_number(value, "d") for value in (row.wins, row.ties, row.losses)),
                _number(row.paper_wins, "d"),
                _number(row.paper_ties, "d"),
                _number(row.paper_losses, "d"),
            )
            for row in tables.counts(cells)
        ),
        (
            f"By the signed-rank test over the permutations at {LEVEL}.",
            *_warnings(cells),
        ),
    )


def show_updates(rows: Sequence[tables.UpdatesRow]) -> TextTable:
    """Lay out Figure 3."""
    return TextTable(
        "Figure 3. How often the model was changed: mean over the permutations",
        ("dataset", "method", "updates", "variance", "paper"),
        tuple(
            (
                row.dataset,
                row.method,
                _number(row.mean, ".1f"),
                _number(row.variance, ".1f"),
                _number(row.paper, ".1f"),
            )
            for row in rows
        ),
        align="llrrr",
    )


def show_ranking(ranking: tables.Ranking | None, measure: Measure) -> TextTable:
    """Lay out average ranks, and RPNB against each method over the datasets."""
    title = f"Average ranks by {MEASURES[measure]}"
    header = ("method", "rank", "wins", "ties", "losses", "p", "p (Holm)")
    if ranking is None:
        return TextTable(title, header, (), ("Needs two methods on two datasets.",))
    test = ranking.friedman
    rows = [
        (
            row.method,
            f"{row.rank:.3f}",
            *(_number(value, "d") for value in (row.wins, row.ties, row.losses)),
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
            "Wins, ties, losses and p: RPNB against the method, over the datasets' "
            f"means; Holm's correction is for all {len(ranking.pairs)} pairs.",
        ),
    )


def show_agreement(rows: Sequence[Agreement]) -> TextTable:
    """Lay out each printed figure beside ours; reasons are numbered below."""
    reasons = list(dict.fromkeys(row.reason for row in rows if row.reason))
    lines = []
    for row in rows:
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
        "Agreement with the printed figures",
        (
            *("dataset", "method", "figure", "paper", "ours", "difference"),
            *("std. error", "z", "verdict", "why"),
        ),
        tuple(lines),
        tuple(f"[{i}] {reason}." for i, reason in enumerate(reasons, start=1)),
        align="lllrrrrrll",
    )


def show_agreement_counts(rows: Sequence[Agreement]) -> TextTable:
    """Lay out how many figures agree, by method and figure."""
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
        "The paper's figures and ours, by their distance in standard errors",
        ("figure", "method", *columns),
        tuple(lines),
        align="ll" + "r" * len(columns),
    )


def _rms(rows: Sequence[Agreement]) -> str:
    return _number(agreement.root_mean_square(rows), ".2f")


def write_tables(
    records: Iterable[RunRecord],
    directory: Path,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> list[Path]:
    """Write all tables to a folder: each as CSV, and all as Markdown and text.

    Parameters
    ----------
    records
        Of one study.
    directory
        Made if it is not there.
    datasets, methods
        What the tables have rows and columns for; by default what has records.

    Returns
    -------
    list
        The files, `tables.md` and `tables.txt` first.
    """
    held = list(records)
    shown, numbers = lay_out(held, datasets, methods)
    directory.mkdir(parents=True, exist_ok=True)
    files = {
        "tables.md": "\n".join(map(to_markdown, shown)),
        "tables.txt": "\n".join(map(to_text, shown)),
    }
    files |= {f"{name}.csv": to_csv(rows) for name, rows in numbers.items()}
    for name, content in files.items():
        (directory / name).write_text(content, encoding="utf-8")
    return [directory / name for name in files]


def lay_out(
    records: Sequence[RunRecord],
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> tuple[list[TextTable], dict[str, Sequence[Any]]]:
    """Return all tables, laid out and as numbers by name."""
    shapes = tables.shapes(records, datasets)
    updates = tables.updates(records, datasets, methods)
    printed = agreement.agreement(records, datasets, methods)
    shown = [show_shapes(shapes)]
    numbers: dict[str, Sequence[Any]] = {"table_1": shapes}
    cells = {m: tables.results(records, m, datasets, methods) for m in MEASURES}
    measures: tuple[Measure, ...] = tuple(MEASURES)
    for place, measure in enumerate(measures):
        shown.append(show_results(cells[measure], measure))
        numbers[f"table_{place + 2}"] = cells[measure]
    for place, measure in enumerate(measures):
        shown.append(show_counts(cells[measure], measure))
        numbers[f"figure_{place + 1}"] = tables.counts(cells[measure])
    if updates:
        shown.append(show_updates(updates))
    numbers["figure_3"] = updates
    for measure in measures:
        ranking = tables.ranking(cells[measure], measure)
        shown.append(show_ranking(ranking, measure))
        numbers[f"ranks_{measure}"] = ranking.ranks() if ranking else ()
        numbers[f"pairs_{measure}"] = ranking.pairs if ranking else ()
    shown += [show_agreement_counts(printed), show_agreement(printed)]
    numbers["agreement"] = printed
    return shown, numbers
