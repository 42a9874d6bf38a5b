"""The page: its parts in order, its contents, its style, all in one text."""

from collections.abc import Mapping

from rpnb.report.charts.drawing import Drawing
from rpnb.report.page import frame
from rpnb.study.analysis import StudyAnalysis
from rpnb.study.page.chart_sections import agreement, curves, outcomes, ranks, updates
from rpnb.study.page.provenance import how_it_was_made
from rpnb.study.page.summary import lead, summary
from rpnb.study.page.tabulation import table_1, table_2_or_3

TITLE = "RPNB: the paper’s study, run again"

_CONTENTS = {
    "summary": "Summary",
    "table-1": "Table 1: datasets",
    "table-2": "Table 2: error rate",
    "table-3": "Table 3: F1 score",
    "figure-1": "Figure 1: wins by error",
    "figure-2": "Figure 2: wins by F1",
    "figure-3": "Figure 3: updates",
    "ranks": "Ranks",
    "curves": "Learning curves",
    "agreement": "Agreement",
    "making": "How it was made",
}


def page(
    content: StudyAnalysis, charts: Mapping[str, Drawing], command: str | None = None
) -> str:
    """Return the report as one HTML text that needs nothing else."""
    sections = (
        summary(content),
        table_1(content),
        table_2_or_3(content, "error"),
        table_2_or_3(content, "f1"),
        outcomes(content, charts, "error"),
        outcomes(content, charts, "f1"),
        updates(content, charts),
        ranks(content, charts),
        curves(content, charts),
        agreement(content, charts),
        how_it_was_made(content, command),
    )
    return frame(TITLE, lead(content), _CONTENTS, sections)
