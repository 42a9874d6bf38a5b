"""The report of a study as one self-contained HTML page."""

from collections.abc import Mapping

from rpnb.report.charts.drawing import Drawing
from rpnb.report.frame import frame
from rpnb.study.analysis import StudyAnalysis
from rpnb.study.page.chart_sections import agreement, curves, outcomes, ranks, updates
from rpnb.study.page.provenance import provenance_section
from rpnb.study.page.summary import lead, summary_section
from rpnb.study.page.table_sections import table_1, table_2_or_3

TITLE = "RPNB: the paper’s study, reproduced"

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
    "provenance": "How it was made",
}


def report_page(
    analysis: StudyAnalysis, charts: Mapping[str, Drawing], command: str | None = None
) -> str:
    """Return the report as one self-contained HTML page."""
    sections = (
        summary_section(analysis),
        table_1(analysis),
        table_2_or_3(analysis, "error"),
        table_2_or_3(analysis, "f1"),
        outcomes(analysis, charts, "error"),
        outcomes(analysis, charts, "f1"),
        updates(analysis, charts),
        ranks(analysis, charts),
        curves(analysis),
        agreement(analysis, charts),
        provenance_section(analysis, command),
    )
    return frame(TITLE, lead(analysis), _CONTENTS, sections)
