"""A self-contained HTML page: title, table of contents, style and sections."""

from collections.abc import Iterable, Mapping
from importlib import resources
from string import Template

from rpnb.report.charts.palette import chart_css
from rpnb.report.html import Html, join, tag


def frame(
    title: str, lead: Html, contents: Mapping[str, str], sections: Iterable[Html]
) -> str:
    """Return a self-contained HTML page, with title and lead at the top.

    `contents` are the anchors of the sections, the first being "summary", and their
    names.
    """
    links = (tag("a", text, href=f"#{anchor}") for anchor, text in contents.items())
    return Template(_read("page.html")).substitute(
        title=join([title]),
        style=f"{_read('style.css')}{chart_css()}\n",
        lead=lead,
        contents=tag("ul", *(tag("li", link) for link in links)),
        sections=join(sections, "\n"),
    )


def _read(name: str) -> str:
    return resources.files("rpnb.report").joinpath(name).read_text("utf-8")
