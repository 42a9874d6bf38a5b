"""The report of a study: one page that stands alone, with its tables and charts."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rpnb.study.analysis import analyse
from rpnb.study.page.figures import draw
from rpnb.study.page.files import write_files
from rpnb.study.page.page import page
from rpnb.study.records import RunRecord

__all__ = ["write"]


def write(
    records: Iterable[RunRecord],
    directory: Path,
    *,
    datasets: Sequence[str] | None = None,
    command: str | None = None,
) -> Path:
    """Write the report of a study and return its page.

    The page, `report.html`, needs no network and no other file. Beside it stand the
    tables as CSV and Markdown, the points of the learning curves as CSV, and the charts
    as SVG; as PNG too where matplotlib is installed, which `pip install 'rpnb[report]'`
    does. The same records give the same bytes, in whatever order they come.

    Parameters
    ----------
    records
        Of one study.
    directory
        Made if it is not there; files of an earlier report are replaced.
    datasets
        What the tables have rows for, whether it was run or not; by default what was.
    command
        How the study was run, as the page shall say.

    Raises
    ------
    ValueError
        If there are no records, or records of different studies.
    """
    content = analyse(records, datasets)
    charts = draw(content)
    write_files(content, charts, directory)
    path = directory / "report.html"
    path.write_text(page(content, charts, command), encoding="utf-8")
    return path
