"""The page, the tables of the terminal and the CSV files show the same figures.

All three are made from one analysis of a study in which some values agree with the
paper and some do not, and some were not run; each figure that is shown is found in it.
"""

import csv
import io
import re
from html import unescape

import pytest

from rpnb.report.table_text import DASH
from rpnb.study.agreement import Agreement
from rpnb.study.analysis import MEASURES, analyse
from rpnb.study.page import report_page
from rpnb.study.page.charts import draw
from rpnb.study.page.verdicts import LOOKS, kind
from rpnb.study.table_rows import ResultRow
from rpnb.study.text_tables import (
    agreement_table,
    outcomes_table,
    ranking_table,
    results_table,
    shapes_table,
    table_files,
    updates_table,
)
from study.report_records import make_record, mixed_study

ANALYSIS = analyse(mixed_study())
#: Without the method that was run on one dataset, so that methods can be ranked.
RANKED = analyse([each for each in mixed_study() if each.method != "Mine"])
PAGE = report_page(ANALYSIS, draw(ANALYSIS), "rpnb paper")
ARROWS = {"worse": "↑", "better": "↓", "equal": "", None: ""}


def section(anchor: str, page: str = PAGE) -> str:
    found = re.search(rf'<section id="{anchor}".*?</section>', page, re.DOTALL)
    assert found is not None, anchor
    return re.sub("<svg.*?</svg>", "", found.group(), flags=re.DOTALL)


def cells_of(markup: str) -> list[list[str]]:
    """Return the cells of each row of a table, as markup."""
    rows = re.findall("<tr>(.*?)</tr>", markup, re.DOTALL)
    return [re.findall(r"<t[dh][^>]*>.*?</t[dh]>", row, re.DOTALL) for row in rows]


def words(markup: str) -> str:
    return unescape(re.sub("<[^>]+>", " ", markup)).replace("\N{NO-BREAK SPACE}", " ")


def number(text: str) -> float | None:
    """Return the value of a figure, whose thousands may be divided; None for a dash."""
    text = re.sub(r"[\s,]", "", text).replace("\N{MINUS SIGN}", "-")
    return None if text == DASH else float(text)


def shows(text: str, value: float | None, digits: int) -> bool:
    """Return whether a figure shows a value with some decimals, or a dash for None."""
    found = number(text)
    if found is None or value is None:
        return found is value is None
    return abs(found - value) <= 0.50001 * 10.0**-digits


def expected_words(row: ResultRow) -> tuple[list[str], list[str]]:
    """Return our value and the paper's from a cell of Table 2 or 3."""

    def words_of(mean: float | None, variance: float | None, arrow: str) -> list[str]:
        if mean is None:
            return [DASH]
        spread = DASH if variance is None else f"{variance:.2E}"
        return [word for word in (f"{mean:.4f}", arrow, spread) if word]

    return (
        words_of(row.mean, row.variance, ARROWS[row.versus_rpnb]),
        words_of(row.paper_mean, row.paper_variance, ARROWS[row.paper_versus_rpnb]),
    )


@pytest.mark.parametrize(("measure", "place"), [("error", 2), ("f1", 3)])
def test_results_are_the_same_everywhere_and_the_best_is_bold(
    measure: str, place: int
) -> None:
    rows = {(row.dataset, row.method): row for row in ANALYSIS.results[measure]}  # type: ignore[index]
    names = ANALYSIS.methods
    assert len(rows) == len(ANALYSIS.datasets) * len(names)
    table = results_table(ANALYSIS, measure)  # type: ignore[arg-type]
    assert table.header == ("dataset", "", *names)
    on_page = {
        words(row[0]).strip(): row[2:]
        for row in cells_of(section(f"table-{place}"))
        if len(row) == len(names) + 2
    }
    assert set(on_page) >= set(ANALYSIS.datasets)
    for i, dataset in enumerate(ANALYSIS.datasets):
        ours, printed = table.rows[2 * i : 2 * i + 2]
        assert (ours[:2], printed[:2]) == ((dataset, "ours"), ("", "paper"))
        means = [rows[dataset, name].mean for name in names]
        found = [round(mean, 4) for mean in means if mean is not None]
        best = min(found) if measure == "error" else max(found)
        for j, name in enumerate(names):
            row, cell = rows[dataset, name], on_page[dataset][j]
            upper, lower = expected_words(row)
            span, small = re.findall(
                r"(<span.*</span>.*?|<span.*?</i></span>)(<small>.*)", cell
            )[0]
            assert (words(span).split(), words(small).split()) == (upper, lower)
            bold = row.mean is not None and round(row.mean, 4) == best
            assert ('class="best"' in cell) == (bold and len(found) > 1)
            # In the text the arrow comes last, and variances are in brackets.
            for text, expected in ((ours[j + 2], upper), (printed[j + 2], lower)):
                assert sorted(re.sub("[()]", "", text).split()) == sorted(expected)


def test_csv_files_have_a_line_for_each_row_with_its_values() -> None:
    files = table_files(RANKED)
    ranked = {m: RANKED.rankings[m] for m in MEASURES}
    tables = {
        "table_1": RANKED.shapes,
        "table_2": RANKED.results["error"],
        "table_3": RANKED.results["f1"],
        "figure_1": RANKED.counts["error"],
        "figure_2": RANKED.counts["f1"],
        "figure_3": RANKED.updates,
        "agreement": RANKED.agreements,
        **{f"ranks_{m}": each.ranks() for m, each in ranked.items() if each},
        **{f"pairs_{m}": each.pairs for m, each in ranked.items() if each},
    }
    assert set(files) == {
        "tables.md",
        "tables.txt",
        *(f"{name}.csv" for name in tables),
    }
    for name, expected in tables.items():
        lines = [*csv.DictReader(io.StringIO(files[f"{name}.csv"].decode()))]
        assert len(lines) == len(expected) > 0
        for line, row in zip(lines, expected, strict=True):
            for field, text in line.items():
                value = getattr(row, field)
                assert text == ("" if value is None else str(value)), (name, field)
    text, marked = (files[f"tables.{end}"].decode() for end in ("txt", "md"))
    for title in re.findall(r"^\*\*(.*)\*\*$", marked, re.MULTILINE):
        assert title in text


def agreement_figures(each: Agreement) -> list[tuple[float | None, int]]:
    digits = 1 if each.figure == "updates" else 4
    return [
        (each.ours, digits),
        (each.paper, digits),
        (each.difference, digits),
        (each.z, 1),
    ]


def test_the_agreement_has_each_printed_value_once_with_its_verdict() -> None:
    text = agreement_table(ANALYSIS)
    shown = section("agreement")
    notes = dict(re.findall(r'<li id="note-(\w+)">(.*?)</li>', shown))
    shown = shown[shown.index('aria-label="Agreement"') :]
    lines = [row for row in cells_of(shown) if len(row) == 7][1:]
    # The page has a group of lines for each dataset.
    rank = [*ANALYSIS.datasets].index
    grouped = sorted(ANALYSIS.agreements, key=lambda each: rank(each.dataset))
    seen = set()
    for each, line in zip(grouped, lines, strict=True):
        cells = [words(cell).strip() for cell in line]
        assert cells[0] == each.method
        for cell, (value, digits) in zip(
            cells[2:6], agreement_figures(each), strict=True
        ):
            assert shows(cell, value, digits), (each, cell)
        look = LOOKS[kind(each)]
        assert look.words.split(":")[0] in cells[6]
        assert f"sign {look.style}" in line[6]
        if each.reason:
            assert each.reason[1:] in words(notes[cells[6].split()[-1]])
        seen.add(kind(each))
    assert seen >= {"close", "near", "explained", "differs", "missing"}
    for each, row in zip(ANALYSIS.agreements, text.rows, strict=True):
        assert (row[0], row[1], row[8]) == (each.dataset, each.method, each.verdict)
        cells = [row[4], row[3], row[5], row[7]]
        for cell, (value, digits) in zip(cells, agreement_figures(each), strict=True):
            assert shows(cell, value, digits), (each, cell)
        if each.reason:
            assert row[9] == f"[{ANALYSIS.reasons.index(each.reason) + 1}]"
            assert f"{row[9]} {each.reason}." in text.notes


def test_counts_ranks_and_updates_are_those_of_the_analysis() -> None:
    page = report_page(RANKED, draw(RANKED))
    for measure in MEASURES:
        outcomes = outcomes_table(RANKED, measure)
        for count, row in zip(RANKED.counts[measure], outcomes.rows, strict=True):
            assert row[0] == count.method
            expected = (count.wins, count.ties, count.losses)
            printed = (count.paper_wins, count.paper_ties, count.paper_losses)
            assert tuple(map(number, row[1:])) == expected + printed
        ranking = RANKED.rankings[measure]
        assert ranking is not None
        ranks = ranking_table(RANKED, measure)
        for rank, row in zip(ranking.ranks(), ranks.rows, strict=True):
            assert row[0] == rank.method
            assert shows(row[1], rank.rank, 3)
            assert tuple(map(number, row[2:5])) == (rank.wins, rank.ties, rank.losses)
            for text, value in zip(row[5:], (rank.p, rank.p_holm), strict=True):
                assert number(text) == (
                    None if value is None else pytest.approx(value, rel=0.05)
                )
        assert f"{ranking.friedman.critical_difference:.3f}" in " ".join(ranks.notes)
        assert f"on {ranking.friedman.N} datasets" in words(section("ranks", page))
    for update, row in zip(RANKED.updates, updates_table(RANKED).rows, strict=True):
        assert row[:2] == (update.dataset, update.method)
        values = (update.mean, update.variance, update.paper)
        assert all(
            shows(text, value, 1) for text, value in zip(row[2:], values, strict=True)
        )


def test_shapes_are_ours_with_the_printed_ones_where_they_differ() -> None:
    lines = {
        words(row[0]).strip(): [words(cell).strip() for cell in row[1:]]
        for row in cells_of(section("table-1"))
    }
    for shape, row in zip(ANALYSIS.shapes, shapes_table(ANALYSIS).rows, strict=True):
        ours = (shape.p, shape.n, shape.M)
        printed = (shape.paper_p, shape.paper_n, shape.paper_M)
        assert row[0] == shape.dataset
        assert tuple(map(number, row[1:7])) == ours + printed
        for cell, mine, other in zip(lines[shape.dataset], ours, printed, strict=False):
            first, _, second = cell.partition("(")
            assert number(first.strip()) == mine
            differs = other not in (None, mine)
            assert (number(second.rstrip(")")) if second else None) == (
                other if differs else None
            )
        assert lines[shape.dataset][3] == row[7] == (shape.source or DASH)


def test_the_headline_counts_judged_values() -> None:
    kinds = [kind(each) for each in ANALYSIS.agreements]
    judged = [k for k in kinds if k not in ("missing", "unjudged")]
    agree = sum(k in ("close", "near") for k in judged)
    known, unknown = kinds.count("explained"), kinds.count("differs")
    assert (
        f"{agree} of {len(judged)} printed values agree with ours within three "
        f"standard errors; {known} differ for a known reason, {unknown} for an unknown"
    ) in PAGE
    differences = words(section("summary")).partition("What differs")[2]
    for each in ANALYSIS.agreements:
        if each.verdict == "differs" and each.reason is None:
            assert f"{each.dataset}, {each.method}, " in differences


def test_the_sentence_on_wins_follows_the_counts() -> None:
    ahead = "RPNB wins on more datasets than it loses against each of the 2 other"
    assert ahead in words(section("summary"))
    lost = [
        make_record(name, method, r, error=error + 0.001 * r, f1=1 - error)
        for name in ("Iris", "Zoo")
        for method, error in (("RPNB", 0.3), ("AROW", 0.2), ("PA", 0.4))
        for r in range(8)
    ]
    analysis = analyse(lost)
    page = report_page(analysis, draw(analysis))
    assert "here it does not against AROW." in page
    alone = analyse(lost[:8])
    page = report_page(alone, draw(alone))
    assert "RPNB was not compared with the paper's other methods" in unescape(page)


def test_every_chart_has_a_description() -> None:
    charts = draw(RANKED)
    for measure, wording in MEASURES.items():
        place = 1 if measure == "error" else 2
        for key in (f"figure_{place}", f"ranks_{measure}", f"deviations_{measure}"):
            assert wording in charts[key].title
    for dataset in RANKED.curves:
        slug = dataset.lower().replace("_", "-")
        assert dataset in charts[f"error/{slug}"].title
        assert dataset in charts[f"updates/{slug}"].title
