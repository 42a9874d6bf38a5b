"""The pool without the compiler gives the same labels and state, to the bit."""

import math
import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled import engine, plain
from rpnb.core.pooled.algebra import blocks, outer_products, row_products
from rpnb.core.pooled.member import same_state
from rpnb.core.pooled.model import MEMBERS, PooledModel, arrange_classes, new_model
from rpnb.core.pooled.plain import MOST_ROWS, as_it_is, code_for_rows

NAMES = list(MEMBERS)


def equal(a: Any, b: Any) -> None:
    """Compare to the bit what was compiled; uncompiled, sums are rounded twice."""
    if hasattr(row_products.multiply_rows, "py_func"):
        assert_array_equal(a, b)
    else:
        assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def learnt(
    code: Any, X: FloatArray, y: IntArray, weight: FloatArray, names: list[str]
) -> tuple[PooledModel, list[Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rpnb.core.pooled.model.code_for_beginning", lambda p: code)
        patch.setattr("rpnb.core.pooled.model.code_for_rows", lambda *_: code)
        active = np.zeros(3, np.bool_)
        model = new_model(names, X.shape[1], 16, 0, active, 1)
        found: list[Any] = []
        for part in (slice(0, 1), slice(1, len(y))):
            labels, logs = np.empty(len(y), np.int64), np.empty((len(y), 3))
            engine.run(
                model, X[part], y[part], weight[part], labels[part], logs[part], jobs=2
            )
            engine.score(model, X[:3], labels[:3], logs[:3])
            found += [labels[part], logs[part]]
        wider = arrange_classes(model, np.array([0, -1, 1, 2]), np.array([1]))
    return wider, found


@pytest.mark.parametrize(
    ("n", "p", "weighted"), [(40, 3, False), (24, 3, True), (20, 40, False)]
)
@pytest.mark.slow_uncompiled
def test_labels_and_state_are_the_same(n: int, p: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, p)) + y[:, None]
    X[3, 0] = np.nan
    X[10:, 1] *= 1e6
    y[5::7] = -1
    weight = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    a, first = learnt(plain.plain, X, y, weight, NAMES)
    b, second = learnt(as_it_is, X, y, weight, NAMES)
    for one, two in zip(first, second, strict=True):
        assert_array_equal(one, two)
    assert same_state(a.scale, b.scale)
    assert same_state(a.pool, b.pool)
    assert same_state(a.features, b.features)
    for name, one, two in zip(a.names, a.states, b.states, strict=True):
        assert same_state(one, two), name


def test_a_light_model_runs_without_the_compiler() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 12)
    X = rng.normal(size=(12, 2)) + y[:, None]
    names = ["binned_bayes", "neighbours", "transitions"]
    a, first = learnt(plain.plain, X, y, np.ones(12), names)
    b, second = learnt(as_it_is, X, y, np.ones(12), names)
    assert_array_equal(first[2], second[2])
    assert_array_equal(a.scale.labels, b.scale.labels)


def packed_rows(n: int, E: int, capacity: int) -> Any:
    rng = np.random.default_rng(E)
    packed = np.zeros(E * capacity, np.float32)
    rows = np.round(128.0 * rng.normal(size=(n, E))).astype(np.float32) / 128
    for r in range(n):
        outer_products.pack_row(rows[r], packed, r, capacity)
    return rows, packed


def test_products() -> None:
    rng = np.random.default_rng(0)
    rows, packed = packed_rows(7, 32, 8)
    V = rng.normal(size=(32, 40)).astype(np.float32)
    start = rng.normal(size=40).astype(np.float32)
    factors = rng.normal(size=(7, 4))
    single: Any = {"dtype": np.float32}
    for shape, function, arguments, options in (
        ((7, 40), "multiply_rows", (rows, V, start), single),
        ((8, 8), "inner_products", (packed, 8, 2, 7), single),
        ((4, 32), "combine_rows", (packed, 8, 7, factors), {}),
    ):
        one: Any = np.zeros(shape, **options)
        two = one.copy()
        getattr(row_products, function)(*arguments, one)
        getattr(plain, function)(*arguments, two)
        equal(two, one)
    first = blocks.blank_matrix(32)
    second = first.copy()
    outer_products.add_exact_products(first, packed, 8, 1, 6)
    plain.add_exact_products(second, packed, 8, 1, 6)
    assert_array_equal(second, first)


def test_factors() -> None:
    rng = np.random.default_rng(1)
    _, packed = packed_rows(40, 48, 40)
    A = blocks.blank_matrix(48)
    outer_products.add_exact_products(A, packed, 40, 0, 40)
    for f in range(48):
        A[blocks.place(f, f)] += 1.0
    left, right = rng.normal(size=(2, 48 * 2)) / 10.0
    one, two = A.copy(), A.copy()
    blocks.subtract_outer(one, left, right, 2)
    plain.subtract_outer(two, left, right, 2)
    equal(two, one)
    one, two = A.copy(), A.copy()
    assert blocks.cholesky(one, 48)
    assert plain.cholesky(two, 48)
    equal(two, one)
    X = rng.normal(size=(48, 8))
    Y = X.copy()
    blocks.solve(one, 48, X)
    plain.solve(two, 48, Y)
    equal(Y, X)
    A[blocks.place(20, 20)] = -1.0
    one, two = A.copy(), A.copy()
    assert not blocks.cholesky(one, 48)
    assert not plain.cholesky(two, 48)
    equal(two, one)


def test_long_streams_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Budget:
        paid = False

        def pays(self, cost: float) -> bool:
            assert cost > 0.0
            return self.paid

    budget = Budget()
    monkeypatch.setattr(plain, "_kernels", budget)
    monkeypatch.setattr(plain, "_lgamma", math.lgamma)
    for n, learn, before, code in (
        (MOST_ROWS, True, 0, plain.plain),
        (MOST_ROWS, True, 1, as_it_is),
        (1000, False, MOST_ROWS, plain.plain),
        (1, False, MOST_ROWS + 1, as_it_is),
    ):
        assert code_for_rows(n, learn, before, 4, 3) is code
    assert plain.code_for_beginning(4) is plain.plain
    budget.paid = True
    assert code_for_rows(1, True, 0, 4, 3) is as_it_is
    assert plain.code_for_beginning(4) is as_it_is
    budget.paid = False
    monkeypatch.setattr(plain, "_lgamma", None)  # bits would differ
    assert code_for_rows(1, True, 0, 4, 3) is as_it_is
    assert plain.code_for_beginning(4) is as_it_is


@pytest.mark.slow_uncompiled
def test_a_short_stream_compiles_nothing() -> None:
    # By another process, in which nothing is compiled, and with an empty folder.
    code = (
        "import numpy as np; from rpnb import PooledClassifier; "
        "from rpnb.core.kernels.compiling.readiness import compiling_seconds; "
        "X = np.random.default_rng(0).normal(size=(12, 2)); y = np.arange(12) % 2; "
        "PooledClassifier(n_projections=16).fit(X, y).predict(X); "
        "assert compiling_seconds() < 1.0, compiling_seconds()"
    )
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "NUMBA_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", code], env=variables, check=True)  # noqa: S603
