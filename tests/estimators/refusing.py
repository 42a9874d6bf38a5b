"""Checks of a refusal: the message, and an unchanged model."""

from collections.abc import Callable
from typing import Any

import pytest

from estimators.snapshots import snapshot, state_of
from estimators.streams import blobs, small
from rpnb import RPNBClassifier

X, y = blobs(1, 40)
Call = Callable[[RPNBClassifier], Any]


def fitted() -> RPNBClassifier:
    return small().fit(X, y)


def refuses(call: Call, message: str, error: type[Exception] = ValueError) -> None:
    """Both a fitted and a new model refuse, and stay unchanged."""
    for model in (fitted(), small()):
        before = snapshot(model)
        with pytest.raises(error, match=message):
            call(model)
        assert snapshot(model) == before
    # The model that refused first is still as good as new.
    assert state_of(model.fit(X, y)) == state_of(fitted())
    assert "classes_" not in snapshot(small())


LEARNING: dict[str, Callable[..., Any]] = {
    "fit": RPNBClassifier.fit,
    "partial_fit": RPNBClassifier.partial_fit,
    "predict_then_learn": RPNBClassifier.predict_then_learn,
}
ASKING: dict[str, Callable[..., Any]] = {
    "predict": RPNBClassifier.predict,
    "predict_proba": RPNBClassifier.predict_proba,
    "predict_log_proba": RPNBClassifier.predict_log_proba,
    "decision_function": RPNBClassifier.decision_function,
}
