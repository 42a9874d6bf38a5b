"""Compiled models: the scores of the model, in small files, without learning."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb import FrozenRPNB, RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.passes.engine import scores
from rpnb.estimators.saving.files import ModelFileError
from strategies import Stream, streams

UNIT = 2.0**-53


def bound_of(model: RPNBClassifier, frozen: FrozenRPNB, X: FloatArray) -> FloatArray:
    """Bound |frozen − definitive score| (n, M), in double precision: passes.md."""
    state, origin = model._state, frozen._state.origin
    p, F = state.projection.R.shape
    R = state.projection.R.astype(np.float64) / np.sqrt(state.projection.q)
    w = state.gaussians.precision
    moved = state.gaussians.mean - origin @ R
    spread = np.sqrt((w * (R**2).sum(axis=0)).sum(axis=1))
    pull = np.sqrt((w * moved**2).sum(axis=1))
    length = np.linalg.norm(X - origin, axis=1)[:, None]
    distance = np.linalg.norm(X, axis=1)[:, None] + np.linalg.norm(origin)
    gamma = (2 * F + p * p + 32) * UNIT
    rounding = 0.5 * gamma * (length * spread + pull) ** 2
    known = np.abs(state.gaussians.constant) + np.abs(state.classes.bias)
    Q = np.maximum(-2.0 * (scores(state, X) - known), 0.0) + 2.0 * rounding
    noise = 1.01 * (p + 2) * UNIT * distance * spread
    root = np.sqrt(Q) + noise
    return rounding + noise * root + gamma * (0.5 * root**2 + known + 1.0)


@given(streams(max_n=40), st.sampled_from(["uniform", "frequency"]))
def test_scores_are_the_models_within_the_bound_of_rounding(
    stream: Stream, prior: str
) -> None:
    X, y = stream.X, stream.y
    model = RPNBClassifier(20, class_prior=prior, random_state=0)
    model.fit(X, y)
    with np.errstate(all="ignore"):
        frozen = model.compile()
        found = frozen._scores(X)
        expected = scores(model._state, X)
        bound = bound_of(model, frozen, X)
        assert not (np.abs(found - expected) > bound).any()
    # Labels are equal wherever the lead is beyond rounding.
    if model.classes_.shape[0] > 1:
        first = np.sort(expected, axis=1)
        clear = first[:, -1] - first[:, -2] > 2.0 * bound.max(axis=1)
        assert_array_equal(frozen.predict(X)[clear], model.predict(X)[clear])


def trained(
    labels: Any = (3, 5, 9), p: int = 4, n: int = 300, **parameters: Any
) -> tuple[RPNBClassifier, FloatArray, Any]:
    rng = np.random.default_rng(0)
    number = rng.integers(0, len(labels), n)
    X = rng.normal(size=(n, p)) + 3.0 * rng.normal(size=(len(labels), p))[number]
    y = np.array(labels)[number]
    return RPNBClassifier(30, random_state=1, **parameters).fit(X, y), X, y


def test_predictions_are_those_of_the_model_far_from_zero_too() -> None:
    model, X, y = trained()
    far = RPNBClassifier(30, random_state=1).fit(X + 1e6, y)
    for one, rows in ((model, X), (far, X + 1e6)):
        frozen = one.compile()
        assert_array_equal(frozen.predict(rows), one.predict(rows))
        assert_allclose(
            frozen.decision_function(rows), one.decision_function(rows), atol=1e-4
        )
        assert_allclose(frozen.predict_proba(rows), one.predict_proba(rows), atol=1e-5)
        assert frozen.predict_log_proba(rows[:1]).shape == (1, 3)
    # The origin is near the data, not at zero, where digits would be lost.
    assert np.abs(far.compile()._state.origin - 1e6).max() < 1e5


def test_it_is_frozen() -> None:
    model, X, y = trained()
    frozen = model.compile()
    before = frozen.decision_function(X)
    model.partial_fit(X + 50.0, y)
    assert_array_equal(frozen.decision_function(X), before)
    assert (model.decision_function(X) != before).any()


def test_two_classes_have_one_score_and_temperature_is_kept() -> None:
    model, X, _ = trained(("a", "b"), temperature=7.0)
    frozen = model.compile()
    assert_allclose(frozen.decision_function(X), model.decision_function(X), atol=1e-8)
    assert_allclose(frozen.predict_proba(X), model.predict_proba(X), atol=1e-9)
    assert frozen.temperature_ == 7.0


def test_a_mixture_of_temperatures_is_kept(tmp_path: Path) -> None:
    model, X, _ = trained(("a", "b", "c"))
    frozen = model.compile()
    expected = model.predict_proba(X)
    assert_allclose(frozen.predict_proba(X), expected, atol=1e-9)
    frozen.save(tmp_path / "frozen.rpnb")
    loaded = FrozenRPNB.load(tmp_path / "frozen.rpnb")
    assert_array_equal(loaded.predict_proba(X), frozen.predict_proba(X))
    cold = model.set_params(temperature=None).predict_proba(X)
    assert abs(cold - expected).max() > 0.01


def test_classes_that_take_no_part_are_left_out() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.repeat([0, 1], 10)
    model = RPNBClassifier(5, random_state=0)
    model.partial_fit(X, y)
    model._state.classes.eligible[0] = False
    frozen = model.compile()
    assert_array_equal(frozen.classes_, [1])
    assert_array_equal(frozen.predict(X), 1)


def test_the_product_rule_has_the_same_form_and_others_have_none() -> None:
    model, X, _ = trained(combiner="product")
    assert_array_equal(model.compile().predict(X), model.predict(X))
    for rule in ("sum", "vote", "max", "min", "median"):
        other, _, _ = trained(n=20, combiner=rule)
        with pytest.raises(ValueError, match=f"combiner is '{rule}'"):
            other.compile()


def test_projections_without_a_matrix_are_refused() -> None:
    model, _, _ = trained(n=20, projection="hadamard")
    with pytest.raises(ValueError, match="not kept as a matrix"):
        model.compile()


def test_bad_input_is_refused(tmp_path: Path) -> None:
    model, _, _ = trained()
    frozen = model.compile()
    with pytest.raises(ValueError, match="5 features"):
        frozen.predict(np.ones((1, 5)))
    with pytest.raises(ValueError, match="NaN"):
        frozen.predict(np.full((1, 4), np.nan))
    with pytest.raises(ValueError, match="float16"):
        frozen.to_onnx(tmp_path / "model.onnx", dtype="float16")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    model.save(tmp_path / "model.rpnb")
    with pytest.raises(ModelFileError, match=r"RPNBClassifier\.load"):
        FrozenRPNB.load(tmp_path / "model.rpnb")


def test_a_model_beyond_double_precision_is_refused() -> None:
    model = RPNBClassifier(
        5, var_floor=1e-300, prior_weight=0.0, update="all", random_state=0
    )
    model.fit([[1e149, 1e149], [-1e149, -1e149]], [0, 1])
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="overflow double precision"),
    ):
        model.compile()


def test_files_hold_the_same_bits(tmp_path: Path) -> None:
    model, X, _ = trained(("yes", "no", "maybe"))
    frozen = model.compile()
    frozen.save(tmp_path / "frozen.rpnb")
    again = FrozenRPNB.load(tmp_path / "frozen.rpnb")
    assert_array_equal(again.predict_proba(X), frozen.predict_proba(X))
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_features_in_ == 4
    frozen.temperature_ = -1.0
    frozen.save(tmp_path / "frozen.rpnb")
    with pytest.raises(ModelFileError, match="temperature"):
        FrozenRPNB.load(tmp_path / "frozen.rpnb")


def test_names_of_features_are_kept(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    _, X, y = trained()
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    frozen = RPNBClassifier(5, random_state=0).fit(frame, y).compile()
    assert frozen.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        frozen.predict(frame[["b", "a", "c", "d"]])


def test_files_are_small(tmp_path: Path) -> None:
    # The shape of Letter: sixteen features, 26 classes, 200 projections.
    p, M = 16, 26
    rng = np.random.default_rng(0)
    y = np.arange(200) % M
    model = RPNBClassifier(200, random_state=0)
    model.fit(
        rng.normal(size=(200, p)), np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))[y]
    )
    model.save(tmp_path / "model.rpnb")
    model.compile().save(tmp_path / "frozen.rpnb")
    F = 200 * model.n_components_
    assert (tmp_path / "model.rpnb").stat().st_size <= M * (2 * F + 1) * 8 + 16_384
    assert (tmp_path / "frozen.rpnb").stat().st_size <= M * (p * p + p + 1) * 8 + 16_384


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.sampled_from([(3, -1, 7), ("b", "ä", "c"), (True, False), (1.0, 2.0), (4,)]),
    st.sampled_from(["float64", "float32"]),
)
def test_onnxruntime_gives_the_same_labels(
    seed: int, p: int, labels: Any, dtype: Any
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from rpnb.estimators.frozen.onnx_graph import make_onnx

    rng = np.random.default_rng(seed)
    y = np.array(labels)[rng.integers(0, len(labels), 40)]
    X = (rng.normal(size=(40, p)) * 10.0 ** rng.integers(-2, 3)).astype(dtype)
    temperature: Any = "auto" if seed % 2 else None
    model = RPNBClassifier(7, temperature=temperature, random_state=seed % 1000)
    model.fit(X, y)
    frozen = model.compile()
    graph = make_onnx(
        frozen._state,
        None,
        frozen.classes_,
        frozen.temperature_,
        frozen._weights,
        dtype,
    )
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for n in (1, 7, 40):
        label, probability = session.run(["label", "probabilities"], {"X": X[:n]})
        assert label.tolist() == frozen.predict(X[:n]).tolist()
        assert_allclose(probability, frozen.predict_proba(X[:n]), atol=1e-9)


def test_a_graph_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X, _ = trained(("left", "right", "up"))
    frozen = model.compile()
    path = tmp_path / "model.onnx"
    frozen.to_onnx(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_inputs()] == ["X"]
    assert [one.name for one in session.get_outputs()] == ["label", "probabilities"]
    label, _ = session.run(None, {"X": X})
    assert_array_equal(label, model.predict(X))
    with pytest.raises(FileNotFoundError):
        frozen.to_onnx(tmp_path / "no folder" / "model.onnx")
    huge, _, _ = trained(tuple(np.array([2**63, 2**63 + 5], np.uint64)))
    with pytest.raises(ValueError, match="too large for ONNX"):
        huge.compile().to_onnx(tmp_path / "huge.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
