"""Plans of a study: what they contain, and what they refuse."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb import datasets
from rpnb.study import methods
from rpnb.study.plan import (
    PlanError,
    content_of,
    learner_seed,
    make_plan,
    permutation,
)


@pytest.fixture(autouse=True)
def _no_data_folder_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)


def test_by_default_a_plan_is_the_papers_evaluation() -> None:
    plan = make_plan()
    assert plan.datasets == datasets.names()
    assert plan.methods == (
        *("RPNB", "AROW", "OGD", "PA", "SCW", "OnlineBagging"),
        *("MajorityClass", "NoChange"),
    )
    assert (plan.permutations, plan.seed, plan.reading) == (10, 0, "paper")
    assert plan.n_runs == 33 * 8 * 10


def test_names_are_matched_loosely_and_used_once() -> None:
    plan = make_plan(["tic tac toe", "IRIS", "Iris"], ["online-bagging", "scw1", "SCW"])
    assert plan.datasets == ("Tic_Tac_Toe", "Iris")
    assert plan.methods == ("OnlineBagging", "SCW", "MajorityClass", "NoChange")


def test_an_unknown_name_is_refused_with_similar_names() -> None:
    with pytest.raises(PlanError, match=r"got 'Irs' \(did you mean 'Iris'"):
        make_plan(["Irs"])
    with pytest.raises(PlanError, match=r"got 'AROV' \(did you mean AROW"):
        make_plan(methods=["AROV"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"permutations": 0}, "permutations must be at least 1, got 0"),
        ({"seed": -1}, "seed must not be negative, got -1"),
        ({"data": "no/such/folder"}, "data must be an existing folder"),
        ({"names": []}, "at least one"),
    ],
)
def test_invalid_plans_are_refused_by_name(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        make_plan(**arguments)  # type: ignore[arg-type]


def test_a_folder_named_by_the_environment_must_be_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RPNB_DATA", "no/such/folder")
    with pytest.raises(PlanError, match="RPNB_DATA must be an existing folder"):
        make_plan()


def test_quick_is_fewer_permutations_of_the_small_datasets() -> None:
    quick = make_plan(quick=True)
    assert quick.permutations == 3
    shapes = [datasets.describe(name) for name in quick.datasets]
    assert len(shapes) == 15
    assert all(entry.n <= 1500 and entry.p <= 50 for entry in shapes)
    told = make_plan(["Letter"], permutations=4, quick=True)
    assert (told.datasets, told.permutations) == (("Letter",), 4)


def test_offline_datasets_are_the_same_on_any_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated = make_plan(offline=True).datasets
    assert len(generated) == 10
    assert all(datasets.describe(name).included for name in generated)
    (tmp_path / "zoo.csv.gz").touch()
    assert make_plan(offline=True, data=tmp_path).datasets == (*generated, "Zoo")
    monkeypatch.setenv("RPNB_DATA", str(tmp_path))
    assert make_plan(offline=True).datasets == generated


@given(st.integers(0, 2**40), st.integers(0, 50), st.integers(1, 300))
def test_a_permutation_has_each_row_once(seed: int, r: int, n: int) -> None:
    order = permutation(seed, "Iris", r, n)
    assert sorted(order) == list(range(n))


def test_a_permutation_follows_from_seed_dataset_and_number_alone() -> None:
    same = permutation(3, "Iris", 1, 100)
    assert (permutation(3, "Iris", 1, 100) == same).all()
    others = [
        permutation(4, "Iris", 1, 100),
        permutation(3, "Tae", 1, 100),
        permutation(3, "Iris", 2, 100),
        # 31 and 1, or 3 and 11: not to be mixed up
        permutation(31, "Iris", 1, 100),
        permutation(3, "Iris", 11, 100),
    ]
    assert all((other != same).any() for other in others)
    # A golden row: results must not change with the version of NumPy or rpnb.
    assert permutation(0, "Iris", 0, 10).tolist() == [7, 1, 6, 9, 0, 2, 8, 4, 5, 3]


def test_learners_get_seeds_of_their_own() -> None:
    seeds = {
        learner_seed(seed, dataset, r, method)
        for seed in range(3)
        for dataset in ("Iris", "Tae")
        for r in range(3)
        for method in ("RPNB", "OnlineBagging")
    }
    assert len(seeds) == 3 * 2 * 3 * 2
    assert learner_seed(0, "Iris", 0, "RPNB") == learner_seed(0, "Iris", 0, "RPNB")


def test_the_content_depends_on_values_labels_and_order() -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    same = content_of(X, y)
    assert content_of(np.asfortranarray(X), y.astype("U9")) == same
    assert content_of(np.where(X == 0.0, -0.0, X), y) == same
    assert content_of(X + 1e-12, y) != same
    assert content_of(X[::-1], y) != same  # its labels read the same backwards
    assert content_of(X, np.array(["a", "b", "b"])) != same
    assert content_of(X.reshape(2, 3), y) != same


def test_methods_have_the_papers_order_with_references_last() -> None:
    names = ["NoChange", "Perceptron", "PA", "CW", "RPNB", "MajorityClass", "AROW"]
    assert sorted(names, key=methods.order_of) == [
        *("RPNB", "AROW", "PA", "CW", "Perceptron", "MajorityClass", "NoChange")
    ]


def test_the_papers_methods_have_the_papers_parameters() -> None:
    assert methods.find("RPNB").parameters == {"n_estimators": 200}
    assert methods.find("PA").parameters == {"libol": True}
    assert methods.find("SCW").learner == "SCW1"
    assert methods.find("OnlineBagging").parameters == {
        "n_estimators": 200,
        "base": "hoeffding_tree",
        "density": "product",
    }


def test_a_learners_seed_is_set_but_is_not_among_its_parameters() -> None:
    method = methods.find("RPNB")
    assert methods.make(method, seed=5).get_params()["random_state"] == 5
    assert '"n_estimators": 200' in methods.parameters_of(method)
    assert "random_state" not in methods.parameters_of(method)
    methods.make(methods.find("AROW"), seed=5)  # has none, and does not mind


def test_long_runs_cost_more() -> None:
    rpnb, arow = methods.find("RPNB"), methods.find("AROW")
    majority = methods.find("MajorityClass")
    assert methods.cost(rpnb, 20000, 16, 26) > methods.cost(rpnb, 150, 4, 3)
    assert methods.cost(arow, 7000, 600, 3) > 50 * methods.cost(arow, 7000, 6, 3)
    assert methods.cost(majority, 500, 90, 2) < methods.cost(arow, 500, 90, 2)
