"""`rpnb learners`, `rpnb completion`, and the command itself."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import pytest

from rpnb.cli import COMMANDS, _parser, main
from rpnb.cli.completion import SHELLS, commands_of
from rpnb.estimators.registry import learners


def test_all_learners_are_listed_with_advice_on_when_to_use_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["learners"]) == 0
    shown = capsys.readouterr().out
    for name, learner in learners().items():
        (line,) = [line for line in shown.splitlines() if line.split(" ")[0] == name]
        assert line.endswith(learner.when)


def test_a_learner_is_described_with_its_parameters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["learners", "SCW", "AROW"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("SCW1  (second order)\n\n  ")
    assert "Use it as a linear learner with confidence" in shown
    assert main(["learners", "AROW", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["name"] == "AROW"
    assert set(described["parameters"]) == set(
        learners()["AROW"].estimator().get_params()
    )
    assert all(each["help"] for each in described["parameters"].values())
    assert main(["learners", "AROV"]) == 2
    assert "did you mean AROW" in capsys.readouterr().err


# Completion


def completed(script: str, *words: str) -> list[str]:
    """Return the completions of bash for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    ask = (
        f"{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_rpnb\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    bash = str(shutil.which("bash"))
    done = subprocess.run(  # noqa: S603 - our own words
        [bash, "-c", ask], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_values(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert completed(script, "rpnb", "co") == ["compare", "completion"]
    assert completed(script, "rpnb", "run", "--unl") == ["--unlabelled"]
    offered = completed(script, "rpnb", "run", "--unlabelled", "")
    assert offered == ["refuse", "predict"]
    assert "AROW" in completed(script, "rpnb", "run", "--model", "A")
    assert completed(script, "rpnb", "completion", "z") == ["zsh"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").touch()
    assert completed(script, "rpnb", "run", "ro") == ["rows.csv"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_has_all_commands_and_options(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, (_, parser) in commands_of(_parser()).items():
        assert name in COMMANDS
        for action in parser._actions:
            for option in action.option_strings:
                shown = option if shell != "fish" else option.lstrip("-")
                assert shown in script
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True)  # noqa: S603


# The process


def start(*words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - our own words
        [sys.executable, "-m", "rpnb", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def until_importing(process: int) -> None:
    """Wait until a process is in the middle of its imports, if that is visible."""
    maps = Path(f"/proc/{process}/maps")
    if not maps.exists():
        time.sleep(1.0)
        return
    until = time.monotonic() + 60.0
    while "numpy" not in maps.read_text():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_python_m_rpnb_is_the_command() -> None:
    with start("--version") as process:
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.startswith(b"rpnb ")


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("waiting", [False, True], ids=["starting", "waiting"])
def test_ctrl_c_before_the_first_row_is_one_line(waiting: bool) -> None:
    with start("run", "-", "--format", "csv", "--target", "y") as process:
        until_importing(process.pid)
        if waiting:
            time.sleep(3.0)  # for rows, which do not come
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert (out, err) == (b"", b"rpnb: stopped by Ctrl-C\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_under_the_results_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rpnb", "datasets"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"rpnb datasets: No space left on device\n"


@pytest.mark.parametrize("word", ["--" + "a" * 200_000, "b" * 200_000, "\0" * 200_000])
def test_a_long_word_is_cut_in_the_message(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "a.csv", word]) == 2
    message = capsys.readouterr().err
    cut = word[:59] + "…"
    assert cut in message or repr(cut) in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "run x.csv --reprot r",
            "rpnb run: unknown option --reprot (did you mean ",
        ),
        (
            "compare x --models A",
            "rpnb compare: unknown option --models; `rpnb com",
        ),
        (
            "run a.csv b.csv",
            "rpnb run: unexpected argument 'b.csv'; `rpnb run --help`",
        ),
    ],
)
def test_a_word_that_a_command_does_not_take_is_named(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1


def examples() -> list[str]:
    """Return the commands that the help texts show, in their order."""
    shown = [parser.epilog or "" for _, parser in commands_of(_parser()).values()]
    return [
        line.strip().removeprefix("rpnb ")
        for text in shown
        for line in text.splitlines()
        if line.strip().startswith("rpnb ")
    ]


def test_examples_of_the_help_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {
        "a": [0.5, 1.5, 2.5] * 8,
        "note": ["x", "y", "z"] * 8,
        "label": [0, 1, 1] * 8,
    }
    frame = pd.DataFrame(rows)
    for name in ("rows", "monday", "tuesday"):
        frame.to_csv(f"{name}.csv", index=False)
    frame.drop(columns="label").to_csv("new.csv", index=False)
    frame.to_csv("sales.csv", index=False, sep="\t", decimal=",")
    frame.to_parquet("rows.parquet")
    shown = examples()
    assert len(shown) >= 7
    for line in shown:
        assert main(line.split()) == 0, (line, capsys.readouterr().err)
    assert {"rows.html", "model.rpnb"} <= {path.name for path in tmp_path.iterdir()}


def test_every_option_of_every_command_is_explained() -> None:
    for command, (_, parser) in commands_of(_parser()).items():
        assert parser.description, command
        text = " ".join(parser.format_help().split())
        for action in parser._actions:
            assert action.help, (command, action.dest)
            for option in action.option_strings:
                assert option in text
