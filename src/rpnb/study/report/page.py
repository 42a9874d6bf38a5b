"""The page: its parts in order, its contents, its style, all in one text."""

from collections.abc import Iterable, Mapping
from importlib import resources
from string import Template

from rpnb.study.report.content import Content
from rpnb.study.report.drawing import Drawing
from rpnb.study.report.gallery import agreement, curves, outcomes, ranks, updates
from rpnb.study.report.making import how_it_was_made
from rpnb.study.report.markup import Html, join, tag
from rpnb.study.report.palette import chart_css
from rpnb.study.report.summary import lead, summary
from rpnb.study.report.tabulation import table_1, table_2_or_3

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
    content: Content, charts: Mapping[str, Drawing], command: str | None = None
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


def frame(
    title: str, lead: Html, contents: Mapping[str, str], sections: Iterable[Html]
) -> str:
    """Return a page that needs nothing else.

    Parameters
    ----------
    title, lead
        What stands at the top.
    contents
        Anchors of the sections, the first being "summary", and their names.
    sections
        The page itself.
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
    return resources.files("rpnb.study.report").joinpath(name).read_text("utf-8")
