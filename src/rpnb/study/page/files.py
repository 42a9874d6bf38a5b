"""The files beside the page: tables, numbers of the curves, charts."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from rpnb.report.charts.drawing import Drawing
from rpnb.report.charts.png import is_available, png
from rpnb.report.charts.svg import standalone
from rpnb.study.analysis import StudyAnalysis
from rpnb.study.page.figures import in_files
from rpnb.study.text_tables import write_tables


def write_files(
    content: StudyAnalysis, charts: Mapping[str, Drawing], directory: Path
) -> list[Path]:
    """Write tables as CSV and Markdown, charts as SVG and, with matplotlib, as PNG.

    Returns
    -------
    list
        The files.
    """
    written = write_tables(
        content.records(), directory, content.datasets, content.methods
    )
    files = {"curves.csv": curves_csv(content).encode()}
    files |= chart_files(in_files(content, charts))
    return written + write_bytes(files, directory)


def chart_files(charts: Mapping[str, Drawing]) -> dict[str, bytes]:
    """Return the files of charts: SVG and, with matplotlib, PNG."""
    files = {}
    for name, drawing in charts.items():
        files[f"{name}.svg"] = standalone(drawing).encode()
        if is_available():
            files[f"{name}.png"] = png(drawing)
    return files


def write_bytes(files: Mapping[str, bytes], directory: Path) -> list[Path]:
    """Write files by their names below a folder, and return where they are."""
    written = []
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)
    return written


def curves_csv(content: StudyAnalysis) -> str:
    """Return the points of all learning curves."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        (
            *("dataset", "method", "runs", "row"),
            *("error_mean", "error_deviation", "updates_mean", "updates_deviation"),
        )
    )
    for dataset in content.datasets:
        pairs = zip(
            content.curves(dataset, "error"),
            content.curves(dataset, "updates"),
            strict=True,
        )
        for error, updates in pairs:
            columns = (
                *(error.rows, error.mean, error.deviation),
                *(updates.mean, updates.deviation),
            )
            for row, *values in zip(*(c.tolist() for c in columns), strict=True):
                shown = (f"{value:.10g}" for value in values)
                writer.writerow((dataset, error.method, error.runs, int(row), *shown))
    return file.getvalue()
