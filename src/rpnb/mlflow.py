"""Models in MLflow: save, log and load them, and serve them as a Python function.

A model is stored as its own file, which runs no code when it is read, beside the
requirements to load it again. Needs MLflow: ``pip install 'rpnb[mlflow]'``.

Examples
--------
In a run, and from it::

    import mlflow
    import rpnb.mlflow

    with mlflow.start_run():
        model = rpnb.PooledClassifier(random_state=0).fit(X, y)
        info = rpnb.mlflow.log_model(model, name="model", input_example=X[:3])
    model = rpnb.mlflow.load_model(info.model_uri)  # learns on
    function = mlflow.pyfunc.load_model(info.model_uri)  # predicts
"""

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

try:
    import mlflow.pyfunc
    import yaml
    from mlflow.exceptions import MlflowException
    from mlflow.models import Model, ModelSignature, infer_signature
    from mlflow.models.model import ModelInfo
    from mlflow.models.utils import _save_example
    from mlflow.tracking.artifact_utils import _download_artifact_from_uri
except ImportError as error:
    raise ImportError("rpnb.mlflow needs MLflow: pip install 'rpnb[mlflow]'") from error

from rpnb._version import __version__
from rpnb.loading import load

__all__ = [
    "FLAVOR_NAME",
    "get_default_pip_requirements",
    "load_model",
    "log_model",
    "save_model",
]

FLAVOR_NAME = "rpnb"
Method = Literal["predict", "predict_next", "predict_proba", "predict_next_proba"]
_METHODS: tuple[Method, ...] = (
    *("predict", "predict_next", "predict_proba", "predict_next_proba"),
)
_FILE = "model.rpnb"
_REQUIREMENTS, _CONDA, _PYTHON = "requirements.txt", "conda.yaml", "python_env.yaml"


def get_default_pip_requirements() -> list[str]:
    """Return what a model needs to be loaded and served by MLflow.

    Returns
    -------
    list of str
        Requirements as pip takes them.
    """
    return ["mlflow-skinny", "pandas", f"rpnb=={__version__}"]


def save_model(
    model: Any,
    path: str | Path,
    *,
    mlflow_model: Model | None = None,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    pip_requirements: Sequence[str] | None = None,
    pyfunc_predict_fn: Method = "predict",
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a model as a folder of MLflow.

    Parameters
    ----------
    model : classifier of this package
        A fitted one: `PooledClassifier`, `RPNBClassifier`, one of `rpnb.baselines`, a
        pipeline, or a compiled model.
    path : str or path
        Folder, which must be new or empty.
    mlflow_model : mlflow.models.Model, optional
        Description that the flavours are added to.
    signature : mlflow.models.ModelSignature, optional
        Types of inputs and outputs; by default inferred from `input_example`, if given.
    input_example : array or frame, optional
        Some rows, stored with the model.
    pip_requirements : sequence of str, optional
        What is needed to load the model; see `get_default_pip_requirements`.
    pyfunc_predict_fn : {"predict", "predict_next", "predict_proba", \
"predict_next_proba"}, default="predict"
        What the model does as a Python function.
    metadata : mapping, optional
        Stored in the description.
    """
    method = _check_method(model, pyfunc_predict_fn)
    folder = Path(path).absolute()
    if folder.exists() and any(folder.iterdir()):
        raise MlflowException(f"{folder} must be empty, and has files in it")
    folder.mkdir(parents=True, exist_ok=True)
    described = Model() if mlflow_model is None else mlflow_model
    if input_example is not None:
        _save_example(described, input_example, str(folder))
        if signature is None:
            told = getattr(model, method)(_as_rows(model, input_example))
            signature = infer_signature(input_example, told)
    if signature is not None:
        described.signature = signature
    if metadata is not None:
        described.metadata = dict(metadata)
    model.save(folder / _FILE)
    mlflow.pyfunc.add_to_model(
        described,
        loader_module="rpnb.mlflow",
        data=_FILE,
        conda_env=_CONDA,
        python_env=_PYTHON,
        model_config={"predict_fn": method},
    )
    described.add_flavor(
        FLAVOR_NAME,
        rpnb_version=__version__,
        estimator=type(model).__name__,
        data=_FILE,
        code=None,
    )
    described.save(str(folder / "MLmodel"))
    _write_requirements(folder, pip_requirements)


def _write_requirements(folder: Path, given: Sequence[str] | None) -> None:
    """Write what is needed to load the model, for pip, virtualenv and conda."""
    needed = get_default_pip_requirements() if given is None else list(given)
    (folder / _REQUIREMENTS).write_text("\n".join([*needed, ""]), encoding="utf-8")
    version = platform.python_version()
    python_env = {"python": version, "dependencies": [f"-r {_REQUIREMENTS}"]}
    (folder / _PYTHON).write_text(yaml.safe_dump(python_env), encoding="utf-8")
    conda = {
        "name": "mlflow-env",
        "channels": ["conda-forge"],
        "dependencies": [f"python={version}", "pip", {"pip": needed}],
    }
    (folder / _CONDA).write_text(yaml.safe_dump(conda), encoding="utf-8")


def log_model(
    model: Any,
    name: str = "model",
    *,
    registered_model_name: str | None = None,
    **given: Any,
) -> ModelInfo:
    """Log a model as an artifact of the active run, or of a new one.

    Parameters
    ----------
    model : classifier of this package
        A fitted one.
    name : str, default="model"
        Name of the model.
    registered_model_name : str, optional
        Name under which a version of it is registered.
    **given
        Arguments of `save_model`, such as `input_example`, and of MLflow's
        `Model.log`, such as `tags`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        With `model_uri`, which `load_model` takes.
    """
    import rpnb.mlflow

    return Model.log(
        artifact_path=None,
        name=name,
        flavor=rpnb.mlflow,
        model=model,
        registered_model_name=registered_model_name,
        **given,
    )


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Read a model that `save_model` or `log_model` wrote.

    Parameters
    ----------
    model_uri : str
        Address such as ``models:/…`` or ``runs:/…/model``, or a folder.
    dst_path : str, optional
        Folder to download to.

    Returns
    -------
    estimator
        The model, which can go on learning.
    """
    folder = Path(_download_artifact_from_uri(str(model_uri), output_path=dst_path))
    flavour = Model.load(str(folder / "MLmodel")).flavors.get(FLAVOR_NAME)
    if flavour is None:
        raise MlflowException(f"{model_uri} is no model of rpnb")
    return load(folder / flavour["data"])


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Any:
    """Return what MLflow calls as a Python function; called by MLflow alone."""
    method = (model_config or {}).get("predict_fn", "predict")
    return _PythonFunction(load(path), method)


@final
class _PythonFunction:
    """A model as MLflow's functions see it.

    Parameters
    ----------
    model
        A fitted model.
    method
        The method that predicts; `params={"predict_fn": …}` names another for a call.
    """

    def __init__(self, model: Any, method: str) -> None:
        self._model, self._method = model, _check_method(model, method)

    def get_raw_model(self) -> Any:
        """Return the model itself."""
        return self._model

    def predict(
        self, model_input: Any, params: Mapping[str, Any] | None = None
    ) -> np.ndarray[Any, Any]:
        """Return the predictions of rows."""
        name = (params or {}).get("predict_fn", self._method)
        method = getattr(self._model, _check_method(self._model, name))
        found: np.ndarray[Any, Any] = method(_as_rows(self._model, model_input))
        return found


def _as_rows(model: Any, given: Any) -> Any:
    """Return rows as the model takes them: without names that it was not given."""
    named = hasattr(model, "feature_names_in_") or model._columns is not None
    return given.to_numpy() if not named and hasattr(given, "to_numpy") else given


def _check_method(model: Any, method: str) -> str:
    """Return the name of a method that predicts, if the model has it."""
    if method not in _METHODS or not hasattr(model, method):
        there = ", ".join(each for each in _METHODS if hasattr(model, each))
        raise MlflowException(
            f"{type(model).__name__} has no method {method!r} that predicts; it has "
            f"{there or 'none: fit it first'}"
        )
    return method
