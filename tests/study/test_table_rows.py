"""Rows of a study's tables: means, tests, and wins, ties and losses."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest

from rpnb.datasets import paper
from rpnb.report.table_text import TextTable, to_csv, to_markdown, to_text
from rpnb.study import table_rows, text_tables
from rpnb.study.agreement import Agreement, judge, root_mean_square
from rpnb.study.analysis import analyse
from rpnb.study.methods import find
from rpnb.study.run_records import CurvePoint, RunRecord, group
from rpnb.study.statistics import compare
from rpnb.study.table_rows import ResultRow


def record(
    dataset: str,
    method: str,
    r: int,
    error: float,
    *,
    f1: float | None = None,
    source: str = "file",
    curve: tuple[CurvePoint, ...] = (CurvePoint(100, 1, 1),),
) -> RunRecord:
    return RunRecord(
        dataset=dataset,
        method=method,
        parameters="{}",
        permutation=r,
        reading="paper",
        content="c",
        version="1",
        n=100,
        p=4,
        M=3,
        error=error,
        f1=1.0 - error if f1 is None else f1,
        updates=round(1000 * error),
        seconds=1.0,
        curve=curve,
        source=source,
    )


ERRORS = {
    ("Iris", "RPNB"): np.linspace(0.05, 0.14, 10),
    ("Iris", "OGD"): np.linspace(0.25, 0.34, 10),
    ("Iris", "NoChange"): np.linspace(0.6, 0.69, 10),
    ("Zoo", "RPNB"): np.linspace(0.21, 0.30, 10),
    ("Zoo", "OGD"): np.linspace(0.11, 0.20, 10),
    ("GM", "RPNB"): np.linspace(0.025, 0.034, 10),
    ("GM", "OGD"): np.linspace(0.025, 0.034, 10),
}
RECORDS = [
    record(dataset, method, r, float(error))
    for (dataset, method), errors in ERRORS.items()
    for r, error in enumerate(errors)
]


def results(
    records: Sequence[RunRecord], measure: table_rows.Measure
) -> list[ResultRow]:
    """Table 2 or 3, of the methods with records only."""
    found = {record.method for record in records}
    rows = analyse(records).results[measure]
    return [row for row in rows if row.method in found]


def agreements(
    records: Sequence[RunRecord], dataset: str, method: str
) -> dict[str, Agreement]:
    """The printed values of a method on a dataset beside ours, by measure."""
    rows = analyse(records).agreements
    here = [row for row in rows if (row.dataset, row.method) == (dataset, method)]
    return {row.figure: row for row in here}


def test_results_have_mean_variance_test_and_printed_values() -> None:
    cells = {(c.dataset, c.method): c for c in results(RECORDS, "error")}
    assert list(cells)[:3] == [("GM", "RPNB"), ("GM", "OGD"), ("GM", "NoChange")]
    ogd = cells["Iris", "OGD"]
    errors = ERRORS["Iris", "OGD"]
    assert ogd.mean == pytest.approx(errors.mean())
    assert ogd.variance == pytest.approx(errors.var(ddof=1))
    assert (ogd.runs, ogd.versus_rpnb) == (10, "worse")
    assert cells["Zoo", "OGD"].versus_rpnb == "better"
    assert cells["GM", "OGD"].versus_rpnb == "equal"
    assert cells["Iris", "RPNB"].versus_rpnb is None
    assert (ogd.paper_mean, ogd.paper_variance) == (0.3493, 5.80e-4)
    assert ogd.paper_versus_rpnb == "worse"
    assert cells["Iris", "NoChange"].paper_mean is None


def test_f1_is_good_where_it_is_high() -> None:
    cells = {(c.dataset, c.method): c for c in results(RECORDS, "f1")}
    assert cells["Iris", "OGD"].versus_rpnb == "worse"
    assert cells["Zoo", "OGD"].versus_rpnb == "better"
    assert cells["Iris", "OGD"].paper_mean == 0.6513


def test_a_cell_without_records_is_none_and_a_dash_never_the_printed_number() -> None:
    analysis = analyse(RECORDS, ["Iris"])
    (missing,) = (row for row in analysis.results["error"] if row.method == "PA")
    assert (missing.method, missing.mean, missing.runs) == ("PA", None, 0)
    assert missing.paper_mean == 0.3953
    table = text_tables.results_table(analysis, "error", ["RPNB", "PA"])
    assert table.header == ("dataset", "", "RPNB", "PA")
    ours, printed = table.rows
    assert ours[:2] == ("Iris", "ours")
    assert ours[3].strip() == "—"
    assert printed[3].startswith("0.3953")


def test_only_permutations_that_both_have_are_compared() -> None:
    base = np.linspace(0.1, 0.9, 10)
    mine = [record("Iris", "RPNB", r, float(base[r])) for r in range(1, 10)]
    theirs = [record("Iris", "OGD", r, float(base[r]) + 0.001) for r in range(10)]
    (_, ogd) = results([*mine, *theirs], "error")
    # Paired by place instead of permutation, OGD would seem better.
    assert compare(base[:9] + 0.001, base[1:], "low") == "better"
    assert (ogd.versus_rpnb, ogd.runs) == ("worse", 10)
    assert [c.versus_rpnb for c in results(theirs, "error")] == [None]


def test_records_in_any_order_give_the_same_tables() -> None:
    shuffled = [RECORDS[i] for i in np.random.default_rng(0).permutation(len(RECORDS))]
    files = text_tables.table_files(analyse(RECORDS))
    assert text_tables.table_files(analyse(shuffled)) == files
    for runs in group(shuffled).values():
        assert [run.permutation for run in runs] == list(range(10))
    slower = [replace(r, seconds=99.0) for r in [*RECORDS, RECORDS[0]]]
    assert text_tables.table_files(analyse(slower)) == files


def test_records_of_two_studies_are_not_mixed() -> None:
    other = replace(RECORDS[0], version="2")
    with pytest.raises(ValueError, match=r"one study: Iris, RPNB, permutation 0"):
        analyse([*RECORDS, other])


def test_wins_ties_and_losses_are_rpnbs() -> None:
    (count, plain) = analyse(RECORDS).counts["error"]
    assert (count.method, count.wins, count.ties, count.losses) == ("OGD", 1, 1, 1)
    # Printed on these three: OGD is worse on Iris, Zoo and GM.
    assert (count.paper_wins, count.paper_ties, count.paper_losses) == (3, 0, 0)
    assert (plain.method, plain.wins, plain.paper_wins) == ("NoChange", 1, None)


def test_printed_arrows_add_up_to_the_words_of_section_3_2() -> None:
    like = [record(p.dataset, p.method, 0, p.error_mean) for p in paper.results()]
    counts = {c.method: c for c in analyse(like).counts["error"]}
    said = {name: (c.paper_wins, c.paper_losses) for name, c in counts.items()}
    assert said == {
        "AROW": (24, 3),
        "OGD": (32, 1),
        "PA": (32, 0),
        "SCW": (25, 3),
        "OnlineBagging": (22, 5),
    }


def test_shapes_are_compared_with_table_1() -> None:
    (gm, iris, zoo) = analyse(RECORDS).shapes
    assert (iris.paper_p, iris.paper_n, iris.paper_M) == (4, 150, 3)
    assert (iris.p, iris.n, iris.M, iris.source) == (4, 100, 3, "file")
    assert (gm.dataset, zoo.dataset) == ("GM", "Zoo")
    (tae,) = analyse(RECORDS, ["Tae"]).shapes
    assert (tae.paper_n, tae.n, tae.source) == (151, None, None)


def test_several_draws_are_reported() -> None:
    draws = [record("GM", "PA", r, 0.2, source=f"drawn with seed {r}") for r in (7, 8)]
    (several,) = analyse(draws).shapes
    assert several.source == "drawn with seed 7, …: one draw per permutation"
    (one,) = analyse(draws[:1]).shapes
    assert one.source == "drawn with seed 7"


def test_updates_are_those_of_figure_3() -> None:
    rows = {(u.dataset, u.method): u for u in analyse(RECORDS).updates}
    assert set(rows) == {("GM", m) for m in (*paper.METHODS, "NoChange")}
    assert rows["GM", "RPNB"].mean == pytest.approx(29.5)
    assert (rows["GM", "RPNB"].paper, rows["GM", "OGD"].paper) == (29.6, 247.4)
    assert (rows["GM", "NoChange"].mean, rows["GM", "NoChange"].runs) == (None, 0)
    assert analyse([r for r in RECORDS if r.dataset != "GM"]).updates == ()


def test_ranks_leave_references_and_incomplete_datasets_out() -> None:
    ranking = analyse(RECORDS).rankings["error"]
    assert ranking is not None
    assert ranking.datasets == ("GM", "Iris", "Zoo")
    assert ranking.friedman.ranks == {"RPNB": 1.5, "OGD": 1.5}
    assert [rank.method for rank in ranking.ranks()] == ["RPNB", "OGD"]
    (mine, ogd) = ranking.ranks()
    assert (mine.wins, mine.p) == (None, None)
    assert (ogd.wins, ogd.ties, ogd.losses, ogd.p) == (1, 1, 1, 1.0)
    fewer = [r for r in RECORDS if (r.dataset, r.method) != ("GM", "OGD")]
    again = analyse(fewer).rankings["error"]
    assert again is not None
    assert again.datasets == ("Iris", "Zoo")
    alone = [r for r in RECORDS if r.method == "RPNB"]
    assert analyse(alone).rankings["error"] is None


def test_agreement_measures_differences_in_standard_errors() -> None:
    rows = {(a.dataset, a.method, a.figure): a for a in analyse(RECORDS).agreements}
    ogd = rows["Iris", "OGD", "error"]
    ours = ERRORS["Iris", "OGD"]
    difference = ours.mean() - 0.3493
    error = sqrt(5.80e-4 / 10 + ours.var(ddof=1) / 10)
    assert ogd.difference == pytest.approx(difference)
    assert ogd.standard_error == pytest.approx(error)
    assert ogd.z == pytest.approx(difference / error)
    assert ogd.verdict == judge(difference / error) == "differs"
    assert ogd.reason is None
    missing = rows["Iris", "PA", "error"]
    assert (missing.ours, missing.z, missing.verdict) == (None, None, "missing")
    assert len(rows) == 3 * 6 * 2 + 2


@pytest.mark.parametrize(
    ("z", "verdict"),
    [
        (2.0, "agrees within 2"),
        (-2.0, "agrees within 2"),
        (-2.1, "agrees within 3"),
        (3.0, "agrees within 3"),
        (3.1, "differs"),
        (-inf, "differs"),
        (None, "not judged"),
    ],
)
def test_verdicts(z: float | None, verdict: str) -> None:
    assert judge(z) == verdict


@pytest.mark.parametrize("runs", [1, 4, 5])
def test_few_runs_are_given_the_printed_variance(runs: int) -> None:
    few = [r for r in RECORDS if r.permutation < runs]
    error = agreements(few, "Iris", "OGD")["error"]
    assert error.runs == runs
    ours = ERRORS["Iris", "OGD"][:runs].var(ddof=1) if runs == 5 else 5.80e-4
    assert error.standard_error == pytest.approx(sqrt(5.80e-4 / 10 + ours / runs))


def test_a_printed_figure_without_variance_is_given_ours() -> None:
    updates = agreements(RECORDS, "GM", "RPNB")["updates"]
    assert updates.paper_variance is None
    assert updates.variance is not None
    assert updates.standard_error == pytest.approx(sqrt(2 * updates.variance / 10))
    gm = agreements([record("GM", "OGD", 0, 0.2)], "GM", "OGD")["updates"]
    assert (gm.z, gm.verdict) == (None, "not judged")


def test_the_papers_single_draw_counts_in_full_if_ours_are_several() -> None:
    spread = np.linspace(0.1, 0.4, 10)
    runs = [
        record("GM", "OGD", r, float(e), source=f"drawn with seed {r}")
        for r, e in enumerate(spread)
    ]
    rows = agreements(runs, "GM", "OGD")
    printed, ours = rows["error"].paper_variance, spread.var(ddof=1)
    assert printed is not None
    assert printed < ours
    # One draw and one permutation each: 1/10 of our variance in our mean; in the
    # paper's a draw, ours less a permutation's, and 1/10 of a permutation's.
    theirs = (ours - printed) + printed / 10
    assert rows["error"].standard_error == pytest.approx(sqrt(ours / 10 + theirs))
    counts = rows["updates"]
    assert counts.variance is not None
    assert counts.standard_error == pytest.approx(sqrt(1.1 * counts.variance))
    # Where the draws hardly differ, nothing is taken away.
    still = [
        record("GM", "OGD", r, 1e-5 * r, source="drawn", curve=(CurvePoint(100, 0, 0),))
        for r in range(10)
    ]
    row = agreements(still, "GM", "OGD")["error"]
    assert row.variance is not None
    assert row.standard_error == pytest.approx(sqrt((printed + row.variance) / 10))


@pytest.mark.parametrize("runs", [2, 6])
def test_draws_that_agree_by_luck_vary_as_much_as_samples_do(runs: int) -> None:
    # 30 mistakes in the first half; then 2 and 4 by turns among 50 rows: 6 %.
    def cell(source: str) -> dict[str, Agreement]:
        lucky = [
            record(
                "GM",
                "RPNB",
                r,
                0.33 + 1e-5 * r,
                source=source,
                curve=(
                    CurvePoint(25, 20, 0),
                    CurvePoint(50, 30, 0),
                    CurvePoint(75, 31, 0),
                    CurvePoint(100, 32 + 2 * (r % 2), 0),
                ),
            )
            for r in range(runs)
        ]
        return agreements(lucky, "GM", "RPNB")

    drawn, on_file = cell("drawn with seed 1"), cell("file")
    sample = 0.06 * 0.94 / 100
    for figure in ("error", "f1"):
        printed = drawn[figure].paper_variance
        assert printed is not None
        assert printed < sample
        expected = sqrt(printed / 10 + (sample - printed) + sample / runs)
        assert drawn[figure].standard_error == pytest.approx(expected)
        # Rows from a file are the paper's rows: there is no luck of the draw.
        variance = on_file[figure].variance
        assert variance is not None
        ours = printed if runs < 5 else variance
        expected = sqrt(printed / 10 + ours / runs)
        assert on_file[figure].standard_error == pytest.approx(expected)
    assert drawn["updates"].standard_error == 0.0  # a count, not a share


def test_the_linear_methods_are_judged_together() -> None:
    linear = [
        record("Iris", method, r, 0.2 + 0.01 * r)
        for method in text_tables.LINEAR
        for r in range(10)
    ]
    analysis = analyse(linear)
    rows = [each for each in analysis.agreements if each.figure == "error"]
    squares = [row.z**2 for row in rows if row.z is not None]
    assert len(squares) == 4
    expected = sqrt(sum(squares) / 4)
    assert root_mean_square(rows) == pytest.approx(expected)
    text = to_text(text_tables.agreement_counts_table(analysis))
    (line, _) = (line for line in text.splitlines() if "the four linear" in line)
    assert line.startswith("error rate")
    assert line.split()[-1] == f"{expected:.2f}"
    fewer = [method for method in text_tables.LINEAR if method != "PA"]
    text = to_text(text_tables.agreement_counts_table(analysis, fewer))
    assert "the four linear" not in text
    assert root_mean_square([]) is None


def test_results_of_more_permutations_explain_only_differences() -> None:
    def reason(dataset: str, method: str, away: float) -> str | None:
        (printed,) = (
            each
            for each in paper.results()
            if (each.dataset, each.method) == (dataset, method)
        )
        spread = sqrt(printed.error_var)
        runs = [
            record(dataset, method, r, printed.error_mean + spread * (away + r % 2))
            for r in range(10)
        ]
        return agreements(runs, dataset, method)["error"].reason

    assert reason("Musk1", "RPNB", -0.5) is None
    assert "chance" in (reason("Musk1", "RPNB", 2.0) or "")
    assert "not known" in (reason("Optical", "RPNB", -3.0) or "")
    assert reason("Optical", "SCW", 2.0) is None


def test_tables_note_how_densities_are_combined() -> None:
    def notes(*methods: str) -> str:
        analysis = analyse([record("Iris", method, 0, 0.3) for method in methods])
        return to_text(text_tables.results_table(analysis, "error", methods))

    assert "underflow" in notes("RPNB", "OnlineBagging")
    assert 'density="log"' in notes("RPNB", "OnlineBaggingLog")
    assert "underflow" not in notes("RPNB", "AROW")
    assert find("OnlineBagging").parameters["density"] == "product"
    assert find("OnlineBaggingLog").parameters["density"] == "log"


def test_known_reasons_are_given() -> None:
    drawn = [
        record(name, method, 0, 0.3, source="drawn with seed 0")
        for name in ("Iris", "Twonorm", "GM", "Monk-2", "Led7digit", "Skin_NonSkin")
        for method in ("RPNB", "PA", "OnlineBagging")
    ]
    why = {
        (a.dataset, a.method, a.figure): a.reason or ""
        for a in analyse(drawn).agreements
    }
    assert "0.087" in why["Iris", "RPNB", "error"]
    assert "not comparable" in why["Iris", "OnlineBagging", "f1"]
    assert "not comparable" in why["GM", "OnlineBagging", "f1"]
    assert "not comparable" not in why["Twonorm", "OnlineBagging", "f1"]
    assert "fresh draw" in why["Twonorm", "PA", "error"]
    assert "one draw" in why["GM", "PA", "error"]
    assert "Monk-3" in why["Monk-2", "PA", "error"]
    assert "row of zeros" in why["Led7digit", "PA", "f1"]
    assert "another configuration" in why["Skin_NonSkin", "OnlineBagging", "error"]
    on_file = analyse([record("Twonorm", "PA", 0, 0.3)])
    assert all(a.reason is None for a in on_file.agreements)


def test_agreement_is_counted_by_method_and_figure() -> None:
    table = text_tables.agreement_counts_table(analyse(RECORDS))
    names = table.header[2:]
    rows = {row[:2]: dict(zip(names, row[2:], strict=True)) for row in table.rows}
    assert rows["error rate", "PA"]["missing"] == "3"
    mine = rows["error rate", "OGD"]
    assert (mine["differs"], mine["known why"]) == ("3", "1")  # GM's draw is known
    assert (
        sum(int(mine[name]) for name in mine if name not in ("known why", "r.m.s."))
        == 3
    )


TABLE = TextTable("Title", ("name", "n"), (("a|b", "1"), ("longer", "—")), ("Note.",))


def test_a_table_as_text_has_aligned_columns() -> None:
    assert to_text(TABLE).splitlines() == [
        "Title",
        "─" * 9,
        "name    n",
        "─" * 9,
        "a|b     1",
        "longer  —",
        "─" * 9,
        "Note.",
    ]


def test_a_table_as_markdown_has_a_row_a_line() -> None:
    assert to_markdown(TABLE).splitlines() == [
        "**Title**",
        "",
        "| name | n |",
        "| --- | ---: |",
        "| a\\|b | 1 |",
        "| longer | — |",
        "",
        "Note.",
    ]


def test_numbers_survive_csv_to_the_bit() -> None:
    cells = [
        row for row in analyse(RECORDS).results["error"] if row.method in ("RPNB", "PA")
    ]
    rows = list(csv.DictReader(io.StringIO(to_csv(cells))))
    assert len(rows) == len(cells)
    for cell, row in zip(cells, rows, strict=True):
        assert row["dataset"] == cell.dataset
        assert (float(row["mean"]) if row["mean"] else None) == cell.mean
        assert (float(row["paper_mean"])) == cell.paper_mean
    assert to_csv([]) == ""


def test_all_tables_are_in_files() -> None:
    files = text_tables.table_files(analyse(RECORDS))
    assert list(files)[:2] == ["tables.md", "tables.txt"]
    assert files.keys() >= {"agreement.csv", "figure_3.csv", "pairs_f1.csv"}
    assert files.keys() >= {f"table_{i}.csv" for i in (1, 2, 3)}
    text = files["tables.txt"].decode()
    for title in ("Table 1", "Table 2", "Table 3", "Figure 1", "Figure 2", "Figure 3"):
        assert text.count(f"\n{title}. ") + text.startswith(f"{title}. ") == 1
    assert "Average ranks by error rate, 3 datasets" in text


def test_fewer_than_six_permutations_give_a_warning() -> None:
    few = [r for r in RECORDS if r.permutation < 5]
    warning = "With fewer than 6 permutations the test can never reject."
    for table in (
        text_tables.results_table(analyse(few), "error"),
        text_tables.outcomes_table(analyse(few), "error"),
    ):
        assert warning in table.notes
    enough = text_tables.results_table(analyse(RECORDS), "error")
    assert warning not in enough.notes


def test_the_terminal_shows_only_the_methods_of_the_plan() -> None:
    analysis = analyse(RECORDS)
    tables = text_tables.terminal_tables(analysis, ["RPNB", "OGD"])
    errors, outcomes, agreement = tables
    assert errors.header == ("dataset", "", "RPNB", "OGD")
    assert outcomes == text_tables.outcomes_table(analysis, "error")
    assert {row[1] for row in agreement.rows} == {"RPNB", "OGD"}
    few = analyse([r for r in RECORDS if r.permutation < 5])
    assert len(text_tables.terminal_tables(few, ["RPNB", "OGD"])) == 2
    assert len(text_tables.terminal_tables(analysis, ["NoChange"])) == 1
