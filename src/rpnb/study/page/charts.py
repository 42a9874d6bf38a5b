"""Charts of the report, drawn once for the page and for the files."""

from collections.abc import Mapping, Sequence
from math import sqrt

from rpnb.estimators.registry import RPNB
from rpnb.report.charts.bars import MeanBar, Outcomes, mean_bars, outcome_bars
from rpnb.report.charts.curves import Plot, curve_panel, leaders, make_plot
from rpnb.report.charts.deviations import Deviation, deviation_chart
from rpnb.report.charts.drawing import Drawing, beside
from rpnb.report.charts.ranks import critical_difference_diagram
from rpnb.report.html import slug
from rpnb.study.analysis import MEASURES, StudyAnalysis
from rpnb.study.table_rows import UPDATES_ON, Measure, OutcomeCount

#: The two panels of learning curves for each dataset.
CURVES = ("error", "updates")


def draw(analysis: StudyAnalysis) -> dict[str, Drawing]:
    """Return all charts by name; charts without data are left out."""
    found: dict[str, Drawing | None] = {
        "figure_1": _outcomes(analysis, "error"),
        "figure_2": _outcomes(analysis, "f1"),
    }
    for dataset in UPDATES_ON:
        found[name("figure_3", dataset)] = _updates(analysis, dataset)
    for measure in MEASURES:
        found[f"deviations_{measure}"] = _deviations(analysis, measure)
        found[f"ranks_{measure}"] = _ranks(analysis, measure)
    for key, plot in plots(analysis).items():
        found[key] = curve_panel(plot)
    return {key: drawing for key, drawing in found.items() if drawing is not None}


def plots(analysis: StudyAnalysis) -> dict[str, Plot]:
    """Return the learning curves by name, two for each dataset.

    The three methods with the lowest error on a dataset are emphasised in both.
    """
    found = {}
    for dataset, curves in analysis.curves.items():
        best = leaders(curves.error)
        title = f"Error so far on {dataset}, one line per method"
        found[name("error", dataset)] = make_plot(
            *(title, curves.error, "error"), emphasised=best, names=analysis.methods
        )
        title = f"Number of updates so far on {dataset}, one line per method"
        found[name("updates", dataset)] = make_plot(
            *(title, curves.updates, "updates"), emphasised=best, names=analysis.methods
        )
    return found


def name(chart: str, dataset: str) -> str:
    """Return the name of a chart of one dataset."""
    return f"{chart}/{slug(dataset)}"


def in_files(
    analysis: StudyAnalysis, charts: Mapping[str, Drawing]
) -> dict[str, Drawing]:
    """Return charts by file name; panels that belong together share one file."""
    files = {key: drawing for key, drawing in charts.items() if "/" not in key}
    keys = [name("figure_3", dataset) for dataset in UPDATES_ON]
    halves = [charts[key] for key in keys if key in charts]
    if halves:
        files["figure_3"] = beside("Numbers of updates", *halves)
    for dataset in analysis.curves:
        panels = [charts[name(measure, dataset)] for measure in CURVES]
        title = f"Learning curves on {dataset}"
        files[name("curves", dataset)] = beside(title, *panels)
    return files


def _outcomes(analysis: StudyAnalysis, measure: Measure) -> Drawing | None:
    """Return Figure 1 (error) or 2 (F1); None without any comparison with RPNB."""
    counts = analysis.counts[measure]
    if not counts:
        return None
    opponents = [(count.method, _bars(count)) for count in counts]
    title = f"{RPNB}'s wins, ties and losses by {MEASURES[measure]}, one bar per method"
    return outcome_bars(title, RPNB, opponents)


def _bars(count: OutcomeCount) -> Sequence[Outcomes]:
    ours = Outcomes("ours", count.wins, count.ties, count.losses)
    printed = (count.paper_wins, count.paper_ties, count.paper_losses)
    wins, ties, losses = printed
    if wins is None or ties is None or losses is None:
        return [ours]
    return [ours, Outcomes("paper", wins, ties, losses)]


def _updates(analysis: StudyAnalysis, dataset: str) -> Drawing | None:
    """Return the panel of Figure 3 for a dataset; None without runs on it."""
    bars = [
        MeanBar(u.method, u.mean, sqrt(u.variance or 0.0), u.paper)
        for u in analysis.updates
        if u.dataset == dataset and u.mean is not None
    ]
    if not bars:
        return None
    title = f"Number of updates on {dataset}, one bar per method"
    return mean_bars(title, bars, "updates of the model", analysis.methods)


def _deviations(analysis: StudyAnalysis, measure: Measure) -> Drawing | None:
    """Return the differences from the printed values; None if none is judged."""
    deviations = [
        Deviation(each.method, each.dataset, each.z)
        for each in analysis.agreements
        if each.figure == measure and each.z is not None
    ]
    if not deviations:
        return None
    title = (
        f"Differences from the paper in {MEASURES[measure]}, in standard errors: "
        "one dot per dataset, one row per method"
    )
    return deviation_chart(title, deviations, analysis.methods)


def _ranks(analysis: StudyAnalysis, measure: Measure) -> Drawing | None:
    """Return the critical-difference diagram; None if there are too few datasets."""
    ranking = analysis.rankings[measure]
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
        analysis.methods,
    )
