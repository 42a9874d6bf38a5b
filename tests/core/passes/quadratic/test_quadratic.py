"""Quadratic forms: against their definition, within their bound, to the bit."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.bayes.model import Model, copy_model
from rpnb.core.bayes.state import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.vectors import SINGLES
from rpnb.core.passes import choice as choice_module
from rpnb.core.passes.choice import PassChoice, QuadraticPass
from rpnb.core.passes.costs import rebuild_cost, undecided_cost, update_cost
from rpnb.core.passes.engine import classify, run, run_batches, scores
from rpnb.core.passes.quadratic.evaluate import (
    bound_errors,
    centre_columns,
    evaluate,
    evaluate_one,
)
from rpnb.core.passes.quadratic.kernel import _rebuild
from rpnb.core.passes.quadratic.leaders import find_leaders, make_step
from rpnb.core.passes.quadratic.rebuild import rebuild_stale
from rpnb.core.passes.quadratic.record import (
    PANEL,
    ROWS,
    QuadraticForms,
    empty_forms,
    n_terms,
)
from rpnb.core.passes.screened.screened_pass import ScreenedPass
from rpnb.core.projection.matrices import project
from strategies import (
    Stream,
    assert_same_state,
    exact_labels,
    make_model,
    streams,
    well_behaved,
)

WEIGHT = np.ones(1)
learning = st.sampled_from([LEARN_MISTAKES, LEARN_ALL])


def forms(model: Model, origin: FloatArray) -> QuadraticForms:
    """Return the quadratic forms of all classes."""
    learner = model.kernel_state()
    centre = np.empty((1, model.F))
    first = np.zeros(1, np.int64)
    project(origin[None, :], first, learner.scale, learner.R, centre)
    quadratic = empty_forms(
        learner.R,
        model.projection.max_column_norm,
        learner.scale,
        model.M,
        origin,
        centre[0],
    )
    rebuild_stale(quadratic, np.ones(model.M, np.bool_), model.gaussians)
    return quadratic


def evaluated(
    model: Model, quadratic: QuadraticForms, X: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the scores (n, M), without class prior, and the bounds of their errors."""
    n = X.shape[0]
    padded = -(-n // ROWS) * ROWS
    centred = np.zeros((X.shape[1], padded))
    lengths = np.zeros(padded)
    values, error_bounds = np.empty((2, model.M, padded))
    centre_columns(X, quadratic.origin, centred, lengths)
    evaluate(quadratic, centred, n, values)
    alone = np.empty_like(values)
    for m in range(model.M):
        constant = model.gaussians.constant[m]
        bound_errors(quadratic, m, constant, lengths, 0, n, error_bounds[m])
        evaluate_one(quadratic, m, centred, n // 2, n, alone)
    assert_array_equal(alone[:, n // 2 : n], values[:, n // 2 : n])
    found = values[:, :n] + model.gaussians.constant[:, None]
    return found.T, error_bounds[:, :n].T


def excess(model: Model, X: FloatArray, origin: FloatArray) -> FloatArray:
    """Return errors divided by their bounds (n, M)."""
    found, bound = evaluated(model, forms(model, origin), X)
    return np.abs(found - scores(model, X)) / bound


@given(st.integers(1, 9), st.sampled_from([100, 300, 700]), st.integers(0, 2**32 - 1))
@example(9, 300, 0)  # columns are taken 512 at a time, and features by four and by two
def test_a_form_has_the_factors_of_its_definition(p: int, K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, p)), rng.integers(0, 2, 30)
    model = make_model(p, 2, K=K)
    run(model, X, y, WEIGHT, LEARN_ALL, np.empty(30, np.int64))
    quadratic = forms(model, X.mean(axis=0))
    R = model.projection.R.astype(np.float64) / np.sqrt(model.projection.q)
    w = model.gaussians.precision
    centred = model.gaussians.mean - quadratic.origin @ R
    A = np.einsum("if,mf,jf->mij", R, w, R)
    b = np.einsum("if,mf->mi", R, w * centred)
    i, j = np.triu_indices(p)
    products = -A[:, i, j] * np.where(i == j, 0.5, 1.0)
    L = n_terms(p)
    assert_allclose(quadratic.factors[:, : L - p], products, rtol=1e-5, atol=1e-3)
    assert_allclose(quadratic.factors[:, L - p : L], b, rtol=1e-5, atol=1e-3)
    assert quadratic.factors.shape == (2, L)
    assert_allclose(quadratic.start, -0.5 * (w * centred**2).sum(axis=1), rtol=1e-12)
    assert_allclose(quadratic.trace_root**2, np.trace(A, axis1=1, axis2=2), rtol=1e-4)
    assert_allclose(quadratic.mean_norm**2, (w * centred**2).sum(axis=1), rtol=1e-12)


def test_the_relative_error_is_that_of_the_derivation() -> None:
    """Of docs/algorithm.md: in single precision a lane, in double all that follows."""
    for p, K, lane, F in ((3, 50, 25, 200), (2, 1500, 256, 3000)):
        model = make_model(p, 2, K=K, q=F // K)
        quadratic = forms(model, np.zeros(p))
        double = F + p * (p + 3) // 2 + 256 * (p + 4) * 64.0**2 + 8
        expected = 1.01 * ((lane + 3) * 2.0**-24 + double * 2.0**-53)
        assert quadratic.gamma == pytest.approx(expected, rel=1e-15)


@given(streams(max_n=24), st.sampled_from([2, 30, 1 + PANEL // 3]), st.booleans())
def test_a_form_is_within_its_bound(stream: Stream, K: int, centred: bool) -> None:
    model = make_model(stream.X.shape[1], stream.M, K=K)
    labels = np.empty(stream.y.shape[0], np.int64)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, labels)
    origin = stream.X.mean(axis=0) if centred else np.zeros(stream.X.shape[1])
    with np.errstate(invalid="ignore"):
        # A NaN, from numbers beyond double precision, promises nothing.
        assert not (excess(model, stream.X, origin) > 1.0).any()


def one_column(precision: FloatArray, mean: FloatArray, q: int = 1) -> Model:
    """Return a model of one feature and q columns with the given densities."""
    model = make_model(1, precision.shape[0], K=1, q=q, seed=3)
    model.gaussians.precision[:] = 1e-30
    model.gaussians.precision[:, 0] = precision
    model.gaussians.mean[:] = 0.0
    model.gaussians.mean[:, 0] = mean
    model.gaussians.constant[:] = 0.0
    return model


def test_rounding_of_products_comes_near_its_bound() -> None:
    # Half of the bound would be too little: of the four roundings that it allows for,
    # three may happen, and for some class they do in the same direction.
    rng = np.random.default_rng(0)
    model = one_column(rng.uniform(1.0, 2.0, 3000), np.zeros(3000))
    ratio = excess(model, np.ones((1, 1)), np.zeros(1))
    assert 0.5 < ratio.max() <= 1.0


def test_rounding_of_linear_terms_comes_near_its_bound() -> None:
    # A row that is close to the origin, where the linear term is all but everything.
    rng = np.random.default_rng(1)
    model = one_column(rng.uniform(1.0, 2.0, 3000), rng.uniform(0.5, 1.0, 3000))
    quadratic = forms(model, np.zeros(1))
    found, bound = evaluated(model, quadratic, np.full((1, 1), 0.7))
    error = np.abs(found - scores(model, np.full((1, 1), 0.7)))
    assert 0.2 < (error / bound).max() <= 1.0


def test_rounding_of_long_sums_needs_more_than_a_few_roundings() -> None:
    # Signs for entries: all products are one precision, and partial sums of equal
    # numbers round in the same direction again and again.
    rng = np.random.default_rng(2)
    model = make_model(1, 400, K=PANEL, q=1, distribution="bernoulli")
    model.gaussians.precision[:] = rng.uniform(1.0, 2.0, 400)[:, None]
    model.gaussians.mean[:] = 0.0
    ratio = excess(model, np.ones((1, 1)), np.zeros(1))
    assert ratio.max() <= 1.0
    assert ratio.max() * (PANEL // SINGLES + 3) > 4.0


def test_rounding_of_projections_comes_near_its_bound() -> None:
    # Far from zero, where the double-precision projection itself loses digits.
    rng = np.random.default_rng(4)
    model = one_column(np.ones(1), np.zeros(1), q=3)
    R, scale = model.projection.R, 1.0 / np.sqrt(3.0)
    worst = 0.0
    for _ in range(40):
        origin = rng.uniform(1e12, 2e12, 1)
        model.gaussians.mean[:, 0] = origin[0] * R[0, 0] * scale + 1.0
        X = origin + rng.integers(-500, 500, size=(40, 1)) / 512.0
        worst = max(worst, excess(model, X, origin).max())
    assert 0.25 < worst <= 1.0


def test_bounds_are_not_finite_where_numbers_overflow() -> None:
    # Finite, but where the terms of double-precision scores are limited.
    model = make_model(2, 2)
    found, bound = evaluated(model, forms(model, np.zeros(2)), np.full((1, 2), 1e150))
    assert np.isfinite(found).all()
    assert_array_equal(bound, np.inf)
    model.gaussians.precision[:] = 1e300
    _, bound = evaluated(model, forms(model, np.zeros(2)), np.full((1, 2), 1e140))
    assert_array_equal(bound, np.inf)
    model.gaussians.mean[:] = 1e150
    _, bound = evaluated(model, forms(model, np.zeros(2)), np.ones((1, 2)))
    assert not np.isfinite(bound).any()


@given(
    streams(),
    learning,
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 3, 16, 64]),
    st.sampled_from([1.0, 0.9]),
    st.sampled_from([0.1, 2.0, 1e9]),
    st.booleans(),
)
def test_the_quadratic_pass_leaves_the_same_labels_and_bits(
    stream: Stream,
    learn: int,
    declared: bool,
    frequency: bool,
    step: int,
    keep: float,
    price: float,
    weighted: bool,
) -> None:
    one = make_model(stream.X.shape[1], stream.M, K=20)
    one.classes.eligible[:] = declared
    if frequency:
        one.classes = one.classes._replace(count_factor=20.0)
    one.keep = keep
    two = copy_model(one)
    n = stream.y.shape[0]
    rng = np.random.default_rng(n)
    weight = rng.uniform(0.1, 3.0, size=n if weighted else 1)
    expected = exact_labels(one, stream, learn, weight)
    labels = np.empty(n, np.int64)
    screened_pass = QuadraticPass(two, stream.X, step)
    screened_pass._rebuild = price * screened_pass._undecided
    screened_pass.run(stream.X, stream.y, weight, learn, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


def test_a_prior_that_follows_the_labels_changes_labels_within_a_step() -> None:
    # Thirty rows of the second class, all predicted so, and nothing is learnt from
    # them but how frequent it is: that alone decides the last row.
    one = one_column(np.ones(2), np.array([-1.0, 1.0]))
    one.classes = one.classes._replace(count_factor=50.0)
    two = copy_model(one)
    right = 1.0 / one.projection.R[0, 0]
    X = np.append(np.full(30, 3.0 * right), -right)[:, None]
    y = np.append(np.ones(30, np.int64), 0)
    expected = exact_labels(one, Stream(X, y, 2), LEARN_MISTAKES)
    assert_array_equal(expected, 1)
    labels = np.empty(31, np.int64)
    QuadraticPass(two, X, 64).run(X, y, WEIGHT, LEARN_MISTAKES, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


def test_a_class_with_a_nan_is_always_a_rival() -> None:
    model = make_model(2, 3)
    new = forms(model, np.zeros(2)).staleness
    work = make_step(2, 3, 4)
    work.values[:, :4] = np.array([[0.0, np.nan, 0.0, -np.inf]] * 3)
    work.values[0, :4] = [5.0, 5.0, np.nan, np.nan]
    work.error_bounds[:, :4] = np.array([0.1, 0.1, 0.1, np.inf])
    work.low[:] = work.high[:] = 0.0

    def leaders() -> tuple[list[float], list[float]]:
        work.leader[:], work.rivals[:] = 9.0, 9.0
        find_leaders(model.kernel_state(), new, work, 0, 4)
        return work.leader[:4].tolist(), work.rivals[:4].tolist()

    leader, rivals = leaders()
    assert leader[:3] == [0, 0, 1]
    assert rivals == [1, 3, 3, 3]
    model.classes.eligible[1:] = False
    assert leaders() == ([0, 0, 0, 0], [1, 1, 1, 1])
    model.classes.eligible[:] = False
    assert leaders() == ([-1, -1, -1, -1], [0, 0, 0, 0])


@given(st.integers(0, 2**32 - 1))
def test_the_leader_and_its_rivals_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = make_model(2, 5)
    model.classes.eligible[:] = eligible = rng.random(5) < 0.7
    staleness = forms(model, np.zeros(2)).staleness
    staleness.low[:], staleness.high[:] = 1.25, 0.75
    work = make_step(2, 5, 16)
    work.values[:] = rng.integers(-9, 0, (5, 16))
    work.error_bounds[:] = 0.25
    work.low[:], work.high[:] = rng.integers(-2, 3, (2, 5))
    find_leaders(model.kernel_state(), staleness, work, 3, 16)
    low = 1.25 * (work.values - 0.25) + work.low[:, None]
    high = 0.75 * (work.values + 0.25) + work.high[:, None]
    low[~eligible] = high[~eligible] = -np.inf
    leader = low.argmax(axis=0) if eligible.any() else np.full(16, -1)
    rivals = (high >= low.max(axis=0))[eligible].sum(axis=0)
    assert_array_equal(work.leader[3:], leader[3:])
    assert_array_equal(work.rivals[3:], rivals[3:])


@pytest.mark.parametrize("M", [2, 3])
def test_where_nothing_is_a_number_the_first_eligible_class_leads(M: int) -> None:
    model = make_model(2, M)
    staleness = forms(model, np.zeros(2)).staleness
    work = make_step(2, M, 4)
    work.values[:] = np.nan
    for first in range(M):
        model.classes.eligible[:] = np.arange(M) >= first
        find_leaders(model.kernel_state(), staleness, work, 0, 4)
        assert_array_equal(work.leader[:4], first)
    model.classes.eligible[:] = np.arange(M) == 0
    find_leaders(model.kernel_state(), staleness, work, 0, 4)
    assert_array_equal(work.leader[:4], 0)


def test_a_tie_is_decided_by_the_double_precision_scores() -> None:
    # Equal classes tie in every row: the first of them wins, learnt or not.
    model = make_model(2, 3)
    X = np.random.default_rng(0).normal(size=(40, 2))
    labels = np.empty(40, np.int64)
    run(model, X, labels, WEIGHT, LEARN_NOTHING, labels, path="quadratic")
    assert_array_equal(labels, 0)
    model.classes.eligible[:] = [False, True, True]
    run(model, X, labels, WEIGHT, LEARN_NOTHING, labels, path="quadratic")
    assert_array_equal(labels, 1)
    model.classes.eligible[:] = False
    run(model, X, labels, WEIGHT, LEARN_NOTHING, labels, path="quadratic")
    assert_array_equal(labels, -1)


@pytest.mark.parametrize("learn", [LEARN_MISTAKES, LEARN_ALL])
def test_changing_passes_midway_changes_no_bit(learn: int) -> None:
    stream = well_behaved(8, 240)
    one = make_model(6, 3)
    two = copy_model(one)
    expected = exact_labels(one, stream, learn)
    labels = np.empty(240, np.int64)
    choice = PassChoice(two, stream.X, 1.0)
    for k, start in enumerate(range(0, 240, 40)):
        rows = slice(start, start + 40)
        choice._path = ("columns", "quadratic", "quadratic")[k % 3]
        choice.run(stream.X[rows], stream.y[rows], WEIGHT, learn, labels[rows])
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


def test_forms_are_chosen_where_mistakes_are_few() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 800)
    X = rng.normal(size=(800, 10)) + 9.0 * y[:, None]
    for t, few in ((y, True), (rng.integers(0, 2, 800), False)):
        model = make_model(10, 2, K=100)
        twin = copy_model(model)
        expected = exact_labels(twin, Stream(X, t, 2), LEARN_MISTAKES)
        labels = np.empty(800, np.int64)
        choice = PassChoice(model, X, 1.0)
        assert not choice._forms_pay()
        for start in range(0, 800, 100):
            rows = slice(start, start + 100)
            choice.run(X[rows], t[rows], WEIGHT, LEARN_MISTAKES, labels[rows])
        assert (choice._quadratic is not None) == few
        assert choice._columns is not None
        assert_array_equal(labels, expected)
        assert_same_state(model, twin)


def test_the_cost_of_forms_decides_whether_they_are_used() -> None:
    stream = well_behaved(11, 400)
    model = make_model(6, 3, K=100)
    labels = np.empty(400, np.int64)
    choice = PassChoice(model, stream.X, 0.1)
    assert choice._forms_pay()
    expected = choice._upkeep / choice._kept
    choice.run(stream.X, stream.y, WEIGHT, LEARN_MISTAKES, labels)
    assert choice._upkeep / choice._kept != expected
    assert choice._quadratic is not None
    assert choice._quadratic.upkeep == 0.0
    # The more classes change, the sooner is the next look, and the shorter are steps.
    rate = choice._changes / choice._rows
    assert choice._rows_until_next_choice() == 1024
    assert choice._quadratic_pass().step == 64
    choice._changes *= 0.02 / rate
    assert 12000 < choice._rows_until_next_choice() < 13000
    assert 190 < choice._quadratic_pass().step < 210
    choice._changes = 0.0
    assert choice._rows_until_next_choice() == 65536
    assert choice._quadratic_pass().step == 256
    choice._changes = choice._rows
    choice._upkeep *= 1000.0
    assert not choice._forms_pay()


def test_updates_and_rebuilt_and_undecided_classes_have_their_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = well_behaved(11, 40)
    model = make_model(6, 3, K=100)
    forms = QuadraticPass(model, stream.X)
    monkeypatch.setattr(choice_module, "pass_quadratic", lambda *_: (7, 2, 3))
    labels = np.empty(40, np.int64)
    forms.run(stream.X, stream.y, WEIGHT, LEARN_MISTAKES, labels)
    costs = 2 * rebuild_cost(6, model.F) + 3 * undecided_cost(6, model.F)
    assert forms.upkeep == costs + 7 * update_cost(6)


@pytest.mark.parametrize("K", [16, 17])
def test_the_pass_and_its_forms_share_a_matrix_where_columns_fill_vectors(
    K: int,
) -> None:
    stream = well_behaved(13, 60)
    one = make_model(6, 3, K=K, q=1)
    two = copy_model(one)
    screened_pass = QuadraticPass(two, stream.X)
    shared = screened_pass._learner.R.base is screened_pass._quadratic.columns
    assert shared == (K == 16)
    labels = np.empty(60, np.int64)
    screened_pass.run(stream.X, stream.y, WEIGHT, LEARN_MISTAKES, labels)
    assert_array_equal(labels, exact_labels(one, stream, LEARN_MISTAKES))
    assert_same_state(one, two)


def test_mini_batches_take_either_path() -> None:
    stream = well_behaved(9, 200)
    found = []
    for path in ("columns", "quadratic", "auto"):
        model = make_model(6, 3)
        labels = np.empty(200, np.int64)
        run_batches(
            model,
            stream.X,
            stream.y,
            WEIGHT,
            LEARN_MISTAKES,
            25,
            labels,
            path=path,
        )
        found.append((model, labels))
    for model, labels in found[1:]:
        assert_array_equal(labels, found[0][1])
        assert_same_state(model, found[0][0])


def test_what_was_seen_before_sets_the_expected_rate_of_changes() -> None:
    stream = well_behaved(10, 64)
    model = make_model(6, 3)
    twin = copy_model(model)
    labels = np.empty(64, np.int64)
    for _ in range(2):
        run(model, stream.X, stream.y, WEIGHT, LEARN_MISTAKES, labels)
        assert_array_equal(labels, exact_labels(twin, stream, LEARN_MISTAKES))
    assert_same_state(model, twin)
    ScreenedPass(model, stream.X).run(stream.X, stream.y, WEIGHT, LEARN_NOTHING, labels)
    assert_array_equal(classify(model, stream.X), labels)


def test_a_form_that_is_built_again_has_the_bounds_of_its_new_values() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(8, 3)), np.arange(8) % 2
    model = make_model(3, 2, K=8)
    run(model, X, y, WEIGHT, LEARN_ALL, np.empty(8, np.int64))
    quadratic = forms(model, X.mean(axis=0))
    work = make_step(3, 2, 8)
    centre_columns(X, quadratic.origin, work.centred, work.lengths)
    for name in ("values", "error_bounds", "low", "high"):
        getattr(work, name)[:] = np.nan
    learner = model.kernel_state()
    for m in range(2):
        _rebuild(learner, quadratic, work, m, 0, 8)
    found, bound = evaluated(model, quadratic, X)
    assert_array_equal(work.error_bounds[:, :8].T, bound)
    assert_array_equal(work.values[:, :8].T + model.gaussians.constant, found)
    assert np.isfinite(work.low).all()
    assert (work.low <= work.high).all()
