"""Model files of another state version are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.estimators.saving.estimator import read_estimator, write_estimator
from rpnb.estimators.saving.files import ModelFileError

X = np.array([[i % 5, i // 5] for i in range(25)], np.float64)
y = np.array(["near", "far", "between"])[(X[:, 0] * X[:, 1]).astype(int) % 3]
FITTED = (
    RPNBClassifier(5, random_state=0).fit(X, y),
    RPNBClassifier(5, random_state=0).fit(X, y).compile(),
    PooledClassifier(n_projections=16).fit(X, y),
    baselines.PA1().fit(X, y),
)


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("later", [1, 7])
def test_another_state_version_is_refused(
    model: Any, later: int, tmp_path: Path
) -> None:
    path, name = tmp_path / "model.rpnb", type(model).__name__
    model.save(path)
    saved = read_estimator(path, name)
    version = saved.state_version + later
    changed = saved._replace(state_version=version, rpnb_version="9.1")
    write_estimator(path, changed)
    expected = (
        rf"{name} of state version {version}, written by rpnb 9\.1; this rpnb reads "
        rf"version {saved.state_version}: use the rpnb that wrote it"
    )
    with pytest.raises(ModelFileError, match=expected):
        type(model).load(path)


@pytest.mark.parametrize("version", ["2", 0, -1, 1.0, True, None])
def test_a_state_version_that_is_none_is_damage(version: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.rpnb"
    baselines.PA1().fit(X, y).save(path)
    saved = read_estimator(path, "PA1")
    write_estimator(path, saved._replace(state_version=version))
    with pytest.raises(ModelFileError, match=r"damaged: .*its state version is"):
        baselines.PA1.load(path)


@pytest.mark.parametrize("dense", [0, 4, 12, 32, "8", None, True])
def test_a_number_of_dense_projections_that_cannot_be_is_refused(
    dense: Any, tmp_path: Path
) -> None:
    path = tmp_path / "model.rpnb"
    PooledClassifier(n_projections=32).fit(X, y).save(path)
    saved = read_estimator(path, "PooledClassifier")
    assert saved.state["dense"] != dense
    write_estimator(path, saved._replace(state={**saved.state, "dense": dense}))
    with pytest.raises(ModelFileError):
        PooledClassifier.load(path)
