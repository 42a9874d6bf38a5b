"""Scores as polynomials: equal to the double-precision scores up to rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.bayes.polynomials import (
    ClassPolynomials,
    evaluate_polynomials,
    make_polynomials,
)
from rpnb.core.bayes.statistics import LEARN_ALL
from rpnb.core.passes.engine import run, scores
from strategies import make_model, well_behaved


@pytest.mark.parametrize("K", [1, 40])
def test_forms_give_the_scores_of_the_named_classes(K: int) -> None:
    # One projection to three dimensions leaves directions that no class uses.
    stream = well_behaved(1, 30)
    model = make_model(6, 3, K=K)
    model.classes.bias[:] = [0.0, -3.0, 2.0]
    run(model, stream.X, stream.y, np.ones(1), LEARN_ALL, np.empty(30, np.int64))
    expected = scores(model, stream.X)
    forms = make_polynomials(model, np.array([2, 0]))
    assert_allclose(
        evaluate_polynomials(forms, stream.X), expected[:, [2, 0]], rtol=1e-11
    )
    rows = np.tile(stream.X, (40, 1))
    assert_allclose(
        evaluate_polynomials(forms, rows)[-1], expected[-1, [2, 0]], rtol=1e-11
    )


def test_the_origin_is_where_the_summed_distance_is_least() -> None:
    stream = well_behaved(2, 30)
    model = make_model(6, 3, K=40)
    run(model, stream.X, stream.y, np.ones(1), LEARN_ALL, np.empty(30, np.int64))
    forms = make_polynomials(model, np.arange(3))
    assert_allclose(forms.factors[:, -6:].sum(axis=0), 0.0, atol=1e-9)


def test_forms_beyond_double_precision_are_not_finite() -> None:
    model = make_model(2, 2)
    model.gaussians.precision[:] = 1e300
    model.gaussians.mean[:] = [[1e149], [-1e149]]
    with np.errstate(all="ignore"):
        forms = make_polynomials(model, np.arange(2))
    assert not np.isfinite(forms.constant).any()
    assert_array_equal(forms.origin, 0.0)


def test_scores_of_a_row_do_not_depend_on_the_rows_beside_it() -> None:
    rng = np.random.default_rng(5)
    p, M = 7, 3
    factors = rng.normal(size=(M, p * (p + 1) // 2 + p))
    forms = ClassPolynomials(rng.normal(size=p), factors, rng.normal(size=M))
    X = rng.normal(size=(1500, p))
    whole = evaluate_polynomials(forms, X)
    for part in (slice(0, 1), slice(3, 10), slice(700, 1200), slice(100, 1437)):
        assert_array_equal(evaluate_polynomials(forms, X[part]), whole[part])
