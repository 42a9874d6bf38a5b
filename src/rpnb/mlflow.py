"""MLflow flavour: save, log and load models, and serve them as a Python function.

A model is stored as a model file, which runs no code when it is read, together with the
requirements to load it again. Needs MLflow: ``pip install 'rpnb[mlflow]'``.

Examples
--------
In a run, and from it:

>>> import mlflow, rpnb, rpnb.mlflow
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> with mlflow.start_run():
...     model = rpnb.PooledClassifier(random_state=0).fit(X, y)
...     info = rpnb.mlflow.log_model(model, name="model", input_example=X[:3])
>>> model = rpnb.mlflow.load_model(info.model_uri)       # can keep learning
>>> function = mlflow.pyfunc.load_model(info.model_uri)  # predicts
>>> bool((function.predict(X) == model.predict(X)).all())
True
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
from rpnb.estimators.protocol import columns_of
from rpnb.loading import load

__all__ = [
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
    """Return the packages that MLflow needs to load and serve a model.

    Returns
    -------
    list of str
        Requirements as pip takes them.

    Examples
    --------
    >>> import rpnb.mlflow
    >>> rpnb.mlflow.get_default_pip_requirements()[:2]
    ['mlflow-skinny', 'pandas']
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
    """Write a model as an MLflow model folder.

    Parameters
    ----------
    model : classifier of this package
        Fitted model: `PooledClassifier`, `RPNBClassifier`, one of `rpnb.baselines`, a
        pipeline, or a compiled model.
    path : str or path
        Folder to write to, which must be new or empty.
    mlflow_model : mlflow.models.Model, optional
        Model description that the flavours are added to.
    signature : mlflow.models.ModelSignature, optional
        Types of inputs and outputs; by default inferred from `input_example`, if given.
    input_example : array or frame, optional
        Example rows, stored with the model.
    pip_requirements : sequence of str, optional
        Requirements to load the model; see `get_default_pip_requirements`.
    pyfunc_predict_fn : {"predict", "predict_next", "predict_proba", \
"predict_next_proba"}, default="predict"
        Method that the model calls as a Python function.
    metadata : mapping, optional
        Metadata stored in the model description.

    Examples
    --------
    >>> import rpnb, rpnb.mlflow
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = rpnb.PooledClassifier(random_state=0).fit(X, y)
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rpnb.mlflow.save_model(model, folder, input_example=X[:3])
    ...     (Path(folder) / "model.rpnb").exists()
    True
    """
    method = _check_method(model, pyfunc_predict_fn)
    folder = Path(path).absolute()
    if folder.exists() and any(folder.iterdir()):
        raise MlflowException(f"{folder} must be empty, but has files in it")
    folder.mkdir(parents=True, exist_ok=True)
    described = Model() if mlflow_model is None else mlflow_model
    if input_example is not None:
        _save_example(described, input_example, str(folder))
        if signature is None:
            predicted = getattr(model, method)(_as_rows(model, input_example))
            signature = infer_signature(input_example, predicted)
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
        Fitted model; see `save_model`.
    name : str, default="model"
        Name of the model.
    registered_model_name : str, optional
        Name under which to register a version of the model.
    **given
        Arguments of `save_model`, such as `input_example`, and of MLflow's
        `Model.log`, such as `tags`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Description of the logged model; pass its `model_uri` to `load_model`.

    Examples
    --------
    >>> import rpnb, rpnb.mlflow
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = rpnb.PooledClassifier(random_state=0).fit(X, y)
    >>> info = rpnb.mlflow.log_model(model, name="iris", input_example=X[:3])
    >>> info.name, info.signature.inputs.is_tensor_spec()
    ('iris', True)
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
        The model, which can keep learning.

    Examples
    --------
    >>> import rpnb, rpnb.mlflow
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = rpnb.PooledClassifier(random_state=0).fit(X, y)
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rpnb.mlflow.save_model(model, folder)
    ...     loaded = rpnb.mlflow.load_model(folder)
    >>> loaded.partial_fit(X, y).n_samples_seen_
    300
    """
    folder = Path(_download_artifact_from_uri(str(model_uri), output_path=dst_path))
    flavour = Model.load(str(folder / "MLmodel")).flavors.get(FLAVOR_NAME)
    if flavour is None:
        raise MlflowException(f"{model_uri} is not an rpnb model")
    return load(folder / flavour["data"])


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Any:
    """Return the Python function model; called only by MLflow."""
    method = (model_config or {}).get("predict_fn", "predict")
    return _PythonFunction(load(path), method)


@final
class _PythonFunction:
    """A model as an MLflow Python function.

    Parameters
    ----------
    model
        Fitted model.
    method
        Method that predicts; `params={"predict_fn": …}` overrides it for one call.
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
    """Return rows in the form that the model accepts, without names if it has none."""
    named = hasattr(model, "feature_names_in_") or columns_of(model) is not None
    return given.to_numpy() if not named and hasattr(given, "to_numpy") else given


def _check_method(model: Any, method: str) -> str:
    """Return the name of a prediction method, if the model has it."""
    if method not in _METHODS or not hasattr(model, method):
        present = ", ".join(each for each in _METHODS if hasattr(model, each))
        raise MlflowException(
            f"{type(model).__name__} has no prediction method {method!r}; it has "
            f"{present or 'none: fit it first'}"
        )
    return method
