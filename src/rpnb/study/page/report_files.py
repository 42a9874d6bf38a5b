"""The files of a report: page, tables, learning curves and charts."""

import csv
import io
from pathlib import Path

from rpnb.report.written_files import chart_files, write_files
from rpnb.study.analysis import StudyAnalysis
from rpnb.study.page import report_page
from rpnb.study.page.charts import draw, in_files
from rpnb.study.text_tables import table_files


def write_report(
    analysis: StudyAnalysis, directory: Path, command: str | None = None
) -> Path:
    """Write the report of a study and return the path of its page.

    The page, `report.html`, needs no network and no other file. Next to it are the
    tables as CSV and Markdown, the points of the learning curves as CSV, and the charts
    as SVG, and as PNG if matplotlib is installed (`pip install 'rpnb[report]'`). The
    bytes depend on the records, not on their order.

    The directory is created if needed, and files of an earlier report are replaced.
    `command`, the command line that ran the study, is shown on the page.
    """
    charts = draw(analysis)
    files = table_files(analysis)
    files["curves.csv"] = curves_csv(analysis).encode()
    files |= chart_files(in_files(analysis, charts))
    files["report.html"] = report_page(analysis, charts, command).encode()
    return write_files(files, directory)[-1]


def curves_csv(analysis: StudyAnalysis) -> str:
    """Return the points of all learning curves as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        (
            *("dataset", "method", "runs", "row"),
            *("error_mean", "error_deviation", "updates_mean", "updates_deviation"),
        )
    )
    for dataset, curves in analysis.curves.items():
        for error, updates in zip(curves.error, curves.updates, strict=True):
            columns = (
                *(error.rows, error.mean, error.deviation),
                *(updates.mean, updates.deviation),
            )
            for row, *values in zip(*(c.tolist() for c in columns), strict=True):
                shown = (f"{value:.10g}" for value in values)
                writer.writerow((dataset, error.method, error.runs, int(row), *shown))
    return file.getvalue()
