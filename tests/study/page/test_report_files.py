"""The files of a study: page, tables, curves and charts."""

import csv
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rpnb.report import written_files
from rpnb.study.analysis import analyse
from rpnb.study.page.report_files import curves_csv, write_report
from study.report_records import like_the_paper, make_record


def test_tables_and_charts_are_written_next_to_the_page(tmp_path: Path) -> None:
    datasets = ["GM", "Iris", "Tic_Tac_Toe"]
    records = like_the_paper(datasets, permutations=2)
    page = write_report(analyse(records), tmp_path / "new" / "report")
    names = {p.relative_to(page.parent).as_posix() for p in page.parent.rglob("*.*")}
    expected = {
        *("report.html", "tables.md", "table_1.csv", "table_2.csv", "table_3.csv"),
        *("agreement.csv", "curves.csv", "figure_1.svg", "figure_2.svg"),
        *("figure_3.svg", "ranks_error.svg", "ranks_f1.svg", "curves/iris.svg"),
        *("deviations_error.svg", "deviations_f1.svg", "curves/tic-tac-toe.svg"),
    }
    assert expected <= names


def test_all_svg_files_are_well_formed_and_bring_their_style(tmp_path: Path) -> None:
    records = like_the_paper(["GM", "Iris"], permutations=2)
    page = write_report(analyse(records), tmp_path)
    charts = sorted(page.parent.rglob("*.svg"))
    assert len(charts) >= 9
    for chart in charts:
        text = chart.read_text("utf-8")
        root = ElementTree.fromstring(text)  # noqa: S314 - our own output
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme:dark" in text
        assert "nan" not in text


def test_charts_without_numbers_are_left_out(tmp_path: Path) -> None:
    page = write_report(analyse([make_record("Iris", "RPNB")]), tmp_path)
    names = {p.name for p in page.parent.rglob("*.svg")}
    assert names == {"iris.svg", "deviations_error.svg", "deviations_f1.svg"}


def test_the_points_of_the_curves_are_in_a_file() -> None:
    records = [
        make_record("Iris", "RPNB", r, error=error, n=150, places=3)
        for r, error in enumerate((0.2, 0.4))
    ]
    rows = list(csv.DictReader(curves_csv(analyse(records)).splitlines()))
    assert [row["row"] for row in rows] == ["50", "100", "150"]
    assert float(rows[-1]["error_mean"]) == pytest.approx(0.3)
    assert float(rows[-1]["updates_mean"]) == pytest.approx(45.0)
    assert rows[0]["method"] == "RPNB"
    assert rows[0]["runs"] == "2"


@pytest.mark.parametrize("there", [True, False])
def test_png_files_only_with_matplotlib(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_files, "is_available", lambda: there)
    monkeypatch.setattr(written_files, "png", lambda drawing: b"a picture")
    page = write_report(analyse([make_record("Iris", "RPNB")]), tmp_path)
    drawn, painted = (
        {p.stem for p in page.parent.rglob(f"*.{end}")} for end in ("svg", "png")
    )
    assert "iris" in drawn
    assert painted == (drawn if there else set())
