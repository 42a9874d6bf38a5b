"""Generated streams: their concepts, their drift, and any size of chunks."""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.datasets import DatasetError, streams
from rpnb.datasets.agrawal import ATTRIBUTES, FUNCTIONS
from rpnb.datasets.drawn import LED_SEGMENTS
from rpnb.datasets.streams import Chunk

Stream = Callable[..., Iterator[Chunk]]

STREAMS: dict[str, tuple[Stream, int, int]] = {  # with p and M
    "mixture": (partial(streams.mixture, p=5, M=4), 5, 4),
    "sea": (streams.sea, 3, 2),
    "hyperplane": (partial(streams.hyperplane, speed=0.01), 10, 2),
    "random_rbf": (partial(streams.random_rbf, M=3, speed=0.01), 10, 3),
    "led": (streams.led, 24, 10),
    "agrawal": (partial(streams.agrawal, functions=(1, 5), perturbation=0.1), 9, 2),
}
every_stream = pytest.mark.parametrize("name", STREAMS)


def whole(stream: Iterator[Chunk]) -> Chunk:
    chunks = list(stream)
    return (
        np.concatenate([X for X, _ in chunks]),
        np.concatenate([y for _, y in chunks]),
    )


@every_stream
def test_chunks_are_arrays_of_the_promised_form(name: str) -> None:
    stream, p, M = STREAMS[name]
    chunks = list(stream(2500, chunk=1000))
    assert [X.shape for X, _ in chunks] == [(1000, p), (1000, p), (500, p)]
    for X, y in chunks:
        assert X.dtype == np.float64
        assert y.dtype == np.int64
        assert X.flags.c_contiguous
        assert np.isfinite(X).all()
        assert y.shape == (len(X),)
    assert set(np.concatenate([y for _, y in chunks])) == set(range(M))


@given(
    st.sampled_from(sorted(STREAMS)),
    st.integers(1, 200),
    st.integers(1, 250),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_the_size_of_the_chunks_changes_nothing(
    name: str, n: int, chunk: int, seed: int
) -> None:
    stream, _, _ = STREAMS[name]
    X, y = whole(stream(n, chunk=chunk, seed=seed))
    X_once, y_once = whole(stream(n, chunk=n, seed=seed))
    assert_array_equal(X, X_once)
    assert_array_equal(y, y_once)


@every_stream
def test_the_seed_decides(name: str) -> None:
    stream, _, _ = STREAMS[name]
    first, again, other = (next(stream(100, seed=s))[0] for s in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@every_stream
def test_memory_does_not_grow_with_the_length(name: str) -> None:
    stream, _, _ = STREAMS[name]
    peaks = []
    for n in (2_000, 20_000):
        for _ in stream(1000, chunk=500):  # what is allocated once
            pass
        tracemalloc.start()
        for _ in stream(n, chunk=500):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@every_stream
def test_an_endless_stream_starts_at_once(name: str) -> None:
    stream, p, _ = STREAMS[name]
    X, _ = next(stream(10**15, chunk=10))
    assert X.shape == (10, p)


@every_stream
def test_an_empty_stream_is_empty(name: str) -> None:
    assert list(STREAMS[name][0](0)) == []


def test_mixture_has_unit_spread_and_means_as_far_apart_as_asked() -> None:
    p, M = 400, 30
    X, y = whole(streams.mixture(30_000, p=p, M=M, separation=4.0))
    means = np.array([X[y == m].mean(axis=0) for m in range(M)])
    squares = ((means[:, None] - means) ** 2).sum(axis=2)[np.triu_indices(M, 1)]
    # Sampling adds 2p/1000 to a squared distance of 16 on average.
    assert_allclose(squares.mean(), 16.0 + 2 * p / 1000, rtol=0.1)
    assert_allclose((X - means[y]).var(), 1.0, rtol=0.01)
    assert_allclose(np.bincount(y) / len(y), 1 / M, atol=5 * sqrt(1 / M / len(y)))


def test_sea_changes_its_threshold_abruptly() -> None:
    X, y = whole(streams.sea(40_000, noise=0.0))
    assert X.min() >= 0.0
    assert X.max() < 10.0
    total = X[:, 0] + X[:, 1]
    for block, limit in enumerate((8.0, 9.0, 7.0, 9.5)):
        part = slice(block * 10_000, (block + 1) * 10_000)
        assert_array_equal(y[part], total[part] <= limit)
    assert (y[:10_000] != (total[:10_000] <= 9.0)).mean() > 0.05  # another concept


def test_labels_are_wrong_as_often_as_asked() -> None:
    n = 40_000
    clean, noisy = (whole(streams.sea(n, noise=noise))[1] for noise in (0.0, 0.1))
    assert abs((clean != noisy).mean() - 0.1) < 5 * 0.3 / sqrt(n)


def test_a_hyperplane_without_drift_is_a_plane_and_with_drift_is_not() -> None:
    def mistakes(speed: float) -> int:
        X, y = whole(streams.hyperplane(4000, p=4, speed=speed, reversal=0, noise=0))
        # Half the sum of the weights is at the centre: centred, it has no constant.
        Z, sign = X[:500] - 0.5, 2.0 * y[:500] - 1.0
        w = np.zeros(4)
        for _ in range(2000):
            wrong = sign * (Z @ w) <= 0
            if not wrong.any():
                break
            w += sign[wrong] @ Z[wrong]
        return int((((X - 0.5) @ w >= 0) != y).sum())

    assert mistakes(0.0) < 40
    assert mistakes(0.01) > 200


def test_hyperplane_directions_turn_round_as_often_as_asked() -> None:
    still = whole(streams.hyperplane(3000, speed=0.01, reversal=0.0, noise=0.0))[1]
    turning = whole(streams.hyperplane(3000, speed=0.01, reversal=0.5, noise=0.0))[1]
    fixed = whole(streams.hyperplane(3000, speed=0.0, noise=0.0))[1]
    # A weight that turns round at random stays near its start: it wanders as a root.
    assert (still != fixed).mean() > 2 * (turning != fixed).mean() > 0.0


def test_rbf_rows_lie_about_their_centroids_which_move_and_bounce() -> None:
    one = partial(streams.random_rbf, 4000, p=3, M=1, centroids=1, chunk=4000)
    still, moved = whole(one(speed=0.0))[0], whole(one(speed=0.05))[0]
    centre = still.mean(axis=0)
    assert (centre > 0.0).all()
    assert (centre < 1.0).all()
    travelled = moved - still  # the same offsets from a centroid that moves
    assert (centre + travelled).min() > -0.1  # the centre is an estimate
    assert (centre + travelled).max() < 1.1
    assert np.ptp(travelled, axis=0).max() > 0.8
    steps = np.linalg.norm(np.diff(travelled, axis=0), axis=1)
    assert_allclose(np.median(steps), 0.05, rtol=1e-6)


def test_led_segments_exchange_columns_with_random_bits() -> None:
    n = 8000
    X, y = whole(streams.led(n, noise=0.0, drifting=3, blocks=2))
    assert_array_equal(X[: n // 2, :7], LED_SEGMENTS[y[: n // 2]])
    later = X[n // 2 :]
    digit = LED_SEGMENTS[y[n // 2 :]]
    same = [(later[:, j] == digit[:, j]).all() for j in range(7)]
    assert sum(same) == 4
    for j in np.flatnonzero(~np.array(same)):
        found = [k for k in range(7, 24) if (later[:, k] == digit[:, j]).all()]
        assert len(found) == 1
        assert abs(later[:, j].mean() - 0.5) < 5 * 0.5 / sqrt(n / 2)


@pytest.mark.parametrize("seed", range(8))
def test_all_led_segments_can_move_and_nothing_else_does(seed: int) -> None:
    n = 400
    stream = streams.led(n, noise=0.0, drifting=7, blocks=2, irrelevant=9, seed=seed)
    X, y = (part[n // 2 :] for part in whole(stream))
    shown = LED_SEGMENTS[y].astype(np.float64)
    is_segment = (X[:, :, None] == shown[:, None, :]).all(axis=0)
    assert is_segment.any(axis=1).nonzero()[0].min() >= 7
    assert_array_equal(is_segment.sum(axis=0), 1)


def person(**values: float) -> dict[str, Any]:
    usual: dict[str, float] = dict.fromkeys(ATTRIBUTES, 0.0)
    usual |= {"salary": 60e3, "age": 30.0, "loan": 350e3, "elevel": 2.0}
    return {name: np.array([value]) for name, value in (usual | values).items()}


@pytest.mark.parametrize(
    ("number", "inside", "outside"),
    [
        (1, {"age": 39.9}, {"age": 40.0}),
        (1, {"age": 60.0}, {"age": 59.9}),
        (2, {"salary": 50e3}, {"salary": 49e3}),
        (2, {"age": 50.0, "salary": 125e3}, {"age": 50.0, "salary": 74e3}),
        (2, {"age": 70.0, "salary": 25e3}, {"age": 70.0, "salary": 76e3}),
        (3, {"elevel": 1.0}, {"elevel": 2.0}),
        (3, {"age": 50.0, "elevel": 3.0}, {"age": 50.0, "elevel": 0.0}),
        (3, {"age": 70.0, "elevel": 4.0}, {"age": 70.0, "elevel": 1.0}),
        (4, {"elevel": 1.0, "salary": 30e3}, {"elevel": 2.0, "salary": 30e3}),
        (
            4,
            {"age": 50.0, "elevel": 0.0, "salary": 11e4},
            {"age": 50.0, "salary": 11e4},
        ),
        (4, {"age": 70.0, "elevel": 0.0, "salary": 30e3}, {"age": 70.0, "salary": 3e4}),
        (5, {"loan": 100e3}, {"loan": 350e3}),
        (5, {"salary": 110e3}, {"salary": 110e3, "loan": 150e3}),
        (5, {"age": 50.0, "salary": 80e3, "loan": 210e3}, {"age": 50.0, "loan": 21e4}),
        (5, {"age": 70.0, "loan": 400e3}, {"age": 70.0, "loan": 200e3}),
        (5, {"age": 70.0, "salary": 1e5, "loan": 2e5}, {"age": 70.0, "salary": 1e5}),
        (6, {"commission": 40e3}, {"commission": 41e3}),
        (7, {"loan": 100e3}, {"loan": 102e3}),
        (8, {"elevel": 4.0}, {"elevel": 4.0, "salary": 59e3}),
        (9, {"loan": 100e3}, {"loan": 102e3}),
        (10, {"salary": 20e3, "elevel": 0.0}, {"salary": 20e3, "elevel": 1.0}),
        (10, {"salary": 20e3, "hyears": 21.0, "hvalue": 4e5}, {"salary": 20e3}),
        (10, {"salary": 30e3}, {"salary": 20e3, "hyears": 19.0, "hvalue": 9e5}),
    ],
)
def test_agrawals_functions_at_their_borders(
    number: int, inside: dict[str, float], outside: dict[str, float]
) -> None:
    assert FUNCTIONS[number](person(**inside)).tolist() == [True]
    assert FUNCTIONS[number](person(**outside)).tolist() == [False]


def test_agrawals_people_keep_to_their_ranges() -> None:
    X, y = whole(streams.agrawal(20_000, functions=(3, 7)))
    column = dict(zip(ATTRIBUTES, X.T, strict=True))
    rich = column["salary"] >= 75e3
    assert (column["commission"][rich] == 0).all()
    assert column["commission"][~rich].min() >= 10e3
    ranges = {
        "salary": (20e3, 150e3),
        "age": (20, 80),
        "loan": (0, 500e3),
        "hyears": (1, 30),
        "car": (1, 20),
        "elevel": (0, 4),
        "zipcode": (0, 8),
    }
    for name, (low, high) in ranges.items():
        values = column[name]
        assert low <= values.min() < low + 0.02 * (high - low)
        assert high >= values.max() > high - 0.02 * (high - low)
    assert_array_equal(y[:10_000], FUNCTIONS[3](column)[:10_000])
    assert_array_equal(y[10_000:], FUNCTIONS[7](column)[10_000:])


def test_agrawals_perturbation_moves_numbers_after_the_label() -> None:
    X, y = whole(streams.agrawal(5000, functions=(1,)))
    Z, z = whole(streams.agrawal(5000, functions=(1,), perturbation=0.1))
    assert_array_equal(y, z)
    # Half of 10 % of the width of a range.
    widths = {0: 130e3, 1: 65e3, 2: 60.0, 6: 13e5, 7: 29.0, 8: 500e3}
    for column, width in widths.items():
        share = np.abs(Z[:, column] - X[:, column]).max() / width
        assert 0.048 < share <= 0.05 + 1e-12, column
    assert_array_equal(X[:, 3:6], Z[:, 3:6])
    assert ((X[:, 1] == 0) == (Z[:, 1] == 0)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: streams.sea(-1), "n must be at least 0, got -1"),
        (lambda: streams.sea(9, chunk=0), "chunk must be at least 1, got 0"),
        (lambda: streams.sea(9, seed=-1), "seed must be at least 0"),
        (lambda: streams.sea(9, thresholds=()), "thresholds must be at least one"),
        (lambda: streams.sea(9, noise=1.5), "noise must be between 0 and 1"),
        (lambda: streams.mixture(9, p=0), "p must be at least 1"),
        (lambda: streams.mixture(9, M=0), "M must be at least 1"),
        (lambda: streams.mixture(9, separation=-1), "separation must be at least 0"),
        (lambda: streams.hyperplane(9, p=3, drifting=4), "drifting must be between 0"),
        (lambda: streams.random_rbf(9, M=5, centroids=4), "centroids must be at least"),
        (lambda: streams.led(9, drifting=8), "drifting must be between 0 and 7"),
        (lambda: streams.led(9, blocks=0), "blocks must be at least 1"),
        (lambda: streams.agrawal(9, functions=(0,)), "functions must be numbers from"),
        (lambda: streams.agrawal(9, functions=()), "functions must be at least one"),
        (lambda: streams.from_river([], -1), "n must be at least 0"),
        (lambda: streams.from_river([], 1, chunk=0), "chunk must be at least 1"),
        (lambda: streams.from_river([], 1, seed=1), "options must be empty"),
    ],
)
def test_wrong_parameters_are_refused_by_name_before_the_first_chunk(
    make: Callable[[], Any], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        make()


def river_like(seed: int = 0) -> Iterator[tuple[dict[Any, Any], Any]]:
    i = seed
    while True:
        yield {"a": i, "b": i % 2 == 0, 3: float(-i)}, i % 3
        i += 1


def test_river_rows_become_chunks() -> None:
    chunks = list(streams.from_river(river_like(), 5, chunk=2))
    assert [len(X) for X, _ in chunks] == [2, 2, 1]
    X = np.concatenate([X for X, _ in chunks])
    assert_array_equal(X, [[i, i % 2 == 0, -i] for i in range(5)])
    assert_array_equal(np.concatenate([y for _, y in chunks]), [0, 1, 2, 0, 1])
    assert list(streams.from_river([], 5)) == []
    assert len(next(streams.from_river([({"a": 1}, "x")], 5))[0]) == 1


def test_river_rows_that_do_not_fit_are_named() -> None:
    rows = [({"a": 1.0}, 0), ({"a": 2.0}, 0), ({"b": 3.0}, 0)]
    with pytest.raises(DatasetError, match=r"row 2 must have the features .*\['b'\]"):
        list(streams.from_river(rows, 3, chunk=2))
    text: list[tuple[dict[str, Any], int]] = [({"a": 1.0}, 0), ({"a": "red"}, 0)]
    with pytest.raises(DatasetError, match="feature 'a' of row 1 must be a number"):
        list(streams.from_river(text, 3))


def test_a_river_generator_is_made_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    synth: Any = ModuleType("river.datasets.synth")
    synth.__all__ = ["Like"]
    synth.Like = river_like
    for name in ("river", "river.datasets"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "river.datasets.synth", synth)
    X, _ = next(streams.from_river("Like", 2, seed=7))
    assert_array_equal(X[:, 0], [7, 8])
    with pytest.raises(DatasetError, match="dataset must be one of Like, got 'Sea'"):
        streams.from_river("Sea", 2)


def test_without_river_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = [name for name in sys.modules if name.split(".")[0] == "river"]
    for name in ("river", *loaded):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'rpnb\[river\]'"):
        streams.from_river("SEA", 10)
