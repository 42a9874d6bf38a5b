"""Learners of the command line: made by name, with a fixed seed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb import baselines
from rpnb.cli import main
from rpnb.cli.learners import make_learners
from rpnb.estimators.registry import RPNB

SEEDED = ("RPNB", "OnlineBagging", "OnlineBoosting")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 3)) + np.eye(3)[y]
    lines = [
        ",".join([*map(repr, x), "abc"[k]]) for x, k in zip(X.tolist(), y, strict=True)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["u,v,w,kind", *lines]) + "\n")
    return file


@pytest.mark.parametrize("name", [RPNB, "SCW", *baselines.names()])
def test_learners_that_draw_at_random_have_the_seed_0(name: str) -> None:
    (learner,) = make_learners([name], {}, []).values()
    assert learner.get_params(deep=False).get("random_state", 0) == 0


def test_learners_that_draw_at_random_are_known() -> None:
    names = [RPNB, *baselines.names()]
    learners = make_learners(names, {}, [])
    drawing = [n for n in names if "random_state" in learners[n].get_params(deep=False)]
    assert sorted(drawing) == sorted(SEEDED)


def test_a_seed_can_be_given() -> None:
    made = make_learners(
        [*SEEDED], {"random_state": 4}, ["OnlineBagging.random_state=5"]
    )
    seeds = [
        learner.get_params(deep=False)["random_state"] for learner in made.values()
    ]
    assert seeds == [4, 5, 0]


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--model", "RPNB"],
        ["run", "--model", "OnlineBagging"],
        ["run", "--compare", *SEEDED],
        ["compare", "--learners", *SEEDED],
    ],
    ids=" ".join,
)
def test_the_same_command_gives_the_same_predictions(
    words: list[str], path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for name in SEEDED if name in words]
    few = [f"{name}.n_estimators=3" for name in names]
    params = [word for param in few for word in ("--param", param)]
    found: list[Any] = []
    for file in ("1.csv", "2.csv"):
        out = tmp_path / file
        rest = ["--target", "kind", "--quiet", "--json", "--predictions", str(out)]
        assert main([words[0], str(path), *words[1:], *params, *rest]) == 0
        learners = json.loads(capsys.readouterr().out)["learners"]
        seeds = [each["parameters"].get("random_state", 0) for each in learners]
        assert seeds == [0] * len(learners)
        found.append(out.read_text())
    assert found[0] == found[1]
