"""HTML elements from Python; text that is not markup is escaped."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import final


@final
class Html(str):
    """Text that is markup, and is not escaped again."""

    __slots__ = ()


def tag(name: str, *inner: str, **attributes: str | int | None) -> Html:
    """Return an element; `class_` sets class, and attributes of None are left out.

    Examples
    --------
    >>> tag("a", "p < q", href="#top", class_="far", title=None)
    '<a href="#top" class="far">p &lt; q</a>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{pairs}>{join(inner)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Return parts joined into one; those that are not markup are escaped."""
    return Html(between.join(_safe(part) for part in parts))


def _safe(text: str) -> str:
    return text if isinstance(text, Html) else escape(text, quote=False)


def slug(name: str) -> str:
    """Return a name for anchors and files, of lower-case letters, digits and hyphens.

    Examples
    --------
    >>> slug("Tic_Tac_Toe")
    'tic-tac-toe'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-") or "unnamed"


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def listed(names: Sequence[str]) -> str:
    """Return names as in a sentence: with commas, and "and" before the last."""
    return " and ".join((", ".join(names[:-1]), names[-1]) if names[1:] else names)


def section(
    anchor: str, title: str, *inner: str, fold: bool = False, half: bool = False
) -> Html:
    """Return a section of the page, with an anchor and a heading.

    With `fold`, readers can fold it, and on a narrow screen it is folded at first. With
    `half`, it takes half of a wide page.
    """
    heading = tag("h2", title, id=f"{anchor}-title")
    parts: tuple[str, ...] = (heading, *inner)
    if fold:
        element = tag("details", tag("summary", heading), *inner, class_="fold")
        # Open in the markup, so that everything is visible without scripts.
        parts = (Html(element.replace("<details", "<details open", 1)),)
    named = f"{anchor}-title"
    side = "half" if half else None
    return tag("section", *parts, id=anchor, class_=side, aria_labelledby=named)


def choice(label: str, options: Mapping[str, str]) -> Html:
    """Return panels of which one is visible at a time, initially the first.

    `label` names what is chosen. Without scripts, all but the first are folded.
    """
    panels = []
    for place, (name, inner) in enumerate(options.items()):
        if place == 0:
            panels.append(tag("div", inner, data_name=name))
        else:
            panels.append(tag("details", tag("summary", name), inner, data_name=name))
    return tag("div", *panels, class_="choice", data_label=label)


def table(
    caption: str,
    head: Sequence[str],
    bodies: Iterable[str],
    *,
    label: str,
    align: str | None = None,
) -> Html:
    """Return a table in an element that scrolls, by keyboard too.

    `align` has one letter per column, "l" or "r"; by default only the first is left.
    """
    letters = align or "l".ljust(len(head), "r")
    columns = join(
        tag("th", name, scope="col", class_="text" if letter == "l" else None)
        for name, letter in zip(head, letters, strict=True)
    )
    inner = tag("table", tag("thead", tag("tr", columns)), *bodies, aria_label=label)
    # An element that scrolls needs a label, and must be reachable by keyboard.
    box = tag(
        "div", inner, class_="scroll", tabindex="0", role="region", aria_label=label
    )
    return tag("figure", tag("figcaption", caption), box, class_="tabular")


def row(name: str, cells: Iterable[str], *, best: bool = False) -> Html:
    """Return a table row: its name, then its cells, elements or their texts."""
    elements = (c if isinstance(c, Html) else tag("td", c) for c in cells)
    marked = "best" if best else None
    return tag("tr", tag("th", name, scope="row"), *elements, class_=marked)


def best_bold(
    values: Sequence[float], texts: Sequence[str], *, lowest: bool = False
) -> list[str]:
    """Return texts as cells of a table, that of the highest or lowest value in bold.

    Nothing is bold if there is only one value; NaN is never the best.
    """
    there = [value for value in values if value == value]
    if len(values) < 2 or not there:
        return list(texts)
    best = min(there) if lowest else max(there)
    return [
        tag("td", tag("b", text)) if value == best else text
        for value, text in zip(values, texts, strict=True)
    ]


def figure(chart: Html, caption: str, *more: str) -> Html:
    """Return a chart with its caption."""
    return tag("figure", chart, tag("figcaption", caption), *more)
