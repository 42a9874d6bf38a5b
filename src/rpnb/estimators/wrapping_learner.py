"""What learners that wrap another one share: a pipeline, and drift detection."""

from abc import abstractmethod
from typing import Any

from rpnb.estimators.checks.columns import CATEGORICAL, names_columns
from rpnb.estimators.checks.weights import ANY_WEIGHT
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import Learner, State
from rpnb.estimators.stream.weighted import WeightedStreamClassifier


class WrappingLearner(Learner[State]):
    """Abstract base: a learner with the capabilities of the learner that it wraps.

    Where the wrapped model is not a learner at all, which `begin` refuses, it has none.
    """

    @property
    @abstractmethod
    def wrapped(self) -> Any:
        """The model that a parameter of the estimator holds."""

    @property
    def inner(self) -> Learner[Any] | None:
        """The learner of the wrapped model, if it is one of this package."""
        model = self.wrapped
        return model._learner() if isinstance(model, StreamClassifier) else None

    def provides(self, *functions: str) -> bool:
        return self.inner is not None and self.inner.provides(*functions)

    def innermost(self, state: Any = None) -> tuple[Learner[Any], Any]:
        if state is not None:
            return state.learner.innermost(state.inner)
        return (self, None) if self.inner is None else self.inner.innermost()

    def tag(self, tags: Any) -> Any:
        given = getattr(self.wrapped, "__sklearn_tags__", None)
        if given is not None:
            tags.input_tags.allow_nan = given().input_tags.allow_nan
        return tags

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return getattr(self.inner, "accepts_sparse", False)

    @property
    def weight_limits(self) -> tuple[float, float]:  # type: ignore[override]
        return getattr(self.inner, "weight_limits", ANY_WEIGHT)

    @property
    def requires_seen_classes(self) -> bool:  # type: ignore[override]
        return getattr(self.inner, "requires_seen_classes", False)


def check_takes_weights(model: Any) -> None:
    """Refuse sample weights for a wrapped model that does not accept them."""
    if not isinstance(model, WeightedStreamClassifier):
        raise TypeError(
            f"{type(model).__name__} does not accept sample_weight: it weights all "
            "samples equally"
        )


def check_takes_numbers(model: Any, wrapper: str) -> None:
    """Refuse a model whose parameters name columns: a wrapper passes numbers only."""
    if hasattr(model, CATEGORICAL) and names_columns(
        model.categorical_features, model.text_features
    ):
        raise ValueError(
            f"{wrapper} gives its learner numbers only: {type(model).__name__} must "
            "have categorical_features='from_dtype' and text_features='auto' in it"
        )
