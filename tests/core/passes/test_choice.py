"""The choice among the passes, on which speed depends, but no label."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.passes.choice import build_cost, choose_path, form_cost, screened_cost
from strategies import make_model


def test_costs_are_as_fitted() -> None:
    p, F, M = 3, 1000, 2
    found = screened_cost(p, F, M), form_cost(p, M), build_cost(p, F)
    expected = 80 + 45 + 66, 3 + 3 + 0.396, 500 + 2000 + 270
    assert found == pytest.approx(expected, rel=1e-12)


def test_few_rows_and_other_rules_take_the_exact_pass() -> None:
    model = make_model(4, 2, K=200)
    assert choose_path(model, np.zeros((15, 4)), LEARN_MISTAKES) == "exact"
    assert choose_path(model, np.zeros((16, 4)), LEARN_MISTAKES) == "screened"
    model.rule = "vote"
    assert choose_path(model, np.zeros((10**6, 4)), LEARN_NOTHING) == "exact"


def test_forms_predict_many_rows_of_few_features() -> None:
    model = make_model(4, 2, K=200)
    many = np.zeros((10**4, 4))
    assert choose_path(model, many, LEARN_NOTHING) == "forms"
    assert choose_path(model, many[:20], LEARN_NOTHING) == "screened"
    assert choose_path(model, csr_array(many), LEARN_NOTHING) == "screened"
    for learn in (LEARN_MISTAKES, LEARN_ALL):
        assert choose_path(model, many, learn) == "screened"
    wide = make_model(200, 2, K=100)
    assert choose_path(wide, np.zeros((100, 200)), LEARN_NOTHING) == "screened"
    hadamard = make_model(4, 2, K=200, distribution="hadamard")
    assert choose_path(hadamard, many, LEARN_NOTHING) == "screened"
