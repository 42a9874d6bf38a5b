"""Specifications of models: what clients may request, and the resulting learner."""

import inspect
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rpnb.core.columns.coding import MOST_WIDTH, WIDTHS, ColumnKind
from rpnb.estimators.checks.columns import CATEGORICAL, TEXT, Columns
from rpnb.estimators.protocol import (
    StreamClassifier,
    declare,
    has_probabilities,
    set_columns,
)
from rpnb.estimators.registry import (
    DEFAULT,
    RegisteredLearner,
    find_learner,
    learners,
)
from rpnb.serve.label_rules import (
    Label,
    as_array,
    check_label_values,
    check_names,
)
from rpnb.serve.limits import Limits, beyond, invalid

Learner = StreamClassifier
NewClasses = Literal["accept", "refuse"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
# Steps of learning a row, besides those that change the state.
_STEPS_PER_ROW = 1_000.0
# Parameters set by the server, or useless in it.
_NOT_FOR_CLIENTS = ("n_jobs", "shuffle")


def check_name(name: Any) -> str:
    """Return a name that is safe as part of a path or an address."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise invalid(
            "a name must be 1 to 64 letters, digits, _ and -, and begin with a letter "
            "or a digit"
        )
    return name


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Everything that a new model is created from."""

    learner: str
    parameters: Mapping[str, Any]
    n_features: int
    features: tuple[str, ...] | None
    classes: tuple[Label, ...] | None
    from_file: bool = False
    """whether its first state was uploaded, and is its first snapshot"""
    new_classes: NewClasses = "accept"
    """what happens to a label that is not one of the classes"""
    date_features: tuple[int, ...] = ()
    """numbers of the columns of dates"""
    correct_class_mix: bool = False
    """whether to correct for a changing class mix while labels are missing"""

    @property
    def columns(self) -> Columns | None:
        """Kinds of the columns; None if all are numbers."""
        named: dict[int, ColumnKind] = dict.fromkeys(self.date_features, "date")
        of_parameters: tuple[tuple[str, ColumnKind], ...] = (
            (CATEGORICAL, "category"),
            (TEXT, "text"),
        )
        for name, kind in of_parameters:
            places = self.parameters.get(name)
            named |= dict.fromkeys(places if isinstance(places, list) else (), kind)
        if not named:
            return None
        return Columns(tuple(named.get(j, "number") for j in range(self.n_features)))

    @property
    def width(self) -> int:
        """Number of columns after coding: text and dates take several."""
        columns = self.columns
        return self.n_features if columns is None else columns.width

    def state_numbers(self, classes: int, *, kept_rows: bool = True) -> float:
        """Estimate, from above, how many numbers the learner's state holds.

        Without `kept_rows`, that is a new state, or what a row may change.
        """
        return learners()[self.learner].state_numbers(
            self.parameters, self.width, max(classes, 2), kept_rows=kept_rows
        )

    def steps(self, rows: int, classes: int, new_classes: int = 0) -> float:
        """Estimate the steps of learning rows; a processor does about 10⁹ per second.

        `classes` includes the new ones.
        """
        each = _STEPS_PER_ROW + self.state_numbers(classes, kept_rows=False)
        of_class = learners()[self.learner].class_steps(self.width)
        return rows * each + new_classes * of_class

    def to_json(self) -> str:
        """Return the specification as JSON."""
        return json.dumps(
            {
                "learner": self.learner,
                "parameters": dict(self.parameters),
                "n_features": self.n_features,
                "features": self.features,
                "classes": self.classes,
                "from_file": self.from_file,
                "new_classes": self.new_classes,
                "date_features": self.date_features,
                "correct_class_mix": self.correct_class_mix,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "ModelSpec":
        """Return what `to_json` wrote."""
        saved = json.loads(text)
        for name in ("features", "classes"):
            saved[name] = None if saved[name] is None else tuple(saved[name])
        saved["date_features"] = tuple(saved.get("date_features", ()))
        return cls(**saved)


#: Fields of a request to create a model.
SPEC_FIELDS = (
    *("name", "learner", "parameters", "features", "n_features", "classes"),
    *("new_classes", "date_features", "correct_class_mix"),
)


def read_spec(request: Mapping[str, Any], limits: Limits) -> ModelSpec:
    """Return the specification that a JSON object of a client describes."""
    learner = find_learner(_text(request.get("learner", DEFAULT)))
    if learner is None:
        raise invalid(f"learner must be one of {', '.join(learners())}")
    names, p = _read_features(
        request.get("features"), request.get("n_features"), limits
    )
    classes = _read_classes(request.get("classes"), limits)
    new_classes = check_new_classes(request.get("new_classes", "accept"))
    if new_classes == "refuse" and classes is None:
        raise invalid("new_classes 'refuse' needs classes, the list of all labels")
    corrected = request.get("correct_class_mix", False)
    if type(corrected) is not bool:
        raise invalid("correct_class_mix must be true or false")
    if corrected and not has_probabilities(learner.estimator()):
        raise invalid(
            f"correct_class_mix must be false: {learner.name} has no probabilities"
        )
    given = request.get("parameters", {})
    dates = request.get("date_features", [])
    _check_takes_tables(learner, given, dates)
    parameters = _parameters(learner.estimator, given)
    dates = _number_columns(parameters, dates, names, p)
    if learner.seeded and parameters.get("random_state") is None:
        parameters["random_state"] = secrets.randbits(32)
    return ModelSpec(
        *(learner.name, parameters, p, names, classes),
        new_classes=new_classes,
        date_features=dates,
        correct_class_mix=corrected,
    )


def _read_features(
    names: Any, p: Any, limits: Limits
) -> tuple[tuple[str, ...] | None, int]:
    """Return the names of the features, if given, and their number."""
    checked = None
    if names is not None:
        if not isinstance(names, list) or not names:
            raise invalid("features must be a list of at least one name")
        _check_number_of_features(len(names), limits)
        checked = check_names(names, "feature")
        if p not in (None, len(names)):
            raise invalid("n_features must be the number of features")
        p = len(names)
    if type(p) is not int or p < 1:
        raise invalid("features must be a list of names, or n_features their number")
    _check_number_of_features(p, limits)
    return checked, p


def _check_number_of_features(p: int, limits: Limits) -> None:
    if p > limits.max_features:
        raise beyond("max_features", limits.max_features, "too many features")


def _read_classes(classes: Any, limits: Limits) -> tuple[Label, ...] | None:
    """Return the declared classes, if any."""
    if classes is None:
        return None
    if not isinstance(classes, list) or not classes:
        raise invalid("classes must be a list of at least one label")
    if len(classes) > limits.max_classes:
        raise beyond("max_classes", limits.max_classes, "too many classes")
    checked = tuple(check_label_values(classes))
    if len(set(checked)) < len(checked):
        raise invalid("each label in classes must occur only once")
    return checked


def check_new_classes(value: Any) -> NewClasses:
    """Return the rule for labels that are not one of a model's classes."""
    if value == "accept" or value == "refuse":
        return value
    raise invalid("new_classes must be 'accept' or 'refuse'")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _parameters(estimator: type[Learner], given: Any) -> dict[str, Any]:
    """Return the parameters of a learner, which must be plain values."""
    if not isinstance(given, dict):
        raise invalid("parameters must be an object")
    names = [
        name
        for name in inspect.signature(estimator).parameters
        if name not in _NOT_FOR_CLIENTS
    ]
    for name in given:
        if name not in names:
            raise invalid(
                f"the learner has no parameter {name:.100}; it has "
                f"{', '.join(names) or 'none'}"
            )
    for name, value in given.items():
        values = value if isinstance(value, list) and value else [value]
        for each in values:
            if isinstance(each, dict | list):
                raise invalid(f"parameter {name} must be a number, text, or a list")
            if isinstance(each, int | float) and not abs(each) < 2**63:
                raise invalid(f"parameter {name} must be between -2⁶³ and 2⁶³")
    if isinstance(given.get("class_prior"), list):
        raise invalid("parameter class_prior must be 'uniform' or 'frequency'")
    return dict(given)


def _check_takes_tables(learner: RegisteredLearner, given: Any, dates: Any) -> None:
    """Refuse columns that are not numeric if the learner only takes numbers."""
    if not isinstance(dates, list):
        raise invalid("date_features must be a list")
    takes = inspect.signature(learner.estimator).parameters
    if CATEGORICAL in takes or not isinstance(given, dict):
        return
    named = [name for name in (CATEGORICAL, TEXT) if name in given]
    for name in (*named, *(["date_features"] if dates else [])):
        raise invalid(
            f"{name}: {learner.name} takes numbers only; use the learner {DEFAULT} for "
            "columns of categories, text and dates"
        )


def _number_columns(
    parameters: dict[str, Any], dates: list[Any], names: tuple[str, ...] | None, p: int
) -> tuple[int, ...]:
    """Replace names of columns in the parameters by their numbers.

    Returns the numbers of the columns of dates.
    """
    taken: dict[int, str] = {}

    def numbers(name: str, given: list[Any]) -> list[int]:
        places = set()
        for each in given:
            place = names.index(each) if names and each in names else each
            if type(place) is not int or not 0 <= place < p:
                raise invalid(
                    f"{name} must have names of features, or their numbers from 0"
                )
            places.add(place)
            if taken.setdefault(place, name) != name:
                raise invalid(f"column {each} is in {taken[place]} and in {name}")
        return sorted(places)

    for name in (CATEGORICAL, TEXT):
        if isinstance(parameters.get(name), list):
            parameters[name] = numbers(name, parameters[name])
    found = tuple(numbers("date_features", dates))
    texts = parameters.get(TEXT)
    width = WIDTHS["date"] * len(found)
    width += WIDTHS["text"] * (len(texts) if isinstance(texts, list) else 0)
    if width > MOST_WIDTH:
        raise beyond("their largest number", MOST_WIDTH, "too many columns of text")
    return found


def new_learner(spec: ModelSpec, limits: Limits | None = None) -> Learner:
    """Return the learner of a specification; with classes, it can predict at once.

    With limits, the parameters come from a client and are checked.
    """
    if limits is not None:
        known = len(spec.classes or ())
        check_size(spec.learner, spec.parameters, spec.width, limits, known)
    try:
        if limits is not None:
            _try_out(spec)
        model = _empty_learner(spec)
        if spec.classes is not None:
            classes = np.unique(as_array(spec.classes))
            declare(model, np.zeros((1, spec.width)), classes)
    except (TypeError, ValueError) as error:
        if limits is None:
            raise
        # The rule without the given value.
        raise invalid(f"parameters: {str(error).partition(', got ')[0]}") from None
    return model


def _empty_learner(spec: ModelSpec) -> Learner:
    """Return a new learner, which gets coded rows."""
    model = learners()[spec.learner].estimator(**spec.parameters)
    set_columns(model, spec.columns)
    return model


def _try_out(spec: ModelSpec) -> None:
    """Learn two rows, to refuse now what learning would refuse later."""
    model = _empty_learner(spec)
    labels = as_array(spec.classes or ("a", "b"))
    X = np.zeros((2, spec.width))
    X[1] = 1.0
    y = np.resize(labels, 2)
    model.partial_fit(X, y, classes=None if spec.classes is None else labels)
    model.predict(X)


def check_size(
    learner: str,
    parameters: Mapping[str, Any],
    p: int,
    limits: Limits,
    classes: int = 0,
) -> float:
    """Estimate how many numbers a learner holds; refuse too many."""
    numbers = learners()[learner].state_numbers(parameters, p, max(classes, 2))
    if numbers > limits.max_state:
        raise beyond(
            "max_state", limits.max_state, "the learner would hold too many numbers"
        )
    return numbers
