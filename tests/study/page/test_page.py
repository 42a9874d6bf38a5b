"""The page of a study: valid HTML with all parts, links and values."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rpnb.datasets import paper
from rpnb.report.charts.drawing import Dot
from rpnb.report.table_text import DASH
from rpnb.study.analysis import analyse
from rpnb.study.page import report_page
from rpnb.study.page.charts import draw
from rpnb.study.page.report_files import write_report
from rpnb.study.page.verdicts import LOOKS, kind
from rpnb.study.run_records import RunRecord
from rpnb.study.text_tables import terminal_tables
from study.report_records import like_the_paper, make_record

VOID = {"meta", "link", "img", "br", "hr", "input", "wbr"}


class Outline(HTMLParser):
    """Reads a page: its tags and whether they match, its anchors and links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        if values.get("id"):
            self.ids.append(values["id"] or "")
        if tag == "a":
            self.links.append(values.get("href") or "")
        for name in ("src", "srcset", "data", "action", "poster"):
            if name in values:
                self.outside.append(f"{tag} {name}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def show(records: list[RunRecord], command: str | None = None) -> str:
    analysis = analyse(records)
    return report_page(analysis, draw(analysis), command)


def section(text: str, anchor: str) -> str:
    found = re.search(rf'<section id="{anchor}".*?</section>', text, re.DOTALL)
    assert found is not None, anchor
    return found.group()


def words(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", markup))


@pytest.fixture(scope="module")
def full() -> list[RunRecord]:
    return like_the_paper()


@pytest.fixture(scope="module")
def text(full: list[RunRecord]) -> str:
    return show(full, "rpnb paper")


def test_the_page_is_html_whose_tags_match(text: str) -> None:
    outline = Outline(text)
    assert outline.open == []
    assert text.startswith("<!DOCTYPE html>")
    assert '<html lang="en">' in text


def test_the_page_needs_nothing_from_outside(text: str) -> None:
    outline = Outline(text)
    assert outline.outside == []
    assert not {"link", "iframe", "object", "img"} & set(outline.tags)
    assert "default-src 'none'" in text
    markup = re.sub("<script>.*?</script>", "", text, flags=re.DOTALL)
    for foreign in ("http:", "https:", "//", "url(", "@import", "@font-face"):
        assert foreign not in markup


def test_every_link_leads_to_one_place_on_the_page(text: str) -> None:
    outline = Outline(text)
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.links
    for link in outline.links:
        assert link.startswith("#")
        assert link[1:] in outline.ids


def test_every_part_is_there_and_in_the_analysiss(text: str) -> None:
    parts = [
        *("summary", "table-1", "table-2", "table-3", "figure-1", "figure-2"),
        *("figure-3", "ranks", "curves", "agreement", "provenance"),
    ]
    assert re.findall(r'<section id="([^"]+)"', text) == parts
    analysiss = text[text.index("<nav") : text.index("</nav>")]
    assert re.findall(r'href="#([^"]+)"', analysiss) == parts


def test_every_dataset_is_in_every_table_and_has_its_curves(text: str) -> None:
    anchors = (
        "summary",
        "table-1",
        "table-2",
        "table-3",
        "curves",
        "agreement",
        "provenance",
    )
    for anchor in anchors:
        shown = words(section(text, anchor))
        for shape in paper.table_1():
            assert f" {shape.dataset} " in shown, (anchor, shape.dataset)
    assert section(text, "curves").count("<svg") == 66


def test_tables_show_our_mean_and_variance_and_the_printed_ones() -> None:
    records = [
        make_record("Iris", "RPNB", r, error=error, f1=0.9)
        for r, error in enumerate((0.08, 0.10))
    ]
    cells = words(section(show(records), "table-2")).split()
    for value in ("0.0900", "2.00E-04", "0.0727", "6.62E-05"):
        assert value in cells
    cells = words(section(show(records), "table-3")).split()
    for value in ("0.9000", "0.00E+00", "0.9274"):
        assert value in cells


def test_a_missing_run_is_a_dash_beside_the_printed_value() -> None:
    shown = section(show([make_record("Iris", "RPNB")]), "table-2")
    row = shown[shown.index(">Iris<") :]
    arow = re.findall(r'<td class="result">.*?</td>', row)[1]
    assert words(arow).split()[0] == DASH
    assert "0.1240" in arow
    full = section(show(like_the_paper(["Iris"])), "table-2")
    assert f"<span>{DASH}" not in full


def test_arrows_show_which_method_is_better() -> None:
    records = [
        make_record("Iris", method, r, error=error + 0.001 * r, f1=1 - error)
        for method, error in (("RPNB", 0.2), ("AROW", 0.3), ("OGD", 0.1))
        for r in range(8)
    ]
    shown = section(show(records), "table-2")
    cells = re.findall(r'<td class="result">.*?</td>', shown)
    arrows = [words(cell).split()[1] for cell in cells[:3]]
    assert arrows[1:] == ["↑", "↓"]
    assert arrows[0] not in "↑↓"


def test_the_grid_has_a_sign_for_each_printed_value(
    full: list[RunRecord], text: str
) -> None:
    analysis = analyse(full)
    shown = section(text, "summary")
    for name, look in LOOKS.items():
        count = sum(
            kind(each) == name and each.figure != "updates"
            for each in analysis.agreements
        )
        assert len(re.findall(rf'<td class="{look.style}"', shown)) == count
    assert shown.count('scope="row"') == 66


def test_the_counts_of_verdicts_are_those_of_the_agreements(
    full: list[RunRecord], text: str
) -> None:
    analysis = analyse(full)
    shown = section(text, "summary")
    found = re.findall(r'<li class="(\w+)"><b>.*?</span> (\d+)</b>(.*?)</li>', shown)
    tiles = {words: (style, int(count)) for style, count, words in found}
    for name in ("close", "differs"):
        expected = sum(kind(each) == name for each in analysis.agreements)
        style, count = tiles[LOOKS[name].words]
        assert count == expected
        # Where nothing differs, nothing is in the colour of what does.
        assert style == (LOOKS[name].style if expected else "none")
    assert sum(count for _, count in tiles.values()) == len(analysis.agreements)


def test_verdicts_of_each_kind_are_shown_by_sign_and_word() -> None:
    records = like_the_paper(["Iris", "Zoo"], ["RPNB", "OnlineBagging"])
    far = [make_record("Zoo", "PA", r, error=0.9 + 0.001 * r, n=101) for r in range(3)]
    records = [r for r in records if (r.dataset, r.method) != ("Iris", "RPNB")]
    iris = [make_record("Iris", "RPNB", r, error=0.4 + 0.001 * r) for r in range(3)]
    text = show([*records, *far, *iris])
    rows = words(section(text, "agreement"))
    assert "differs, for an unknown reason" in rows  # Zoo, PA
    assert "differs, for a known reason, note" in re.sub(r"\s+", " ", rows)  # Iris
    assert "missing" in rows
    listed = words(section(text, "summary"))
    assert "Zoo, PA, error: ours 0.901, paper 0.2931" in listed


def test_the_agreement_has_a_line_for_each_printed_value(text: str) -> None:
    lines = re.findall(r'<tr><th scope="row">', section(text, "agreement"))
    counts = 13  # the folded table: 6 methods by 2 measures, updates apart
    assert len(lines) >= 2 * 198 + 2 + counts - 1
    assert "247.4" in section(text, "agreement")


def test_wins_are_drawn_next_to_the_papers(text: str) -> None:
    shown = section(text, "figure-1")
    for tip in ("paper: 24 wins of RPNB against AROW", "paper: 3 losses of RPNB"):
        assert tip in shown
    assert re.search(r"ours: \d+ wins of RPNB against AROW", shown)


def test_our_wins_and_losses_are_those_of_the_records() -> None:
    # RPNB is better than AROW on two datasets and worse on one, always.
    gaps = {"Iris": 0.1, "Zoo": 0.1, "Tae": -0.1}
    records = [
        make_record(name, method, r, error=error + 0.001 * r, f1=1 - error)
        for name, gap in gaps.items()
        for method, error in (("RPNB", 0.3), ("AROW", 0.3 + gap))
        for r in range(8)
    ]
    shown = section(show(records), "figure-1")
    assert "ours: 2 wins of RPNB against AROW" in shown
    assert "ours: 1 loss of RPNB against AROW" in shown


def test_each_deviation_chart_shows_its_own_measure() -> None:
    records = [make_record("Iris", "RPNB", r, error=0.0727, f1=0.5) for r in range(3)]
    analysis = analyse(records)
    charts = draw(analysis)
    for measure in ("error", "f1"):
        marks = charts[f"deviations_{measure}"].marks
        tips = [mark.tip for mark in marks if isinstance(mark, Dot) and mark.tip]
        (z,) = (
            each.z
            for each in analysis.agreements
            if each.figure == measure and each.z is not None
        )
        assert tips == [f"RPNB, Iris: {z:+.1f}"]


@pytest.mark.parametrize(
    ("z", "name"), [(1.9, "close"), (2.5, "near"), (3.5, "differs")]
)
def test_the_look_of_a_verdict_follows_its_distance(z: float, name: str) -> None:
    # One run is judged by the printed variance, for both sides.
    printed = next(
        r for r in paper.results() if (r.dataset, r.method) == ("Zoo", "AROW")
    )
    apart = z * (printed.error_var * 1.1) ** 0.5
    record = make_record("Zoo", "AROW", error=printed.error_mean + apart, n=101)
    (mine,) = (
        each
        for each in analyse([record]).agreements
        if (each.method, each.figure) == ("AROW", "error")
    )
    assert mine.z == pytest.approx(z)
    assert kind(mine) == name


def test_a_missing_run_does_not_count_as_disagreement() -> None:
    text = show([make_record("Iris", "AROW", error=0.12, f1=0.88)])
    shown = words(section(text, "summary"))
    assert shown.count(": 1 of 1 agree") == 2
    assert "2 of 2 printed values agree" in text


@pytest.mark.parametrize(("runs", "cautious"), [(1, True), (4, True), (5, False)])
def test_few_permutations_temper_the_headline(runs: int, cautious: bool) -> None:
    records = [make_record("Iris", "AROW", r, error=0.12, f1=0.88) for r in range(runs)]
    text = show(records)
    headline = text.split('class="lead">')[1].split("</p>")[0]
    assert ("this is a first look, not a comparison" in headline) == cautious
    assert ("printed values agree" in headline) != cautious
    (counts,) = [
        table
        for table in terminal_tables(analyse(records), ["AROW"])
        if "standard errors" in table.title
    ]
    assert bool(counts.notes) == cautious


def test_a_difference_names_its_measure() -> None:
    records = [make_record("Zoo", "PA", r, error=0.2931, f1=0.9) for r in range(3)]
    listed = words(section(show(records), "summary"))
    assert "Zoo, PA, F1: ours 0.9, paper 0.4969" in listed


def test_labels_are_escaped() -> None:
    wild = '<img src=x onerror="alert(1)">&'
    records = [
        make_record(wild, method, r, error=0.1 + r / 100, source=wild, version=wild)
        for method in ("RPNB", wild)
        for r in range(2)
    ]
    text = show(records, command=wild)
    outline = Outline(text)
    assert "img" not in outline.tags
    assert outline.open == []
    assert "&lt;img" in text


def test_the_page_shows_its_provenance() -> None:
    records = [
        make_record("Ecoli", "RPNB", source="file", n=336, p=7, M=8),
        make_record("GM", "RPNB", source="drawn with seed 0", n=1000, p=1000),
        make_record("Twonorm", "RPNB", source="file", n=7400, p=20, M=2),
    ]
    shown = words(section(show(records, "rpnb paper --quick"), "provenance"))
    assert "rpnb paper --quick" in shown
    assert "rpnb 0.1.0" in shown
    assert "decimal points lost" in shown
    draws = shown[shown.index("Fresh draws") : shown.index("The methods")]
    assert "GM" in draws
    assert "Twonorm" not in draws


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.04, "0.0 s"),
        (89.9, "89.9 s"),
        (90.0, "2 min"),
        (5399.0, "90 min"),
        (5400.0, "1.5 h"),
    ],
)
def test_durations_are_seconds_then_minutes_then_hours(
    seconds: float, shown: str
) -> None:
    records = [replace(make_record(), seconds=seconds)]
    page = words(section(show(records), "provenance"))
    assert f"{shown} in sequence" in page


def test_data_as_published_claim_no_change() -> None:
    records = [make_record("Ecoli", reading="true", n=336, p=7, M=8)]
    shown = words(section(show(records), "provenance"))
    assert "decimal points lost" not in shown
    assert "as published" in shown


@pytest.mark.parametrize(
    ("method", "error", "agree"), [("RPNB", 0.08, 2), ("AROW", 0.12, 2), ("X", 0.1, 0)]
)
def test_one_dataset_one_method_one_permutation(
    method: str, error: float, agree: int
) -> None:
    text = show([make_record("Iris", method, error=error, f1=1 - error)])
    assert Outline(text).open == []
    tiles = words(section(text, "summary"))
    assert f"✓ {agree} agrees" in re.sub(r"\s+", " ", tiles)
    assert "nan" not in words(text).lower().split()


def test_one_count_of_updates_has_no_variance_to_be_judged_by() -> None:
    text = show([make_record("GM", "RPNB", error=0.03, n=1000)])
    line = words(section(text, "agreement"))
    assert re.search(r"updates\s+30.0\s+29.6\s+\+0.4\s+—\s+\?\s+not judged", line)


def test_a_dataset_that_the_paper_does_not_have() -> None:
    text = show([make_record("Mine", "RPNB", r, n=40) for r in range(2)])
    assert "Mine" in words(section(text, "table-2"))
    assert "0 of its 33 datasets" in words(text)


def test_a_dataset_that_was_asked_for_but_not_run_has_rows_of_dashes() -> None:
    analysis = analyse([make_record("Zoo", "RPNB", n=101)], ["Iris", "Zoo"])
    charts = draw(analysis)
    assert "error/zoo" in charts
    assert "error/iris" not in charts
    text = report_page(analysis, charts)
    assert Outline(text).open == []
    rows = section(text, "table-1")
    assert words(rows[rows.index(">Iris<") :]).split()[1:3] == [DASH, "(4)"]
    assert f"Iris {DASH} not run" in re.sub(r"\s+", " ", words(section(text, "curves")))
    assert section(text, "summary").count('class="missing"') == 1 + 12 + 10


def test_too_few_permutations_give_a_warning() -> None:
    def warned(permutations: int) -> bool:
        records = like_the_paper(["Iris", "Zoo"], permutations=permutations)
        return "fewer than 6 permutations" in section(show(records), "figure-1")

    assert warned(5)
    assert not warned(6)


def test_the_same_records_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    records = like_the_paper(["Iris", "GM", "Zoo"], permutations=3)
    first = write_report(analyse(records), tmp_path / "a")
    second = write_report(analyse(reversed(records)), tmp_path / "b")
    mine, other = (
        {p.relative_to(d): p.read_bytes() for p in d.rglob("*") if p.is_file()}
        for d in (first.parent, second.parent)
    )
    assert mine == other
    assert first.name == "report.html"
    changed = [*records[1:], make_record("Iris", "RPNB", 0, error=0.5)]
    third = write_report(analyse(changed), tmp_path / "c")
    assert third.read_bytes() != first.read_bytes()


def test_no_records_and_mixed_studies_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        analyse([])
    with pytest.raises(ValueError, match="one study"):
        analyse([make_record(version="1"), make_record(version="2")])


@pytest.mark.parametrize(("permutations", "told"), [(3, False), (10, True)])
def test_wins_are_shown_from_six_permutations_on(permutations: int, told: bool) -> None:
    records = like_the_paper(["Iris"], ["RPNB", "PA"], permutations)
    analysis = analyse(records)
    page = report_page(analysis, draw(analysis))
    assert ("Wins and losses need at least 6 permutations" in page) is not told
