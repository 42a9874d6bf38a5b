"""Model files of older versions, and of versions to come."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimators.saving.old_files import OLD, X, fitted, y
from rpnb import FrozenRPNB, PooledClassifier, RPNBClassifier, baselines
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.estimator import (
    SavedEstimator,
    read_estimator,
    write_estimator,
)
from rpnb.estimators.saving.files import ModelFileError, read_model
from rpnb.estimators.saving.migrations import MIGRATIONS, migrate

FOLDER = Path(__file__).parents[2] / "golden" / "state_version_1"
PREDICTIONS = json.loads((FOLDER / "predictions.json").read_text(encoding="utf-8"))
CLASSES: dict[str, Any] = {
    "FrozenRPNB": FrozenRPNB,
    **{each.estimator.__name__: each.estimator for each in learners().values()},
}


@pytest.mark.parametrize("name", OLD)
def test_a_file_without_a_state_version_is_of_version_one_and_is_read(
    name: str, tmp_path: Path
) -> None:
    assert "state_version" not in read_model(FOLDER / f"{name}.rpnb")[0]
    assert read_estimator(FOLDER / f"{name}.rpnb", name).state_version == 1
    model = CLASSES[name].load(FOLDER / f"{name}.rpnb")
    assert model.predict(X).tolist() == PREDICTIONS[name]
    # Written anew it is the file of the same model, learnt today.
    model.save(tmp_path / "loaded.rpnb")
    fitted(name).save(tmp_path / "fitted.rpnb")
    loaded, today = (tmp_path / f"{which}.rpnb" for which in ("loaded", "fitted"))
    assert loaded.read_bytes() == today.read_bytes()
    assert read_model(loaded)[0]["state_version"] == CLASSES[name]._state_version


def test_old_models_keep_the_temperature_that_they_were_saved_with() -> None:
    model = RPNBClassifier.load(FOLDER / "RPNBClassifier.rpnb")
    frozen = FrozenRPNB.load(FOLDER / "FrozenRPNB.rpnb")
    assert model.temperature is None
    scores = model.decision_function(X) / 5.0
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), P, rtol=1e-12)
    np.testing.assert_allclose(frozen.predict_proba(X), P, rtol=1e-6)


def test_old_pools_keep_their_projections_and_have_no_class_terms(
    tmp_path: Path,
) -> None:
    path = FOLDER / "PooledClassifier.rpnb"
    assert read_estimator(path, "PooledClassifier").state_version == 1
    model = PooledClassifier.load(path)
    assert model.predict(X).tolist() == PREDICTIONS["PooledClassifier"]
    state = model._state
    assert (state.shape.D, state.shape.dense) == (32, 16)
    assert PooledClassifier(n_projections=32).fit(X, y)._state.shape.dense == 8
    assert not state.pool.class_terms.any()
    # Saved anew it is of this version, and learns on.
    model.save(tmp_path / "model.rpnb")
    again = PooledClassifier.load(tmp_path / "model.rpnb")
    for each in (model, again):
        each.partial_fit(X, y)
    assert model._state.pool.class_terms[-1].all()
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_terms_of_old_pools_are_as_slow_as_those_of_new_ones() -> None:
    saved = read_estimator(FOLDER / "PooledClassifier.rpnb", "PooledClassifier")
    for delay, times in ((0, 1.0), (101, 20.0), ("late", 1.0)):
        parameters = {**saved.parameters, "delay": delay}
        moved = migrate(saved._replace(parameters=parameters), 2)
        ridge = moved.arrays["pool.class_ridge"]
        np.testing.assert_array_equal(ridge, times * np.array([400.0, 400.0, 60.0]))


@pytest.mark.parametrize("weights", [None, np.zeros((2, 2)), np.zeros(10**6)])
@pytest.mark.parametrize("projections", [32, "many"])
def test_damaged_old_pools_are_refused(
    weights: Any, projections: Any, tmp_path: Path
) -> None:
    saved = read_estimator(FOLDER / "PooledClassifier.rpnb", "PooledClassifier")
    arrays = {**saved.arrays, "pool.weights": weights}
    if weights is None:
        del arrays["pool.weights"]
    parameters = {**saved.parameters, "n_projections": projections}
    damaged = saved._replace(arrays=arrays, parameters=parameters)
    write_estimator(tmp_path / "model.rpnb", damaged)
    with pytest.raises(ModelFileError):
        PooledClassifier.load(tmp_path / "model.rpnb")


@pytest.mark.parametrize("dense", [0, 4, 12, 32, "8", None, True])
def test_a_number_of_dense_projections_that_cannot_be_is_refused(
    dense: Any, tmp_path: Path
) -> None:
    model = PooledClassifier.load(FOLDER / "PooledClassifier.rpnb")
    model.save(tmp_path / "model.rpnb")
    saved = read_estimator(tmp_path / "model.rpnb", "PooledClassifier")
    state = {**saved.state, "dense": dense}
    write_estimator(tmp_path / "model.rpnb", saved._replace(state=state))
    with pytest.raises(ModelFileError):
        PooledClassifier.load(tmp_path / "model.rpnb")


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("later", [1, 7])
def test_a_later_state_version_is_refused(
    name: str, later: int, tmp_path: Path
) -> None:
    saved = read_estimator(FOLDER / f"{name}.rpnb", name)
    version = CLASSES[name]._state_version + later
    written = saved._replace(state_version=version, rpnb_version="9.1")
    write_estimator(tmp_path / "model.rpnb", written)
    with pytest.raises(ModelFileError, match=rf"{name} of state version {version}, wr"):
        CLASSES[name].load(tmp_path / "model.rpnb")
    with pytest.raises(ModelFileError, match=r"by rpnb 9\.1; .*: upgrade rpnb"):
        CLASSES[name].load(tmp_path / "model.rpnb")


@pytest.mark.parametrize("version", ["2", 0, -1, 1.0, True, None])
def test_a_state_version_that_is_none_is_damage(version: Any, tmp_path: Path) -> None:
    saved = read_estimator(FOLDER / "PA1.rpnb", "PA1")
    write_estimator(tmp_path / "model.rpnb", saved._replace(state_version=version))
    with pytest.raises(ModelFileError, match=r"damaged: .*its state version is"):
        baselines.PA1.load(tmp_path / "model.rpnb")


def test_there_is_a_migration_from_every_older_version() -> None:
    expected = {
        (name, version)
        for name, estimator in CLASSES.items()
        for version in range(1, estimator._state_version)
    }
    assert set(MIGRATIONS) == expected


def test_migrations_run_in_order_and_only_those_needed() -> None:
    def rename(saved: SavedEstimator) -> SavedEstimator:
        state = {"count": saved.state["n"]}
        return saved._replace(state=state)

    def double(saved: SavedEstimator) -> SavedEstimator:
        return saved._replace(state={"count": 2 * saved.state["count"]})

    steps = {("Counter", 1): rename, ("Counter", 2): double, ("Other", 1): double}
    old = SavedEstimator("Counter", {}, np.arange(2), 1, None, {"n": 3}, {}, 1)
    new = migrate(old, 3, steps)
    assert new.state == {"count": 6}
    assert new.state_version == 3
    assert old.state == {"n": 3}
    later = old._replace(state={"count": 3}, state_version=2)
    assert migrate(later, 3, steps).state == {"count": 6}
    assert migrate(new, 3, steps) is new
    with pytest.raises(ModelFileError, match="reads versions up to 2"):
        migrate(new, 2, steps)


def test_an_estimator_whose_state_was_changed_reads_its_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename_parameter(saved: SavedEstimator) -> SavedEstimator:
        parameters = dict(saved.parameters)
        parameters["var_floor"] = parameters.pop("smoothing")
        return saved._replace(parameters=parameters)

    model = RPNBClassifier(3, random_state=0).fit(X, PREDICTIONS["PA1"])
    model.save(tmp_path / "new.rpnb")
    saved = read_estimator(tmp_path / "new.rpnb", "RPNBClassifier")
    parameters = dict(saved.parameters)
    parameters["smoothing"] = parameters.pop("var_floor")
    write_estimator(tmp_path / "old.rpnb", saved._replace(parameters=parameters))
    monkeypatch.setattr(RPNBClassifier, "_state_version", saved.state_version + 1)
    step = ("RPNBClassifier", saved.state_version)
    monkeypatch.setitem(MIGRATIONS, step, rename_parameter)
    again = RPNBClassifier.load(tmp_path / "old.rpnb")
    assert again.get_params() == model.get_params()
    assert again.predict(X).tolist() == model.predict(X).tolist()
