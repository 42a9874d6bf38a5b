"""Target: options of every command; and how a case runs a command."""

import argparse
import contextlib
import io
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import rpnb.study.run as study_run
from fuzzer.target import (
    Case,
    Target,
    choose,
    contents_of,
    report,
    require_no_temporary,
)
from rpnb.cli import _parser, main
from rpnb.study.worker_pool import Workers

_ROWS = "a,b,colour,kind\n" + "".join(
    f"{i % 7},{i % 3}.5,{'red' if i % 2 else 'blue'},{'p' if i % 5 < 2 else 'q'}\n"
    for i in range(40)
)
_OTHER_LABELS = ("RPNB", "Pooled", "PA", "OnlineBagging")
_DETECTORS = ("adwin", "ddm", "eddm", "page_hinkley")
# `fuzzer.service` attacks the service.
_LONG = ("serve",)
_OUTPUTS = ("model.rpnb", "predictions.csv", "page.html")
_VALUES = (
    *("", "-", "--", "0", "1", "-1", "2", "3", "0.5", "1e400", "nan", "inf", "None"),
    *("1" * 400, "kind", "a", "nothing", "red", "p", "{}", "[1]", "é", "\x00", "PA"),
    *(
        "AROW",
        "RPNB",
        "Pooled",
        "GaussianNB",
        "n_estimators=3",
        "=",
        "PA.C=x",
        "{file}",
    ),
    *(
        "{folder}",
        "{out}",
        "{model}",
        "/dev/null",
        "csv",
        "parquet",
        "codes",
        "log",
        "all",
    ),
)


def small_run(folder: Path) -> list[str]:
    """Return options of a short run that writes a model and predictions."""
    outputs = ["--save", str(folder / _OUTPUTS[0])]
    outputs += ["--predictions", str(folder / _OUTPUTS[1])]
    return ["--quiet", "--model", "PA", "--no-probabilities", *outputs]


def run_command(words: list[str], folder: Path) -> None:
    """Run a command; it must end by itself, with our own message if it fails."""
    for name in _OUTPUTS:
        (folder / name).write_text("as it was")
    before = contents_of(folder)
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        runs_in_this_process(),
    ):
        code = main(words)
    message = err.getvalue()
    if "Traceback" in message or "Traceback" in out.getvalue():
        report(f"a traceback: {message[-2000:]}")
    if code not in (0, 1, 2):
        report(f"exit code {code}: {message[-2000:]}")
    if code == 2:
        if not message.strip():
            report("exit code 2 without a message")
        if re.search("rpnb[a-z ]*: None$", message.strip()):
            report(f"an empty message: {message}")
        after = contents_of(folder)
        changed = [name for name in before if after.get(name) != before[name]]
        if changed:
            report(f"a failed command has changed {changed}")
    require_no_temporary(folder)


@contextlib.contextmanager
def runs_in_this_process() -> Iterator[None]:
    """Keep `rpnb paper` from starting processes, which is slow."""
    with patch.object(study_run, "Workers", lambda _jobs: Workers(0)):
        yield


@cache
def model_file(learner: str, *options: str) -> bytes:
    """Return the model file that `rpnb run --save` writes for a learner."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows.csv").write_text(_ROWS)
        words = ["run", str(folder / "rows.csv"), "--target", "kind", "--quiet"]
        words += ["--model", learner, "--save", str(folder / "m.rpnb"), *options]
        with contextlib.redirect_stdout(io.StringIO()):
            code = main(words)
        if code != 0:
            report(f"{words} ended with {code}")
        return (folder / "m.rpnb").read_bytes()


@cache
def _options() -> dict[str, list[Any]]:
    """Return the actions of each command's parser."""
    commands: Any = next(
        action
        for action in _parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return {name: parser._actions for name, parser in commands.choices.items()}


def make(rng: np.random.Generator) -> Case:
    """Return a random command line."""
    others = [name for name in _options() if name not in _LONG]
    command = choose(rng, ("run", "run", "run", *others))
    words = [command]
    if command == "predict":
        models = ("{model}",) * 8 + ("{out}", "{file}", "nothing")
        words += ["{file}", "--load", choose(rng, models)]
    if command in ("learners", "datasets", "completion") and rng.random() < 0.5:
        words.append(choose(rng, (*_OTHER_LABELS, "bash", "zsh", "Iris", *_VALUES)))
    if command in ("run", "compare"):
        words.append(choose(rng, ("{file}",) * 8 + _VALUES))
        words += ["--target", choose(rng, ("kind",) * 8 + _VALUES)]
        words += ["--quiet"] if rng.random() < 0.9 else []
        # Options with more code are drawn more often.
        words += ["--scale"] if rng.random() < 0.2 else []
        words += ["--drift", choose(rng, _DETECTORS)] if rng.random() < 0.1 else []
    if command == "compare":
        words += ["--learners", "PA", choose(rng, ("AROW", "OGD", "nothing", "PA"))]
    if command == "paper":
        # Keep the work small, whatever the other options.
        words += ["--datasets", choose(rng, ("Iris", "nothing", ""))]
        words += ["--methods", choose(rng, ("PA", "nothing")), "--permutations", "1"]
        words += ["--offline", "--jobs", "1", "--data", "{folder}"]
        words += ["--results", "{folder}/results.jsonl"]
    skipped = {"--jobs", "--permutations", "--quick", "--datasets", "--methods", "-h"}
    for _ in range(int(rng.integers(0, 4))):
        action = choose(rng, _options()[command])
        if not action.option_strings or skipped & set(action.option_strings):
            continue
        words.append(action.option_strings[-1])
        if action.nargs == 0:
            continue
        values = _VALUES if action.choices is None else (*action.choices, *_VALUES)
        for _ in range(1 if action.nargs is None else int(rng.integers(0, 3))):
            words.append(choose(rng, values))
    return {"words": words, "learner": choose(rng, _OTHER_LABELS)}


def run(case: Case, folder: Path) -> None:
    """Run the command on a small file."""
    file = folder / "rows.csv"
    file.write_text(_ROWS)
    places = {"{file}": file, "{folder}": folder, "{out}": folder / _OUTPUTS[0]}
    if any("{model}" in word for word in case["words"]):
        places["{model}"] = folder / "saved.rpnb"
        places["{model}"].write_bytes(model_file(case["learner"]))
    words = []
    for word in case["words"]:
        for key, place in places.items():
            word = word.replace(key, str(place))
        words.append(word)
    with contextlib.chdir(folder):
        run_command(words, folder)


def prepare() -> None:
    """Create the model files that cases use."""
    for learner in _OTHER_LABELS:
        model_file(learner)


TARGET = Target(make, run, prepare)
