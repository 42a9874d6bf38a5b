"""A self-contained HTML page: title, table of contents, style, scripts and sections."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from string import Template

from rpnb.report.charts.palette import chart_css
from rpnb.report.html import Html, join, tag


def frame(
    title: str, lead: Html, contents: Mapping[str, str], sections: Iterable[Html]
) -> str:
    """Return a self-contained HTML page, with title and lead at the top.

    `contents` maps the anchors of the sections, the first being "summary", to their
    names. The security policy of the page blocks all requests, and all scripts but its
    own.
    """
    links = (tag("a", text, href=f"#{anchor}") for anchor, text in contents.items())
    code = script()
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return Template(asset("page.html")).substitute(
        title=join([title]),
        policy=policy,
        style=f"{asset('page.css')}{chart_style()}\n",
        script=code,
        lead=lead,
        contents=tag("ul", *(tag("li", link) for link in links)),
        sections=join(sections, "\n"),
    )


@cache
def script() -> str:
    """Return the scripts of a page: uPlot with its licence, the charts, the page."""
    uplot = asset("uPlot.iife.min.js")
    # Its first line is an address; its licence must stay with every copy.
    code = uplot.partition("\n")[2]
    licence = f"/* uPlot\n{asset('uPlot.LICENSE').strip()}\n*/\n"
    return f"\n{licence}{code}\n{asset('charts.js')}{asset('page.js')}"


@cache
def chart_style() -> str:
    """Return the style sheet of charts, live and static, for any page."""
    return f"{asset('uPlot.min.css')}\n{asset('charts.css')}{chart_css()}"


@cache
def asset(name: str) -> str:
    """Return the text of a file in the folder `assets`."""
    folder = resources.files("rpnb.report").joinpath("assets")
    return folder.joinpath(name).read_text("utf-8")
