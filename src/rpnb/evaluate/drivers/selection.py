"""The choice of the driver for a learner, by the learner's methods."""

import warnings
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from sklearn.base import is_classifier

from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.learners.references import MajorityClass, NoChange
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.evaluate.drivers.asked_labels import AskingDriver
from rpnb.evaluate.drivers.class_mix import ClassMixDriver
from rpnb.evaluate.drivers.driver import (
    BatchDriver,
    Driver,
    Probabilities,
    RiverDriver,
    TableDriver,
)
from rpnb.evaluate.drivers.later import LaterDriver, remembers
from rpnb.evaluate.drivers.native import NativeDriver
from rpnb.evaluate.drivers.partial_pipeline import (
    PartialPipeline,
    is_pipeline,
    missing_partial_fit,
)
from rpnb.labels import LabelIndex

#: The references that are part of every table.
REFERENCES: Mapping[str, type[StreamClassifier]] = {
    "majority class": MajorityClass,
    "same as last": NoChange,
}


def named(models: Any) -> dict[str, Any]:
    """Return learners by name; one without a name gets the name of its class.

    Of several learners of one class, the second is numbered 2, and so on.
    """
    if isinstance(models, list | tuple):
        found: dict[str, Any] = {}
        for model in models:
            own = _class_name(model)
            name, number = own, 2
            while name in found:
                name, number = f"{own} {number}", number + 1
            found[name] = model
        models = found
    if not isinstance(models, Mapping):
        return {_class_name(models): models}
    if not models:
        raise ValueError("models must hold at least one learner, got none")
    for name in models:
        if not isinstance(name, str):
            raise TypeError(f"models must be named by text, got {name!r}")
        if name in REFERENCES:
            raise ValueError(f"models must not be named {name!r}: a reference is")
    return dict(models)


def _class_name(model: Any) -> str:
    """Return the name of a learner's class, or of a class given in its place."""
    return (model if isinstance(model, type) else type(model)).__name__


def is_native(model: Any) -> bool:
    """Whether a learner belongs to this package."""
    return isinstance(model, StreamClassifier)


def is_river(model: Any) -> bool:
    """Whether a learner has River's methods; River itself is not imported."""
    return (
        not hasattr(model, "partial_fit")
        and callable(getattr(model, "learn_one", None))
        and callable(getattr(model, "predict_one", None))
    )


def check_learner(name: str, model: Any) -> None:
    """Raise an error if a learner cannot learn from a stream."""
    if isinstance(model, type):
        raise TypeError(
            f"{name} must be a learner, not a class of learners: make one with "
            f"{model.__name__}()"
        )
    if is_native(model):
        return
    if is_river(model):
        last = _last_step(model)
        if type(last).__module__.startswith("river."):
            from river.base import Classifier

            if not isinstance(last, Classifier):
                raise TypeError(f"{name} must be a classifier, got {model!r}")
        return
    if is_pipeline(model):
        step = missing_partial_fit(model)
        if step is not None:
            raise TypeError(
                f"{name} must learn from a stream: its step {step!r} has no partial_fit"
            )
        model = model.steps[-1][1]
    if not hasattr(model, "partial_fit") or not hasattr(model, "predict"):
        raise TypeError(
            f"{name} must learn from a stream: a learner of rpnb, an estimator of "
            "scikit-learn with partial_fit, or a classifier of River; got "
            f"{type(model).__name__}, which has none of their methods"
        )
    if hasattr(model, "__sklearn_tags__") and not is_classifier(model):
        raise TypeError(f"{name} must be a classifier, got {model!r}")


def warn_of_zero_variances(name: str, model: Any) -> None:
    """Warn about a scikit-learn GaussianNB that learned single rows.

    It adds a share of the variance of the rows of a call to all variances
    (`var_smoothing`). A single row has none: a feature that is constant in a class
    keeps a variance of 0, and the scores are not numbers.
    """
    last = model.steps[-1][1] if is_pipeline(model) else model
    if not (hasattr(last, "var_smoothing") and hasattr(last, "var_")):
        return
    if (last.var_[last.class_count_ > 0] > 0.0).all():
        return
    warnings.warn(
        f"{name}: features that are constant in a class have a variance of 0, so that "
        f"predictions are of no use. scikit-learn's {type(last).__name__} smooths "
        "variances by those of the rows that it learns in one call, and a single row "
        "has none: set batch_size=100, or use rpnb.baselines.GaussianNB, which learns "
        "row by row",
        UserWarning,
        stacklevel=3,
    )


def has_probabilities(model: Any) -> bool:
    """Whether a learner gives probabilities."""
    if not is_river(model):
        return hasattr(model, "predict_proba")
    # River's classifiers all have the method; without probabilities it only raises.
    method = getattr(type(_last_step(model)), "predict_proba_one", None)
    return method is not None and method.__module__ != "river.base.classifier"


def can_be_corrected(model: Any) -> bool:
    """Whether the probabilities of a learner can be corrected for the class mix."""
    return has_probabilities(model) and not is_river(model)


def _last_step(model: Any) -> Any:
    """Return a River learner, or the last step of a River pipeline."""
    steps = getattr(model, "steps", None)
    return list(steps.values())[-1] if isinstance(steps, Mapping) else model


def drive(
    model: Any,
    labels: LabelIndex,
    *,
    probabilities: bool,
    declared: LabelArray | None,
    classes: LabelArray | None,
    batch_size: int,
    late: bool,
    budget: float | None = None,
    correct_class_mix: bool = False,
) -> Driver:
    """Return a driver of a copy of a learner.

    `probabilities` is whether the probabilities of the true labels are needed, `late`
    whether labels may arrive late. `declared` are the declared classes, and `classes`
    all classes, for learners that need them in advance. scikit-learn's estimators learn
    `batch_size` rows at once. With a `budget` the learner gets only the labels that it
    asks for. With `correct_class_mix` its probabilities are corrected; see
    `can_be_corrected`.
    """
    copy = deepcopy(model)
    asked: Probabilities = "none"
    if has_probabilities(copy):
        asked = "truth" if probabilities else "prediction" if budget else "none"
    driver = _drive(
        *(copy, labels, asked, declared, classes, batch_size),
        late=late or budget is not None,
    )
    if correct_class_mix and isinstance(driver, TableDriver):
        driver = ClassMixDriver(driver)
    if budget is None:
        return driver
    return AskingDriver(driver, budget, shown=asked == "truth")


def _drive(
    copy: Any,
    labels: LabelIndex,
    asked: Probabilities,
    declared: LabelArray | None,
    classes: LabelArray | None,
    batch_size: int,
    *,
    late: bool,
) -> Driver:
    """Return a driver of a learner, which is changed, that gets all labels."""
    if is_river(copy):
        return RiverDriver(copy, labels, asked)
    if not is_native(copy):
        if is_pipeline(copy):
            copy = PartialPipeline(copy)
        return BatchDriver(copy, labels, asked, classes=classes, batch_size=batch_size)
    size = getattr(copy, "batch_size", 1)
    if size == 1:
        native = NativeDriver(copy, labels, asked, classes=declared, late=late)
        return LaterDriver(native) if late and remembers(copy) else native
    # A mini-batch must not end where a call happens to.
    size = batch_size if size is None else size
    return BatchDriver(copy, labels, asked, classes=declared, batch_size=size)


def drive_references(
    labels: LabelIndex,
    declared: LabelArray | None,
    late: bool,
    budget: float | None = None,
) -> dict[str, Driver]:
    """Return drivers of the references, which use labels only.

    With a `budget` they get this share of the labels, at random.
    """
    late = late or budget is not None
    drivers: dict[str, Driver] = {
        name: NativeDriver(
            learner(), labels, classes=declared, late=late, labels_only=True
        )
        for name, learner in REFERENCES.items()
    }
    if budget is None:
        return drivers
    return {
        name: AskingDriver(driver, budget, shown=False)
        for name, driver in drivers.items()
    }


def learner_of(driver: Driver) -> Any:
    """Return the learner of a driver."""
    model = driver.model
    return model.pipeline if isinstance(model, PartialPipeline) else model
