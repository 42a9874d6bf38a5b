"""Charts as files, and files that are written together or not at all."""

from collections.abc import Mapping
from pathlib import Path

from rpnb.atomic import AtomicFile
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
    """Write files to a folder, which is created if needed, and return their paths.

    A file gets its name only after all are written: if writing fails, files from before
    stay as they were.
    """
    pending: list[AtomicFile] = []
    try:
        for name, data in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pending.append(AtomicFile(path))
            pending[-1].temporary.write_bytes(data)
        for file in pending:
            file.commit()
    finally:
        for file in pending:
            file.discard()
    return [file.path for file in pending]
