"""Adds `partial_fit` to scikit-learn pipelines whose steps all have it."""

import sys
from typing import Any, final

from rpnb.estimators.checks.labels import LabelArray
from rpnb.evaluate.drivers.driver import next_label_method, next_probability_method


def missing_partial_fit(pipeline: Any) -> str | None:
    """Return the name of a pipeline's first step without `partial_fit`, or None."""
    for name, step in pipeline.steps:
        if not _passes(step) and not hasattr(step, "partial_fit"):
            return str(name)
    return None


def is_pipeline(model: Any) -> bool:
    """Whether a learner is a pipeline of scikit-learn.

    Whoever has made one has imported the module, which takes a while.
    """
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(model, module.Pipeline)


def _passes(step: Any) -> bool:
    return step is None or step == "passthrough"


@final
class PartialPipeline:
    """A pipeline with `partial_fit`: each step learns the rows, then transforms them.

    Rows are predicted by the steps as they were before these rows, as a prequential
    evaluation requires.

    Parameters
    ----------
    pipeline
        The pipeline. It is changed.
    """

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        if hasattr(pipeline.steps[-1][1], "classes_"):
            self.classes_ = pipeline.steps[-1][1].classes_
        if hasattr(pipeline, "predict_proba"):
            self.predict_proba = self._predict_proba

    def partial_fit(self, X: Any, y: Any, classes: LabelArray | None = None) -> None:
        """Learn rows; `classes` as for the last step."""
        for _, step in self.pipeline.steps[:-1]:
            if not _passes(step):
                step.partial_fit(X)
                X = step.transform(X)
        last = self.pipeline.steps[-1][1]
        if classes is None:
            last.partial_fit(X, y)
        else:
            last.partial_fit(X, y, classes=classes)
        self.classes_ = last.classes_

    def predict(self, X: Any) -> Any:
        """Return the label of each row."""
        return next_label_method(self.pipeline.steps[-1][1])(self._transformed(X))

    def _predict_proba(self, X: Any) -> Any:
        return next_probability_method(self.pipeline.steps[-1][1])(self._transformed(X))

    def _transformed(self, X: Any) -> Any:
        for _, step in self.pipeline.steps[:-1]:
            if not _passes(step):
                X = step.transform(X)
        return X
