"""The methods of a study: their names, parameters and order."""

import json

import pytest

from rpnb.datasets import paper
from rpnb.estimators.registry import learners
from rpnb.study.methods import (
    PAPER,
    REFERENCES,
    UnknownMethodError,
    cost,
    find,
    make,
    methods,
    order_of,
    parameters_of,
)


def test_all_learners_are_methods_the_papers_first() -> None:
    found = list(methods())
    first = [*paper.METHODS, "OnlineBaggingLog", *REFERENCES]
    assert found[: len(first)] == first
    # SCW is SCW1 by the paper's name.
    others = [name for name in learners() if name not in (*first, "SCW1")]
    assert found[len(first) :] == others
    assert "Pooled" in others
    assert all(methods()[name].learner == name for name in others)
    assert [find(name.upper()).name for name in found] == found
    assert find("scw1").name == "SCW"


def test_an_unknown_method_is_refused_with_those_that_are_close() -> None:
    with pytest.raises(UnknownMethodError, match="did you mean OnlineBa"):
        find("online_bagginf")
    with pytest.raises(UnknownMethodError, match=r"got 'qqqq'$"):
        find("qqqq")


def test_parameters_are_those_of_the_paper() -> None:
    found = {name: json.loads(parameters_of(find(name))) for name in methods()}
    assert found["RPNB"]["n_estimators"] == 200
    assert found["PA"]["libol"] is True
    assert found["AROW"]["libol"] is False
    for name, density in (("OnlineBagging", "product"), ("OnlineBaggingLog", "log")):
        assert found[name]["n_estimators"] == 200
        assert found[name]["density"] == density
    for parameters in found.values():
        assert not {"random_state", "n_jobs", "scale"} & {*parameters}


def test_a_seed_is_for_those_that_draw() -> None:
    assert make(find("RPNB"), 7).get_params()["random_state"] == 7
    assert make(find("RPNB")).get_params()["random_state"] is None
    assert "random_state" not in make(find("PA"), 7).get_params()


def test_methods_are_sorted_as_in_the_paper_then_by_name_then_references() -> None:
    names = [*REFERENCES, "ZZ", "CW", *reversed(PAPER)]
    assert sorted(names, key=order_of) == [*PAPER, "CW", "ZZ", *REFERENCES]


def test_costs_are_rough_seconds() -> None:
    n, p, M = 1_000_000, 10, 3
    found = {
        name: cost(find(name), n, p, M) - 0.002
        for name in ("RPNB", "Pooled", "OnlineBagging", "AROW", "PA", "OnlineBoosting")
    }
    assert found == pytest.approx(
        {
            "RPNB": 0.2 * 6 * (1.5 + 1.5 + 0.75),
            "Pooled": 100.0 + 0.15 * 13,
            "OnlineBagging": 0.2 * 1100,
            "AROW": 0.4 + 0.8 * 10 * 13 / 1000,
            "PA": 0.49,
            "OnlineBoosting": 0.01 * 1100,
        }
    )
