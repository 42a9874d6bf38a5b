"""Learners of the command line: made by name, with a fixed seed."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb import PooledClassifier, baselines
from rpnb.cli import main
from rpnb.cli.learners import make_learners, names_of
from rpnb.cli.run.compare import COMPARED
from rpnb.estimators.registry import RPNB, find_learner

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
    assert seeds == [4, 5, 4]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    code = main([*map(str, words), "--json", "--quiet"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def test_the_most_accurate_learner_is_the_default_and_listed_first(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run(capsys, "run", path, "--target", "kind")
    assert found["learners"][0]["name"] == "Pooled"
    assert COMPARED[:2] == ("Pooled", "RPNB")
    assert all(find_learner(name) for name in COMPARED)
    assert main(["learners"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[4].startswith("Pooled ")
    assert main(["run", "--help"]) == 0
    assert "(default: Pooled" in " ".join(capsys.readouterr().out.split())


def test_the_case_of_a_name_does_not_matter(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--target", "kind", "--compare", "arow", "gaussiannb", "AROW", "scw"]
    found = run(capsys, "run", path, *words, "--param", "Arow.C=0.5")
    names = [each["name"] for each in found["learners"][:3]]
    assert names == ["AROW", "GaussianNB", "SCW"]
    assert found["learners"][0]["parameters"]["C"] == 0.5
    (learner,) = make_learners(names_of_one("rpnbclassifier"), {}, []).values()
    assert type(learner).__name__ == "RPNBClassifier"


def names_of_one(name: str) -> list[str]:
    return names_of(Namespace(model=name, compare=[]))


@pytest.mark.parametrize("words", [["pooled,PA"], ["Pooled,", "PA"], ["Pooled", "pa"]])
@pytest.mark.parametrize(
    "command", [["compare", "--learners"], ["run", "--compare"]], ids=" ".join
)
def test_names_are_separated_by_spaces_or_commas(
    words: list[str],
    command: list[str],
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, option = command
    found = run(capsys, name, path, "--target", "kind", option, *words)
    learners = [each["name"] for each in found["learners"] if not each["reference"]]
    assert learners == ["Pooled", "PA"]
    assert main([name, str(path), "--target", "kind", option, ","]) == 2
    assert "name at least one learner" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["balenced", '{"p": 2}', "2"])
def test_class_weights_on_the_command_line_are_balanced(
    given: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(path), "--target", "kind", "--class-weight", given]
    assert main(words) == 2
    assert "--class-weight must be balanced or none" in capsys.readouterr().err


def test_class_weights_go_to_every_learner_that_has_them(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", path, "--target", "kind", "--learners", "Pooled", "GaussianNB"]
    words += ["PA", "--class-weight", "balanced", "--param", "Pooled.n_projections=16"]
    found = run(capsys, *words)
    given = [each["parameters"].get("class_weight") for each in found["learners"]]
    assert given == ["balanced", "balanced", None, None, None]
    (said,) = found["advice"]
    assert said == (
        "--class-weight applies to Pooled and GaussianNB; PA has no class weights."
    )


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


def test_missing_values_go_to_learners_that_take_them(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *lines = path.read_text().splitlines()
    cells = [line.split(",") for line in lines]
    for i in range(0, 300, 7):
        cells[i][1] = ""
    holes = tmp_path / "holes.csv"
    holes.write_text("\n".join([head, *map(",".join, cells)]) + "\n")
    y = np.array([row[-1] for row in cells])
    X = np.array([[float(cell or "nan") for cell in row[:-1]] for row in cells])
    model = PooledClassifier(n_projections=16, random_state=0)
    predicted = model.predict_then_learn(X, y)
    words = ["--target", "kind", "--param", "n_projections=16"]
    saved = tmp_path / "m.rpnb"
    found = run(capsys, "run", holes, *words, "--save", saved)
    assert found["learners"][0]["mistakes"] == int(np.sum(predicted != y))
    again = run(capsys, "run", holes, "--target", "kind", "--load", saved)
    assert again["rows"] == 300
    assert main(["predict", str(holes), "--load", str(saved), "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 301
    assert main(["run", str(holes), "--target", "kind", "--model", "PA"]) == 2
    said = capsys.readouterr().err
    assert "row 1, column v: the value is missing or NaN; use --missing mean" in said
    assert "--model Pooled, which supports missing values" in said
    cells[3][1] = "inf"
    holes.write_text("\n".join([head, *map(",".join, cells)]) + "\n")
    assert main(["run", str(holes), "--target", "kind"]) == 2
    assert "row 4, column v: infinity" in capsys.readouterr().err
