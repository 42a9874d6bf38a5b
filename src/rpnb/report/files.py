"""Tables, charts and pages as files."""

from collections.abc import Mapping
from pathlib import Path

from rpnb.report.charts.drawing import Drawing
from rpnb.report.charts.png import is_available, png
from rpnb.report.charts.svg import standalone


def chart_files(charts: Mapping[str, Drawing]) -> dict[str, bytes]:
    """Return charts as files by name: SVG and, with matplotlib, PNG."""
    files = {}
    for name, drawing in charts.items():
        files[f"{name}.svg"] = standalone(drawing).encode()
        if is_available():
            files[f"{name}.png"] = png(drawing)
    return files


def write_files(files: Mapping[str, bytes], directory: Path) -> list[Path]:
    """Write files below a folder, which is made if missing, and return their paths."""
    written = []
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)
    return written
