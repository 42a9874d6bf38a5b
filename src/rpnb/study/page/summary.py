"""The summary at the top of the page: where we agree with the paper."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rpnb.datasets import paper
from rpnb.report.html import Html, capital, join, listed, section, slug, tag
from rpnb.study.agreement import Agreement
from rpnb.study.analysis import MEASURES, StudyAnalysis
from rpnb.study.page.verdicts import FIGURES, LOOKS, badge, kind, note_letters, sign
from rpnb.study.table_rows import Measure

_TABLES: Mapping[Measure, str] = {"error": "Table 2", "f1": "Table 3"}
_JUDGED = ("close", "near", "explained", "differs")


def summary_section(analysis: StudyAnalysis) -> Html:
    """Return the summary: counts, a grid of verdicts, and a list of differences."""
    letters = note_letters(analysis)
    return section(
        "summary",
        "Where we agree with the paper",
        _tiles(analysis.agreements, letters),
        tag("p", _verdict_on_wins(analysis)),
        tag("div", *(_grid(analysis, m, letters) for m in _TABLES), class_="grids"),
        tag("h3", "What differs"),
        _differences(analysis.agreements, letters),
    )


def lead(analysis: StudyAnalysis) -> Html:
    """Return the sentences below the page's title."""
    counts = Counter(map(kind, analysis.agreements))
    judged = sum(counts[name] for name in _JUDGED)
    agree = counts["close"] + counts["near"]
    known = {shape.dataset for shape in paper.table_1()}
    found = sum(name in known for name in analysis.datasets)
    text = (
        f"{agree} of {judged} printed values agree with ours within three standard "
        f"errors; {counts['explained']} differ for a known reason, "
        f"{counts['differs']} for an unknown one."
        if judged
        else "No printed value could be judged."
    )
    scope = (
        f"Nguyen, Nguyen, Pham, Liew and Bezdek (2017), section 3, on {found} of its "
        f"{len(known)} datasets."
    )
    few = analysis.few()
    if few is None:
        first = tag("p", text, class_="lead")
    else:  # the warning comes first, and the counts are not a headline
        first = join((tag("p", few, class_="lead"), tag("p", text)))
    return join((first, tag("p", scope, class_="muted")))


def _tiles(agreements: Sequence[Agreement], letters: Mapping[str, str]) -> Html:
    counts = Counter(map(kind, agreements))
    used = [
        letters[e.reason] for e in agreements if kind(e) == "explained" and e.reason
    ]
    known = "–".join(dict.fromkeys((min(used), max(used)))) if used else None
    tiles = []
    for name, look in LOOKS.items():
        if counts[name] or name in ("close", "differs"):
            mark = known if name == "explained" and known else look.sign
            count = tag("b", tag("span", mark, aria_hidden="true"), f" {counts[name]}")
            # Colours are for what is there: none of a kind is no alarm.
            style = look.style if counts[name] else "none"
            tiles.append(tag("li", count, look.words, class_=style))
    return tag("ul", *tiles, class_="tiles")


def _verdict_on_wins(analysis: StudyAnalysis) -> str:
    counts = [c for c in analysis.counts["error"] if c.paper_wins is not None]
    if not counts:
        return "RPNB was not compared with the paper's other methods."
    if not analysis.can_reject():
        return "Wins and losses need at least 6 permutations."
    ahead = [c.method for c in counts if c.wins > c.losses]
    behind = [c.method for c in counts if c.wins <= c.losses]
    if not behind:
        return (
            "By error rate RPNB wins on more datasets than it loses against each of "
            f"the {len(ahead)} other methods, as in the paper."
        )
    return (
        "In the paper RPNB wins on more datasets than it loses against every other "
        f"method by error rate; here it does not against {listed(behind)}."
    )


def _grid(
    analysis: StudyAnalysis, measure: Measure, letters: Mapping[str, str]
) -> Html:
    """Return a table of the verdicts on a measure: datasets down, methods across."""
    cells = {
        (each.dataset, each.method): each
        for each in analysis.agreements
        if each.figure == measure
    }
    columns = [tag("th", *_breakable(name), scope="col") for name in paper.METHODS]
    rows = []
    for name in analysis.datasets:
        row = [cells.get((name, method)) for method in paper.METHODS]
        if any(row):
            anchor = tag("a", name, href=f"#agreement-{slug(name)}")
            signs = (_cell(each, letters) for each in row if each is not None)
            rows.append(tag("tr", tag("th", anchor, scope="row"), *signs))
    judged = [k for each in cells.values() if (k := kind(each)) in _JUDGED]
    good = sum(name in ("close", "near") for name in judged)
    words = (
        tag("b", f"{_TABLES[measure]}, {MEASURES[measure]}"),
        f": {good} of {len(judged)} agree",
    )
    head = tag("thead", tag("tr", tag("td"), *columns))
    body = tag("tbody", *rows)
    if measure == "error":
        return tag("table", tag("caption", *words), head, body, class_="verdicts")
    # On a narrow screen, only one grid is unfolded at first.
    grid = tag("table", head, body, class_="verdicts", aria_label=_TABLES[measure])
    folded = tag("details", tag("summary", *words), grid, class_="fold")
    return Html(folded.replace("<details", "<details open", 1))


def _breakable(name: str) -> list[str]:
    """Return a method's name, which may be broken before a capital in a narrow column.

    >>> _breakable("OnlineBagging")
    ['Online', '<wbr>', 'Bagging']
    """
    first, *others = re.split(r"(?<=[a-z])(?=[A-Z])", name)
    return [first, *(part for word in others for part in (Html("<wbr>"), word))]


def _cell(each: Agreement, letters: Mapping[str, str]) -> Html:
    """Return the cell of a table that shows an agreement as a sign and in words."""
    look = LOOKS[kind(each)]
    shown = tag("span", sign(each, letters), aria_hidden="true")
    spoken = tag("span", look.words.split(":")[0], class_="hidden")
    return tag("td", shown, spoken, class_=look.style, title=in_words(each))


def in_words(each: Agreement) -> str:
    """Return an agreement as one line: ours, the paper's, and the distance."""
    what = f"{each.dataset}, {each.method}, {FIGURES[each.figure]}"
    if each.ours is None:
        return f"{what}: not run; paper {each.paper:.4g}"
    z = "" if each.z is None else f"{each.z:+.2f}".replace("-", "\N{MINUS SIGN}")
    apart = f", {z} standard errors" if z else ""
    return f"{what}: ours {each.ours:.4g}, paper {each.paper:.4g}{apart}"


def _differences(agreements: Sequence[Agreement], letters: Mapping[str, str]) -> Html:
    far = [each for each in agreements if each.verdict == "differs"]
    if not far:
        return tag("p", "No judged value differs by more than three standard errors.")
    items = [
        tag("li", badge(each, letters), in_words(each))
        for each in far
        if each.reason is None
    ]
    for reason in letters:
        cells = [each for each in far if each.reason == reason]
        if cells:
            text = f"{capital(reason)}: {'; '.join(_places(cells))}."
            items.append(tag("li", badge(cells[0], letters), text))
    return tag("ul", *items, class_="reasons")


def _places(cells: Sequence[Agreement]) -> Iterator[str]:
    """Yield a text for each method and figure that names its datasets."""
    columns = dict.fromkeys((each.method, each.figure) for each in cells)
    for method, figure in columns:
        names = [e.dataset for e in cells if (e.method, e.figure) == (method, figure)]
        what = f"{method}, {FIGURES[figure]}"
        many = f"{len(names)} datasets"
        yield f"{what} on {many if len(names) > 6 else listed(names)}"
