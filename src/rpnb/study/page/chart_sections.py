"""Sections of the page with charts."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rpnb.report.charts.curves import Plot
from rpnb.report.charts.drawing import Drawing
from rpnb.report.charts.live import plot_figure
from rpnb.report.charts.svg import inline
from rpnb.report.html import Html, choice, figure, section, table, tag
from rpnb.report.table_text import DASH, TextTable
from rpnb.study.analysis import MEASURES, StudyAnalysis
from rpnb.study.page.charts import CURVES, name, plots
from rpnb.study.page.table_sections import agreement_section, note_list
from rpnb.study.table_rows import UPDATES_ON, Measure
from rpnb.study.text_tables import (
    agreement_counts_table,
    outcomes_table,
    ranking_table,
    updates_table,
)

Charts: TypeAlias = Mapping[str, Drawing]


def outcomes(analysis: StudyAnalysis, charts: Charts, measure: Measure) -> Html:
    """Return Figure 1 (error) or 2 (F1)."""
    number = {"error": 1, "f1": 2}[measure]
    title = f"Figure {number}: wins, ties and losses by {MEASURES[measure]}"
    drawing = charts.get(f"figure_{number}")
    caption = (
        "Number of datasets on which RPNB is better than a method, not significantly "
        "different, or worse, by the Wilcoxon signed-rank test over the permutations "
        "at 0.05. The paper's counts are from the arrows in its table, for the same "
        "datasets"
        + (
            "; its text states the same counts."
            if measure == "error"
            else "; its text states none."
        )
    )
    if not analysis.can_reject():
        caption += " With fewer than 6 permutations the test can never reject."
    numbers = outcomes_table(analysis, measure)
    shown = _shown(drawing, caption, numbers)
    return section(f"figure-{number}", title, shown, fold=True, half=True)


def updates(analysis: StudyAnalysis, charts: Charts) -> Html:
    """Return Figure 3."""
    panels = []
    for dataset in UPDATES_ON:
        drawing = charts.get(name("figure_3", dataset))
        chart = tag("p", f"{DASH} not run") if drawing is None else inline(drawing)
        panels.append(tag("div", tag("h3", dataset), chart))
    caption = (
        "Number of rows that changed the model: mean over the permutations, with a "
        "whisker of ± one standard deviation. ▼ marks the values in the paper's text, "
        "which has no numbers for the other bars of its Figure 3. A learner that "
        "learns from every row has as many updates as rows."
    )
    return section(
        "figure-3",
        "Figure 3: number of updates",
        tag(
            "figure",
            tag("div", *panels, class_="pair"),
            tag("figcaption", caption),
            _numbers(updates_table(analysis)),
        ),
        fold=True,
    )


def ranks(analysis: StudyAnalysis, charts: Charts) -> Html:
    """Return the critical-difference diagrams."""
    parts = []
    for measure, words in MEASURES.items():
        ranking = analysis.rankings[measure]
        caption = "Ranks need at least two methods on two datasets."
        if ranking is not None:
            test = ranking.friedman
            caption = (
                f"Average ranks by {words} on {test.N} datasets; 1 is best. A bar "
                "joins methods whose ranks differ by less than Nemenyi's critical "
                f"difference at {test.level:g}. Friedman's test: χ² = {test.chi2:.1f}, "
                f"p = {test.p_chi2:.2g}."
            )
        shown = _shown(
            charts.get(f"ranks_{measure}"), caption, ranking_table(analysis, measure)
        )
        parts.append(tag("div", tag("h3", f"By {words}"), shown))
    return section(
        "ranks",
        "Ranks and critical difference",
        tag("div", *parts, class_="pair"),
        fold=True,
    )


def curves(analysis: StudyAnalysis) -> Html:
    """Return the learning curves of all datasets."""
    over = " to ".join(dict.fromkeys(map(str, analysis.permutations())))
    text = (
        f"Error and number of updates so far: mean over {over} permutations, with a "
        "band of ± one standard deviation. The three methods with the lowest final "
        "error are in colour, all others in grey. All numbers are in curves.csv."
    )
    drawn = plots(analysis)
    panels = {
        dataset: _curves(analysis, drawn, dataset) for dataset in analysis.datasets
    }
    return section(
        "curves", "Learning curves", tag("p", text), choice("Dataset", panels)
    )


def _curves(analysis: StudyAnalysis, drawn: Mapping[str, Plot], dataset: str) -> Html:
    panels = [drawn[key] for m in CURVES if (key := name(m, dataset)) in drawn]
    about = f"{DASH} not run"
    if panels:
        shape = next(s for s in analysis.shapes if s.dataset == dataset)
        about = f"n = {shape.n}, p = {shape.p}, M = {shape.M}"
    heading = tag("h3", dataset, " ", tag("span", about, class_="muted"))
    pair = (plot_figure(plot, "", wide=False, link=dataset) for plot in panels)
    inner = tag("div", *pair, class_="pair")
    return tag("div", heading, inner)


def agreement(analysis: StudyAnalysis, charts: Charts) -> Html:
    """Return the agreement with the paper, value by value."""
    panels = []
    for measure, words in MEASURES.items():
        drawing = charts.get(f"deviations_{measure}")
        if drawing is not None:
            panels.append(tag("div", tag("h3", f"By {words}"), inline(drawing)))
    judged = sum(each.z is not None for each in analysis.agreements)
    text = (
        "Each printed value is compared with our mean. By chance alone, about 95 % of "
        "the differences would lie within two standard errors and more than 99 % "
        f"within three; {judged} values are judged here."
    )
    counted = agreement_counts_table(analysis)
    return section(
        "agreement",
        "Agreement, value by value",
        tag("p", text),
        tag("div", *panels, class_="pair"),
        _numbers(counted),
        tag("h3", "Notes"),
        note_list(analysis),
        agreement_section(analysis),
        fold=True,
    )


def _shown(drawing: Drawing | None, caption: str, numbers: TextTable) -> Html:
    if drawing is None:
        return tag("p", f"{DASH} {caption}")
    return figure(inline(drawing), caption, _numbers(numbers))


def _numbers(shown: TextTable) -> Html:
    """Return the numbers behind a chart, in an element that opens on request."""
    body = tag("tbody", *(_line(cells, shown.alignment()) for cells in shown.rows))
    notes = " ".join((f"{shown.title}.", *shown.notes))
    inner = table(
        notes, shown.header, [body], label=shown.title, align=shown.alignment()
    )
    return tag("details", tag("summary", "The numbers"), inner)


def _line(cells: Sequence[str], align: str) -> Html:
    name, *others = cells
    return tag(
        "tr",
        tag("th", name, scope="row"),
        *(
            tag("td", text, class_="text" if letter == "l" else None)
            for text, letter in zip(others, align[1:], strict=True)
        ),
    )
