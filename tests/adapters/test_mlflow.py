"""Models in MLflow, on a local folder: the flavour of rpnb and the Python function.

`make test-mlflow` runs it, in an environment in which MLflow is installed.
"""

import doctest
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

import rpnb
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import PA
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

mlflow = pytest.importorskip("mlflow", reason="make test-mlflow runs it")
pd = pytest.importorskip("pandas")
flavour: Any = importlib.import_module("rpnb.mlflow")

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(
    kind=np.where(X[:, 0] > 6, "long", "short").astype(object),
    sent=pd.date_range("2026-01-01", periods=len(X)),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder in which MLflow stores everything, without a database."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_registry_uri((tmp_path / "registry").as_uri())
    yield tmp_path
    while mlflow.active_run() is not None:
        mlflow.end_run()


def pooled(rows: Any = X) -> PooledClassifier:
    return PooledClassifier(n_projections=16, random_state=0).fit(rows, Y)


@pytest.mark.parametrize(
    "model",
    [
        pooled(),
        RPNBClassifier(5, random_state=0).fit(X, Y),
        make_stream_pipeline(RunningScaler(), PA()).fit(FRAME, Y),
    ],
    ids=["Pooled", "RPNB", "pipeline"],
)
def test_a_saved_model_is_the_same_and_goes_on(model: Any, tmp_path: Path) -> None:
    rows = FRAME if hasattr(model, "feature_names_in_") else X
    flavour.save_model(model, tmp_path / "m")
    again = flavour.load_model(str(tmp_path / "m"))
    assert type(again) is type(model)
    assert_array_equal(again.predict(rows), model.predict(rows))
    assert_array_equal(
        again.predict_then_learn(rows, Y), model.predict_then_learn(rows, Y)
    )
    function = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert_array_equal(
        function.predict(rows), rpnb.load(tmp_path / "m" / "model.rpnb").predict(rows)
    )


def test_a_logged_model_has_signature_example_and_requirements() -> None:
    model = pooled(FRAME)
    with mlflow.start_run():
        info = flavour.log_model(
            model,
            name="iris",
            input_example=FRAME.head(3),
            pyfunc_predict_fn="predict_proba",
        )
    assert [each.name for each in info.signature.inputs] == [*FRAME]
    assert set(info.flavors) == {"rpnb", "python_function"}
    function = mlflow.pyfunc.load_model(info.model_uri)
    assert_array_equal(function.predict(FRAME), model.predict_proba(FRAME))
    described = mlflow.models.Model.load(info.model_uri)
    assert described.flavors["rpnb"]["estimator"] == "PooledClassifier"
    local = Path(mlflow.artifacts.download_artifacts(info.model_uri))
    assert f"rpnb=={rpnb.__version__}" in (local / "requirements.txt").read_text()
    example = described.load_input_example(info.model_uri)
    assert [*example] == [*FRAME]
    back = flavour.load_model(info.model_uri)
    assert_array_equal(back.predict(FRAME), model.predict(FRAME))


def test_versions_are_registered(folder: Path) -> None:
    with mlflow.start_run():
        for seed in (0, 1):
            model = RPNBClassifier(3, random_state=seed).fit(X, Y)
            flavour.log_model(model, registered_model_name="flowers")
    found = flavour.load_model("models:/flowers/2")
    assert_array_equal(found.predict(X), model.predict(X))


def test_the_command_of_mlflow_predicts(tmp_path: Path) -> None:
    """Another process, which has only the folder."""
    model = pooled(FRAME[["a", "b", "c", "d"]])
    flavour.save_model(model, tmp_path / "m")
    rows = FRAME[["a", "b", "c", "d"]].head(4)
    data = {"dataframe_split": json.loads(rows.to_json(orient="split", index=False))}
    (tmp_path / "rows.json").write_text(json.dumps(data))
    command = [sys.executable, "-m", "mlflow", "models", "predict", "-m"]
    command += [str(tmp_path / "m"), "-i", str(tmp_path / "rows.json")]
    command += ["-o", str(tmp_path / "out.json"), "--env-manager", "local"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out.json").read_text())["predictions"]
    assert told == model.predict(rows).tolist()


def test_refusals_say_what_is_there(tmp_path: Path) -> None:
    perceptron = PA().fit(X, Y)
    error = mlflow.exceptions.MlflowException
    said = "PA has no prediction method 'predict_proba'; it has predict, "
    with pytest.raises(error, match=said):
        flavour.save_model(
            perceptron, tmp_path / "m", pyfunc_predict_fn="predict_proba"
        )
    flavour.save_model(perceptron, tmp_path / "m")
    with pytest.raises(error, match="must be empty"):
        flavour.save_model(perceptron, tmp_path / "m")
    function = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert isinstance(function.get_raw_model(), PA)


def test_the_examples_run() -> None:
    found = doctest.testmod(flavour)
    assert found.attempted > 20
    assert found.failed == 0
