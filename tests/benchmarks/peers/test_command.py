"""`python -m peers`: its table, its files, and what it refuses."""

import csv
from pathlib import Path

import pytest

from peers.__main__ import main
from rpnb import __version__
from rpnb.cli import BAD_INPUT

# Sizes of models are measured in separate processes: see test_rounds.
TINY = (
    *("--rows", "40", "--members", "3", "--repeat", "1", "--seconds", "0.05"),
    "--no-memory",
)


def test_offline_it_prints_a_table_and_writes_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learners = ("--peers", "sklearn", "--learners", "GaussianNB")
    folder = ("--streams", "sea", "--output", str(tmp_path / "new"))
    assert main([*TINY, *learners, *folder]) == 0
    out, err = capsys.readouterr()
    assert "sea: 40 rows" in out
    lines = [line for line in out.splitlines() if line.startswith(("rpnb", "scikit"))]
    assert [line.split("  ")[0] for line in lines][:2] == [f"rpnb {__version__}"] * 2
    assert len(lines) == 3
    assert "sea: round 1 of 1" in err
    with (tmp_path / "new" / "bench.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["library"] for row in rows] == ["rpnb", "rpnb", "scikit-learn"]
    assert all(float(row["speed"]) > 0 for row in rows)
    text = (tmp_path / "new" / "bench.md").read_text(encoding="utf-8")
    assert text.startswith("`python -m peers --rows 40")
    assert f"| rpnb {__version__} | RPNB, K = 3 | 40 |" in text
    assert (tmp_path / "new" / "runs.csv").exists()
    assert "<svg" in (tmp_path / "new" / "error-speed-sea.svg").read_text()


def test_growth_is_shown_and_written(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from peers import growth

    small = {"n": (20, 40), "p": (2, 4), "K": (2, 4), "M": (2, 3)}
    whole = growth.measure_growth
    monkeypatch.setattr(
        growth,
        "measure_growth",
        lambda rounds, say: whole(rounds, growth.Sizes(40, 2, 2, 2), small, say),
    )
    assert main(["--growth", "--repeat", "1", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "How the seconds of a run grow" in out
    names = {"growth.md", "growth.csv", "growth.svg"}
    assert names <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--streams", "nothing"], "stream must be one of mixture"),
        (["--peers", "torch"], "--peers must be of sklearn, river"),
        (["--peers", "none", "--learners", "Oracle"], "learners must be of AROW"),
        (["--install"], "--install needs --environments"),
        (["--peers", "vw"], "Vowpal Wabbit is not installed here: pip install numpy"),
        (
            ["--peers", "river", "--environments", "no-such-folder"],
            "there is no environment for River at no-such-folder",
        ),
        (["--seconds", "0"], "must be positive, got '0'"),
        (["--rows", "0"], "must be at least 1, got 0"),
    ],
)
def test_bad_usage_is_refused_before_anything_runs(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words]) == BAD_INPUT
    assert message in capsys.readouterr().err.replace("\n", " ")


def test_help_explains_the_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for phrase in (
        "each row predicted before it is learned",
        "on one thread",
        "--environments DIR",
        "ImageSegments, Shuttle",
        "of processor time",
    ):
        assert phrase in text
