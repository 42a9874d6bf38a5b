"""A refused parameter is named with its rule and its value, and the rule is true.

The message is read as a user would read it: each choice that it lists is accepted, a
bound is accepted or refused as it says, and what lies outside is refused.
"""

import ast
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pytest

from learners import names, new
from rpnb import evaluate
from rpnb.baselines import make
from rpnb.drift import DriftAware
from rpnb.estimators.registry import learners
from rpnb.preprocessing import RunningScaler

X = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
Y = np.array([0, 1])
NUMBER = re.compile(
    r"(?P<kind>an integer|a finite number)"
    r"(?: of at least (?P<least>\S+)| above (?P<above>\S+)| from (?P<from>\S+))?"
    r"(?: and at most (?P<most>\S+)| to (?P<to>\S+))?"
)
#: Parameters without a machine-readable rule, and the required words of the message.
IN_WORDS = {
    "class_weight": "None, 'balanced' or a dictionary of labels and weights",
    "categorical_features": "'from_dtype', None, or a list of the names or numbers",
    "text_features": "'auto', None, or a list of the names or numbers",
    "n_jobs": "an integer or None",
    "scale": "None or 'running'",
    "temperature": "'auto', None or a finite number above 0",
}
Try = Callable[[Any], Any]


def cases() -> Iterator[tuple[str, str, Try]]:
    """Yield each parameter with a function that tries a value of it."""

    def learned(maker: Any, option: str) -> Try:
        def attempt(value: Any) -> None:
            model = maker(**{option: value})
            try:
                model.partial_fit(X, Y, Y)
            except (TypeError, ValueError):
                # What is refused leaves nothing behind.
                assert not model.__sklearn_is_fitted__()
                raise

        return attempt

    def scaled(value: Any, option: str) -> Any:
        return RunningScaler(**{option: value}).partial_fit(X)

    def evaluated(value: Any, option: str) -> Any:
        return evaluate.prequential(make("PA"), X, Y, **{option: value})

    for name in names():
        for option in signature(learners()[name].estimator).parameters:
            yield name, option, learned(partial(new, name), option)
    for option in [*signature(DriftAware).parameters][1:]:
        yield "DriftAware", option, learned(partial(DriftAware, make("PA")), option)
    for option in signature(RunningScaler).parameters:
        yield "RunningScaler", option, partial(scaled, option=option)
    for option in ("window", "fading", "batch_size", "every", "leftover"):
        yield "prequential", option, partial(evaluated, option=option)


def message(attempt: Try, value: Any) -> str | None:
    """Return the message of the error that a value raises, None if it is accepted."""
    try:
        attempt(value)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def values(rule: str) -> tuple[list[Any], list[Any]]:
    """Return what a rule allows and what it refuses, at its bounds."""
    if rule == "True or False":
        return [True, False], [1, None]
    if rule.startswith("one of "):
        return list(ast.literal_eval(f"[{rule.removeprefix('one of ')}]")), ["?", -1]
    found = NUMBER.fullmatch(rule)
    assert found is not None, f"a rule that nobody can read: {rule}"
    cast: Any = int if found["kind"] == "an integer" else float
    step: Any = (lambda v, s: v + s) if cast is int else _neighbour
    good: list[Any] = []
    bad: list[Any] = [True, "?"] if cast is int else ["?", math.nan, math.inf]
    low, high = found["least"] or found["from"], found["most"] or found["to"]
    if low:
        good, bad = [cast(low)], [*bad, step(cast(low), -1)]
    if found["above"]:
        bad.append(cast(found["above"]))
    if high:
        bad.append(step(cast(high), 1))
        if cast is float or cast(high) <= 100:
            good.append(cast(high))
    return good, bad


def _neighbour(value: float, side: int) -> float:
    return float(np.nextafter(value, side * math.inf))


@pytest.mark.parametrize(
    ("name", "option", "attempt"),
    [pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in cases()],
)
def test_messages_name_the_true_rule(name: str, option: str, attempt: Try) -> None:
    refusal = message(attempt, "?")
    assert refusal is not None
    found = re.fullmatch(rf"{option} must be (.*), got '\?'", refusal)
    assert found is not None, refusal
    rule = found[1]
    if option in IN_WORDS:
        assert IN_WORDS[option] in rule
        assert message(attempt, None) is None
        return
    if (name, option) == ("RPNB", "n_components"):
        rule = "an integer of at least 1"  # besides its one word
    good, bad = values(rule)
    for value in good:
        reply = message(attempt, value)
        # Another parameter may leave less of a choice.
        assert reply is None or " for " in reply, reply
    for value in bad:
        reply = message(attempt, value)
        assert reply is not None, value
        assert reply.startswith(f"{option} must "), reply
        assert reply.endswith(f", got {value!r}"), reply
