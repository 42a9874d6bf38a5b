"""`rpnb paper`: a study, started, repeated and refused."""

import gzip
import io
import time
from pathlib import Path

import pytest

from rpnb.cli import main, progress_line
from rpnb.cli.progress_line import Display, duration, line
from rpnb.study import run as running
from rpnb.study.run import StudyProgress
from rpnb.study.run_records import read
from rpnb.study.worker_pool import Workers

FAST = ["--datasets", "Iris", "--methods", "RPNB", "OGD", "--permutations", "2"]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A separate folder, without data by accident, and without other processes."""
    monkeypatch.delenv("RPNB_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "Workers", lambda _jobs: Workers(0))


def test_a_study_ends_with_a_table_and_the_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", *FAST]) == 0
    out, err = capsys.readouterr()
    assert "1 dataset × 4 methods × 2 permutations = 8 runs, seed 0" in err
    rows = [text.split() for text in out.splitlines()]
    ours = next(row for row in rows if row[:2] == ["Iris", "ours"])
    assert len(ours) == 2 + 4
    assert all(0.0 < float(number) < 1.0 for number in ours[2:])
    assert ["paper", "0.0727", "0.3493", "↑", "—", "—"] in rows
    assert "8 runs, 8 of them new" in out
    results = tmp_path / "results" / "paper.jsonl"
    assert len(list(read(results))) == 8
    assert ["results", "results/paper.jsonl"] in rows
    (report,) = (row[1] for row in rows if row[:1] == ["report"])
    assert Path(report).is_file()
    assert Path(report).parent == Path("results", "paper")


def test_the_same_command_again_computes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["paper", *FAST, "--results", "mine.jsonl", "--report", "shown"])
    first = capsys.readouterr().out
    main(["paper", *FAST, "--results", "mine.jsonl", "--report", "shown"])
    again = capsys.readouterr().out
    assert "8 runs, 0 of them new" in again
    table = first[: first.index("8 runs,")]
    assert again.startswith(table)
    assert "Table 2" in table
    assert Path("shown").is_dir()
    assert not Path("results").exists()


def test_another_seed_is_another_study(capsys: pytest.CaptureFixture[str]) -> None:
    main(["paper", *FAST])
    first = capsys.readouterr().out
    assert main(["paper", *FAST, "--seed", "5"]) == 0
    out = capsys.readouterr().out
    assert "8 runs, 8 of them new" in out
    assert out.splitlines()[5] != first.splitlines()[5]


def test_a_wrong_data_file_is_named_and_the_other_datasets_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = ",".join([f"x{j}" for j in range(1, 6)] + ["label"])
    rows = ["1,23,3,1,19,3"] * 151
    rows[41] = "1,23,3,1,nineteen,3"
    content = "\n".join([header, *rows, ""]).encode()
    (tmp_path / "tae.csv.gz").write_bytes(gzip.compress(content))
    names = ["--datasets", "Tae", "Iris", "--methods", "OGD", "--permutations", "1"]
    assert main(["paper", *names, "--data", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert "2 datasets × 3 methods × 1 permutation = 6 runs" in err
    assert f"failed: Tae: {tmp_path / 'tae.csv.gz'}, row 42, column x5" in err
    lines = {tuple(text.split()[:3]) for text in out.splitlines()}
    assert ("Tae", "ours", "—") in lines
    assert any(row[:2] == ("Iris", "ours") and row[2] != "—" for row in lines)


def test_a_study_without_data_fails_with_a_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["paper", "--datasets", "Zoo", "--offline"]) == 2
    out, err = capsys.readouterr()
    assert "failed: Zoo: Zoo is not available offline" in err
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "Irs"], "did you mean 'Iris'"),
        (["--methods", "AROV"], "did you mean AROW"),
        (["--data", "no/such/folder"], "data must be an existing folder"),
        (["--permutations", "0"], "--permutations: must be at least 1, got 0"),
        (["--permutations", "many"], "must be a whole number, got 'many'"),
        (["--seed", "-3"], "must be a whole number, got '-3'"),
        (["--jobs", "0"], "--jobs: must be at least 1, got 0"),
        (["--reading", "wrong"], "invalid choice: 'wrong'"),
        (
            ["--surprise"],
            "unknown option --surprise; `rpnb paper --help`",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_bad_usage_is_reported_on_stderr_with_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", *arguments]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""


def test_a_results_file_that_cannot_be_written_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", *FAST, "--results", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_report_is_written_next_to_results_of_any_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", *FAST, "--results", "mine"]) == 0
    assert (tmp_path / "mine").is_file()
    assert (tmp_path / "mine-report").is_dir()
    capsys.readouterr()
    assert main(["paper", *FAST, "--results", "mine", "--report", "mine"]) == 0
    (tmp_path / "taken").touch()
    assert main(["paper", *FAST, "--results", "mine", "--report", "taken"]) == 2
    assert "the report cannot be written" in capsys.readouterr().err


def test_ctrl_c_has_its_own_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(_task: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_task", impatient)
    assert main(["paper", *FAST]) == 130
    assert "Stopped. 0 of 8 runs are in" in capsys.readouterr().err


def test_help_and_version_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "paper" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("rpnb 0.")
    assert main([]) == 2
    assert main(["papr"]) == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(done: int, phase: str = "running", left: float | None = 125.0) -> StudyProgress:
    return StudyProgress(
        phase=phase,
        done=done,
        total=200,
        share=0.75,
        cells_done=3,
        cells=20,
        computed=done,
        failed=0,
        seconds=4.0,
        seconds_left=left,
        latest="Letter · SCW",
    )


def test_a_line_shows_progress_speed_and_time_left() -> None:
    assert line(at(50), bar=True) == (
        "[###############.....]  50 of 200 runs, 75% of the expected time  "
        "3 of 20 pairs of dataset and method  12.5 runs/s  4 s so far  2 min 5 s left  "
        "Letter · SCW"
    )
    assert line(at(0, left=None), bar=False) == (
        "0 of 200 runs, 75% of the expected time  3 of 20 pairs of dataset and method  "
        "4 s so far  Letter · SCW"
    )
    assert line(at(7, "reading"), bar=False).startswith("reading datasets: 7 of 200")


def test_a_terminal_shows_one_line_that_is_renewed_and_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(progress_line, "UPDATE_EVERY", 0.0)
    stream = Terminal()
    display = Display(stream, line)
    for done in range(3):
        display(at(done))
    display.close()
    shown = stream.getvalue()
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")
    assert shown.count("\r") == 4
    assert max(map(len, shown.replace("\x1b[K", "").split("\r"))) == 39


@pytest.mark.parametrize("kind", ["file", "dumb terminal"])
def test_without_a_terminal_a_line_is_added_now_and_then(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setenv("TERM", "dumb")
    stream = io.StringIO() if kind == "file" else Terminal()
    display = Display(stream, line)
    for second in range(25):
        now = float(second)
        display(at(second))
    display.close()
    lines = stream.getvalue().splitlines()
    assert [text.split()[0] for text in lines] == ["10", "20"]
    assert "\r" not in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599.0, "59 min 59 s")],
)
def test_durations_are_rounded_before_they_are_split(seconds: float, text: str) -> None:
    assert duration(seconds) == text
