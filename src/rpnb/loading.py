"""Reading a model file without knowing which learner wrote it."""

from collections.abc import Mapping
from typing import Any

from rpnb.estimators.drift.drift_aware import DriftAware
from rpnb.estimators.frozen.frozen_rpnb import FrozenRPNB
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.files import (
    ModelFileError,
    ModelSource,
    name_of,
    read_metadata,
)
from rpnb.preprocessing import StreamPipeline


def load(path: ModelSource, *, key: bytes | None = None) -> Any:
    """Read a model that `save` wrote, whatever its class; see `RPNBClassifier.load`.

    Parameters
    ----------
    path : str, path or binary file
        Model file of any learner of this package, of a pipeline or of a compiled model.
        An open file must be able to seek, and is left open.
    key : bytes, optional
        Secret with which the file must have been signed.

    Returns
    -------
    estimator
        The model; it behaves as the saved one, to the bit.

    Raises
    ------
    ModelFileError
        If the file is not a complete model, or not signed with the key.

    Examples
    --------
    >>> import rpnb, tempfile
    >>> model = rpnb.PooledClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.rpnb")
    ...     type(rpnb.load(f"{folder}/model.rpnb")).__name__
    'PooledClassifier'
    """
    name = read_metadata(path).get("estimator")
    classes = _classes()
    if not isinstance(name, str) or name not in classes:
        raise ModelFileError(
            f"{name_of(path)} holds a {name!r}, which this version of rpnb cannot load"
        )
    return classes[name].load(path, key=key)


def _classes() -> Mapping[str, Any]:
    """Return the classes whose models can be saved, by their names."""
    found: list[type] = [each.estimator for each in learners().values()]
    holders = [StreamPipeline, DriftAware, FrozenRPNB]
    return {each.__name__: each for each in [*found, *holders]}
