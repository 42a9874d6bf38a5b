"""Model files from clients, checked as untrusted files."""

import io
import json
import zipfile
from typing import Any, NamedTuple

from rpnb.estimators.checks.columns import CATEGORICAL, TEXT
from rpnb.estimators.mini_batches import model_to_bytes
from rpnb.estimators.protocol import columns_of, parameters_of
from rpnb.estimators.registry import RegisteredLearner, learners
from rpnb.estimators.saving.files import ModelFileError
from rpnb.serve.http.json_tables import parse_json
from rpnb.serve.http.memory import MemoryCharge
from rpnb.serve.label_rules import check_label_values, check_names
from rpnb.serve.limits import ApiError, Limits, beyond, invalid
from rpnb.serve.specs import Learner, ModelSpec, NewClasses, check_size

_METADATA = "metadata.json"


class Upload(NamedTuple):
    """A model file that can be served."""

    spec: ModelSpec
    learner: Learner
    file: bytes
    """model file of the learner, without names of features"""


def read_upload(
    content: bytes,
    limits: Limits,
    new_classes: NewClasses = "accept",
    memory: MemoryCharge | None = None,
) -> Upload:
    """Check a model file and load the learner in it.

    With `new_classes` "refuse", labels other than its classes will be refused.
    """
    about = _metadata(content)
    registered = _registered(about.get("estimator"))
    p = about.get("n_features_in")
    parameters = about.get("parameters")
    if type(p) is not int or p < 1 or not isinstance(parameters, dict):
        raise _damaged()
    if p > limits.max_features:
        raise beyond("max_features", limits.max_features, "too many features")
    classes = about.get("classes")
    if not isinstance(classes, list) or len(classes) > limits.max_classes:
        raise beyond("max_classes", limits.max_classes, "too many classes")
    if not isinstance(parameters.get("class_prior", ""), str):
        raise invalid("models with a fixed class_prior cannot be served")
    numbers = check_size(registered.name, parameters, p, limits, len(classes))
    # Memory for the model, and for its arrays while they are read and written.
    (memory or MemoryCharge()).add(8 * numbers + 3 * len(content))
    try:
        learner = registered.estimator.load(io.BytesIO(content))
    except (ModelFileError, ValueError, MemoryError, OSError):
        # Their messages may repeat content of the file.
        raise _damaged() from None
    columns = columns_of(learner)
    kinds = () if columns is None else columns.kinds
    dates = tuple(j for j, kind in enumerate(kinds) if kind == "date")
    names = getattr(learner, "feature_names_in_", None)
    if names is not None:
        del learner.feature_names_in_
    file = model_to_bytes(learner)
    features = None if names is None else check_names(names.tolist(), "feature")
    labels = learner.classes_.tolist()
    if any(type(label) is float for label in labels):
        raise invalid("models whose labels are floats cannot be served")
    check_label_values(labels)
    parameters = json.loads(json.dumps(parameters_of(learner)))
    parameters.pop("n_jobs", None)
    for name, what in ((CATEGORICAL, "category"), (TEXT, "text")):
        if what in kinds:
            parameters[name] = [j for j, kind in enumerate(kinds) if kind == what]
    spec = ModelSpec(
        *(registered.name, parameters, p, features, None),
        from_file=True,
        new_classes=new_classes,
        date_features=dates,
    )
    check_size(registered.name, parameters, spec.width, limits, len(classes))
    return Upload(spec, learner, file)


def _damaged() -> ApiError:
    return invalid("the body is not a valid model file of rpnb")


def _metadata(content: bytes) -> dict[str, Any]:
    """Return the metadata of a model file, before anything else is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            # Without compression, a small file cannot unpack to a large one.
            if any(each.compress_type != zipfile.ZIP_STORED for each in entries):
                raise _damaged()
            if sum(each.file_size for each in entries) > len(content):
                raise _damaged()
            about = parse_json(archive.read(_METADATA))
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, RuntimeError, EOFError):
        raise _damaged() from None
    except NotImplementedError:
        raise _damaged() from None
    if not isinstance(about, dict):
        raise _damaged()
    return about


def _registered(estimator: Any) -> RegisteredLearner:
    for each in learners().values():
        if each.estimator.__name__ == estimator:
            return each
    raise invalid("the file does not contain a learner that can be served")
