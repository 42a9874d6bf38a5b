"""Sections of the page with tables: 1, 2, 3 and the agreement."""

from collections.abc import Iterable, Mapping

from rpnb.datasets.paper import Comparison
from rpnb.report.charts.drawing import number
from rpnb.report.html import Html, capital, join, row, section, slug, table, tag
from rpnb.report.table_text import DASH
from rpnb.study.agreement import Agreement
from rpnb.study.analysis import MEASURES, StudyAnalysis
from rpnb.study.methods import notes_on
from rpnb.study.page.verdicts import FIGURES, LOOKS, badge, kind, note_letters
from rpnb.study.table_rows import BETTER, DatasetRow, Measure, ResultRow
from rpnb.study.text_tables import ARROWS

# Most methods for which variances fit beside the means.
_ROOMY = 6
_ARROW_WORDS: Mapping[Comparison | None, str] = {
    "worse": "worse than RPNB",
    "better": "better than RPNB",
}


def table_1(analysis: StudyAnalysis) -> Html:
    """Return Table 1: printed and loaded shapes, and where the rows came from."""
    head = ("Dataset", "Features p", "Rows n", "Classes M", "Rows from")
    body = tag("tbody", *map(_shape, analysis.shapes))
    caption = (
        "Shapes of the datasets; a printed value that differs from ours follows in "
        "brackets."
    )
    inner = table(caption, head, [body], label="Table 1", align="lrrrl")
    return section("table-1", "Table 1: the datasets", inner, fold=True)


def _shape(shape: DatasetRow) -> Html:
    pairs = (
        (shape.p, shape.paper_p),
        (shape.n, shape.paper_n),
        (shape.M, shape.paper_M),
    )
    cells = [_beside(ours, printed) for ours, printed in pairs]
    source = tag("td", shape.source or DASH, class_="text")
    return row(shape.dataset, [*cells, source])


def _beside(ours: int | None, printed: int | None) -> str:
    shown = DASH if ours is None else number(ours)
    return shown if printed in (None, ours) else f"{shown} ({number(printed)})"


def table_2_or_3(analysis: StudyAnalysis, measure: Measure) -> Html:
    """Return Table 2 (error) or 3 (F1): mean and variance, ours above the paper's."""
    place = {"error": 2, "f1": 3}[measure]
    cells = {(r.dataset, r.method): r for r in analysis.results[measure]}
    body = []
    dense = len(analysis.methods) > _ROOMY
    for name in analysis.datasets:
        own = [cells[name, method] for method in analysis.methods]
        best = _best(own, measure)
        blank = tag("i", "\N{NO-BREAK SPACE}") if dense else ""
        whose = tag(
            "td",
            tag("span", "ours", blank),
            tag("small", "paper", blank),
            class_="result text dense" if dense else "result text",
        )
        body.append(row(name, (whose, *(_result(each, best, dense) for each in own))))
    caption = (
        f"Mean of the {MEASURES[measure]} over the permutations, and its variance. "
        "↑ worse than RPNB, ↓ better, by the Wilcoxon signed-rank test at 0.05. "
        f"Bold: our best mean in the row. {DASH} not run. "
        + " ".join(notes_on(analysis.methods))
    )
    inner = table(
        caption,
        ("Dataset", "", *analysis.methods),
        [tag("tbody", *body)],
        label=f"Table {place}",
    )
    title = f"Table {place}: {MEASURES[measure]}"
    return section(f"table-{place}", title, inner, fold=True)


def _best(cells: Iterable[ResultRow], measure: Measure) -> float | None:
    means = [round(each.mean, 4) for each in cells if each.mean is not None]
    if len(means) < 2:
        return None
    return min(means) if BETTER[measure] == "low" else max(means)


def _result(cell: ResultRow, best: float | None, dense: bool) -> Html:
    bold = best is not None and cell.mean is not None and round(cell.mean, 4) == best
    ours = _pair(cell.mean, cell.variance, cell.versus_rpnb)
    printed = _pair(cell.paper_mean, cell.paper_variance, cell.paper_versus_rpnb)
    upper = tag("span", ours, class_="best" if bold else None)
    look = "result dense" if dense else "result"
    return tag("td", upper, tag("small", printed), class_=look)


def _pair(
    mean: float | None, variance: float | None, versus: Comparison | None
) -> Html:
    """Return a mean with its arrow, and the variance."""
    if mean is None:
        blank = tag("span", "", class_="arrow")
        return join((DASH, blank, tag("i", "\N{NO-BREAK SPACE}")))
    arrow = tag(
        "span", ARROWS.get(versus, ""), class_="arrow", title=_ARROW_WORDS.get(versus)
    )
    spread = DASH if variance is None else f"{variance:.2E}"
    return join((f"{mean:.4f}", arrow, tag("i", spread)))


def agreement_section(analysis: StudyAnalysis) -> Html:
    """Return each printed value beside ours, one group of rows per dataset."""
    letters = note_letters(analysis)
    head = (
        *("Method", "Measure", "Ours", "Paper", "Difference"),
        *("In standard errors", "Verdict"),
    )
    groups = []
    for name in analysis.datasets:
        own = [each for each in analysis.agreements if each.dataset == name]
        if own:
            title = tag("th", name, colspan=len(head), scope="rowgroup")
            rows = (_agreement(each, letters) for each in own)
            anchor = f"agreement-{slug(name)}"
            groups.append(
                tag("tbody", tag("tr", title), *rows, class_="group", id=anchor)
            )
    caption = (
        "The standard error is that of the difference: the square root of the sum "
        "of both variances, each divided by its number of permutations."
    )
    return table(caption, head, groups, label="Agreement", align="llrrrrl")


def _agreement(each: Agreement, letters: Mapping[str, str]) -> Html:
    words = LOOKS[kind(each)].words.split(":")[0]
    letter = letters.get(each.reason or "")
    note = join((", ", tag("a", f"note {letter}", href=f"#note-{letter}")))
    parts = badge(each, letters), words, note if letter else ""
    digits = 1 if each.figure == "updates" else 4
    cells = (
        tag("td", FIGURES[each.figure], class_="text"),
        _number(each.ours, digits),
        _number(each.paper, digits),
        _number(each.difference, digits, signed=True),
        _number(each.z, 1, signed=True),
        tag("td", *parts, class_="text"),
    )
    return row(each.method, cells)


def _number(value: float | None, digits: int, *, signed: bool = False) -> str:
    """Return a number with a fixed number of decimals, or a dash for None."""
    if value is None:
        return DASH
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def note_list(analysis: StudyAnalysis) -> Html:
    """Return the reasons by their letters."""
    items = (
        tag(
            "li",
            tag("span", letter, class_="sign explained"),
            f"{capital(reason)}.",
            id=f"note-{letter}",
        )
        for reason, letter in note_letters(analysis).items()
    )
    return tag("ul", *items, class_="reasons")
