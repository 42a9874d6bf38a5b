"""The charts of a report by name, drawn once for the page and for the files."""

from collections.abc import Mapping, Sequence
from math import sqrt

from rpnb.report.charts.bars import MeanBar, Outcomes, amount_bars, outcome_bars
from rpnb.report.charts.curves import Measure, curve_panel
from rpnb.report.charts.deviations import Deviation, deviation_strip
from rpnb.report.charts.drawing import Drawing, beside
from rpnb.report.charts.ranks import critical_difference_diagram
from rpnb.report.html import slug
from rpnb.study.analysis import StudyAnalysis
from rpnb.study.tables import UPDATES_ON, OutcomeCount
from rpnb.study.tables import Measure as Score
from rpnb.study.text_tables import MEASURES

#: The panels of a dataset's learning curves.
CURVES: tuple[Measure, ...] = ("error", "updates")


def draw(content: StudyAnalysis) -> dict[str, Drawing]:
    """Return all charts that there are numbers for, by name."""
    found: dict[str, Drawing | None] = {
        "figure_1": _outcomes(content, "error"),
        "figure_2": _outcomes(content, "f1"),
    }
    for dataset in UPDATES_ON:
        found[name("figure_3", dataset)] = _updates(content, dataset)
    for measure in MEASURES:
        found[f"deviations_{measure}"] = _deviations(content, measure)
        found[f"ranks_{measure}"] = _ranks(content, measure)
    for dataset in content.datasets:
        for what in CURVES:
            found[name(what, dataset)] = _curves(content, dataset, what)
    return {key: drawing for key, drawing in found.items() if drawing is not None}


def name(chart: str, dataset: str) -> str:
    """Return the name of a dataset's chart."""
    return f"{chart}/{slug(dataset)}"


def in_files(
    content: StudyAnalysis, charts: Mapping[str, Drawing]
) -> dict[str, Drawing]:
    """Return charts by the names of their files: those of a kind share one."""
    files = {key: drawing for key, drawing in charts.items() if "/" not in key}
    halves = [name("figure_3", dataset) for dataset in UPDATES_ON]
    there = [charts[half] for half in halves if half in charts]
    if there:
        files["figure_3"] = beside("Numbers of updates", *there)
    for dataset in content.datasets:
        panels = [charts[key] for w in CURVES if (key := name(w, dataset)) in charts]
        if panels:
            title = f"Learning curves on {dataset}"
            files[name("curves", dataset)] = beside(title, *panels)
    return files


def _outcomes(content: StudyAnalysis, measure: Score) -> Drawing | None:
    """Return Figure 1 (error) or 2 (F1); None if RPNB was compared with no method."""
    counts = content.counts[measure]
    if not counts:
        return None
    rivals = [(count.method, _bars(count)) for count in counts]
    title = f"RPNB's wins, ties and losses by {MEASURES[measure]}, a bar a method"
    return outcome_bars(title, rivals)


def _bars(count: OutcomeCount) -> Sequence[Outcomes]:
    ours = Outcomes("ours", count.wins, count.ties, count.losses)
    printed = (count.paper_wins, count.paper_ties, count.paper_losses)
    wins, ties, losses = printed
    if wins is None or ties is None or losses is None:
        return [ours]
    return [ours, Outcomes("paper", wins, ties, losses)]


def _updates(content: StudyAnalysis, dataset: str) -> Drawing | None:
    """Return a half of Figure 3; None if no method ran on its dataset."""
    amounts = [
        MeanBar(u.method, u.mean, sqrt(u.variance or 0.0), u.paper)
        for u in content.updates
        if u.dataset == dataset and u.mean is not None
    ]
    if not amounts:
        return None
    title = f"Number of updates on {dataset}, a bar a method"
    return amount_bars(title, amounts, "updates of the model", content.methods)


def _deviations(content: StudyAnalysis, measure: Score) -> Drawing | None:
    """Return how far our means lie from the printed ones; None if none is judged."""
    deviations = [
        Deviation(each.method, each.dataset, each.z)
        for each in content.agreements
        if each.figure == measure and each.z is not None
    ]
    if not deviations:
        return None
    title = (
        f"Differences from the paper in {MEASURES[measure]}, in standard errors: "
        "a dot a dataset, a row a method"
    )
    return deviation_strip(title, deviations, content.methods)


def _ranks(content: StudyAnalysis, measure: Score) -> Drawing | None:
    """Return the critical-difference diagram; None if there are too few datasets."""
    ranking = content.rankings[measure]
    if ranking is None:
        return None
    title = (
        f"Average ranks by {MEASURES[measure]} over {len(ranking.datasets)} datasets, "
        "and the critical difference"
    )
    return critical_difference_diagram(
        title,
        ranking.friedman.ranks,
        ranking.friedman.critical_difference,
        content.methods,
    )


def _curves(content: StudyAnalysis, dataset: str, measure: Measure) -> Drawing | None:
    """Return a panel of learning curves; None if no method ran on the dataset."""
    curves = content.curves(dataset, measure)
    if not curves:
        return None
    what = "Error" if measure == "error" else "Number of updates"
    title = f"{what} along the stream on {dataset}, a line a method"
    return curve_panel(title, curves, measure, content.methods)
