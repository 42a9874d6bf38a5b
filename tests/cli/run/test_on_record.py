"""What `rpnb run` says of a run is as on record: its table, its JSON.

A column, a threshold or a number of decimals that has slipped breaks no law of the
other tests, and every user sees it. What is meant to change is written anew, and read:
``python tests/cli/run/test_on_record.py``. Laws of its page are in tests/report.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from rpnb import RPNBClassifier
from rpnb._version import __version__
from rpnb.baselines import make
from rpnb.cli.run import summary
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.blocks import ChunkBlocks
from rpnb.evaluate.evaluation import Evaluation, native_evaluation
from rpnb.evaluate.result import RunFacts
from rpnb.files import LabelledArrays

RECORD = Path(__file__).parents[2] / "golden" / "run.txt"
MANY = tuple(f"column {j}" for j in range(9))


def rows(n: int, M: int) -> tuple[FloatArray, IntArray]:
    """Return rows of integers, so that no processor rounds a sum of theirs."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, M, n)
    X = rng.integers(-3, 4, (n, 3)) + 2.0 * (y[:, None] == [0, 1, 2])
    return X, y


def evaluated(
    models: dict[str, Any], n: int, M: int, references: bool = True
) -> Evaluation:
    others = {
        "majority class": make("MajorityClass"),
        "same as last": make("NoChange"),
    }
    evaluation = native_evaluation(
        models, others if references else None, window=50, probabilities="truth"
    )
    blocks = ChunkBlocks(evaluation.labels)
    X, y = rows(n, M)
    for chunk in LabelledArrays("arrays", X, np.array(list("abcdefgh"))[y]).chunks(60):
        evaluation.step(blocks.block(chunk))
    for place, each in enumerate(evaluation.participants):
        each.seconds = 0.25 + place
    return evaluation


def runs() -> Iterator[tuple[Evaluation, RunFacts]]:
    learners = {"GaussianNB": make("GaussianNB"), "PA": make("PA"), "twin": make("PA")}
    learners["PA"].drifts_ = [3, 70]
    learners["twin"].drifts_ = list(range(1000, 1012))
    first = RunFacts(
        source="some.csv",
        p=3,
        order="file",
        seconds=2.5,
        interrupted=False,
        loaded=None,
        window=50,
        written=("page.html",),
        metrics=("kappa", "log_loss"),
        numbers=("x", "y"),
        categories={"colour": 3, "a" * 70: 2},
        dropped={"id": "one value"},
        notes=("a note",),
        advice=("some advice",),
        scaled=("PA",),
    )
    yield evaluated(learners, 240, 3), first
    few = RunFacts(
        source="few.csv",
        p=3,
        order="seed 7",
        seconds=125.0,
        interrupted=True,
        loaded="earlier.rpnb",
        window=1000,
        written=(),
        numbers=MANY,
    )
    yield evaluated({"PA": make("PA")}, 66, 8), few
    explained = RPNBClassifier(6, random_state=0)
    yield evaluated({"RPNB": explained, "OGD": make("OGD")}, 70, 2, False), few
    only = evaluated({"PA": make("PA")}, 20, 1)
    yield only, replace(few, order="file")


def lines() -> Iterator[str]:
    """Yield what is said of each run."""
    with mock.patch.object(summary, "memory", return_value=123.45):
        for evaluation, facts in runs():
            yield from _plain(summary.as_table(evaluation, facts))
            yield from _plain(summary.as_json(evaluation, facts).replace(", ", ",\n"))


def _plain(text: str) -> list[str]:
    """Return lines without the version, and without the last digits of numbers."""
    text = text.replace(__version__, "VERSION")
    digits = re.compile(r"\d\.\d{6,}(e-\d+)?")
    return digits.sub(lambda each: f"{float(each.group()):.6g}", text).splitlines()


def test_what_is_said_of_a_run_is_as_on_record() -> None:
    assert list(lines()) == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
