"""`rpnb datasets`: what is listed, and where its rows come from."""

from pathlib import Path

import pytest

from rpnb import datasets
from rpnb.cli import main


@pytest.fixture(autouse=True)
def _no_data_folder_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """The lines of the list by dataset."""
    assert main(["datasets", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {
        name: line
        for name in datasets.names()
        for line in lines
        if line.startswith(name + " ")
    }


def test_all_33_are_listed_with_shape_source_and_licence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = listed(capsys)
    assert list(lines) == list(datasets.names())
    assert lines["Letter"].split()[1:4] == ["16", "20000", "26"]
    assert "generated, exact rows" in lines["Iris"]
    assert "generated, a fresh draw" in lines["GM"]
    assert "download from OpenML" in lines["Letter"]
    assert all("UCI" in lines[name] for name in ("Letter", "Zoo", "Iris"))
    assert "none stated (DELVE)" in lines["Twonorm"]


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_file_takes_precedence_over_a_draw_and_a_download(
    way: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for slug in ("letter", "twonorm", "iris"):
        (tmp_path / f"{slug}.csv.gz").touch()
    if way == "environment":
        monkeypatch.setenv("RPNB_DATA", str(tmp_path))
        lines = listed(capsys)
    else:
        lines = listed(capsys, "--data", str(tmp_path))
    assert "  file  " in lines["Letter"]
    assert "  file  " in lines["Twonorm"]
    assert "generated, exact rows" in lines["Iris"]
    assert "download" in lines["Optdigits"]


def test_datasets_that_need_a_file_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["datasets"]) == 0
    out = capsys.readouterr().out
    nowhere = [
        name
        for name in datasets.names()
        if (entry := datasets.describe(name)).openml is None and not entry.included
    ]
    assert nowhere
    for name in nowhere:
        assert f"{datasets.describe(name).slug}.csv.gz" in out.splitlines()[-1]


def test_a_folder_that_is_not_there_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["datasets", "--data", "no/such/folder"]) == 2
    out, err = capsys.readouterr()
    assert "data must be an existing folder, got 'no/such/folder'" in err
    assert out == ""
