"""What a parameter may be is as on record: what each refuses, and what it says.

Ranges follow from the mathematics, or from where numbers overflow; one that has slipped
refuses what was allowed, or allows what fails later. What is meant to change is written
anew, and read: ``python tests/estimators/checks/test_parameter_rules.py``.
"""

from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from rpnb import evaluate
from rpnb.baselines import make
from rpnb.drift import DriftAware
from rpnb.estimators.registry import learners
from rpnb.preprocessing import RunningScaler

RECORD = Path(__file__).parents[2] / "golden" / "parameter_rules.txt"
X = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
Y = np.array([0, 1])


def refusal(call: Any, *given: Any, **named: Any) -> str:
    """Return what a call says of its arguments."""
    try:
        call(*given, **named)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def lines() -> Iterator[str]:
    """Yield what is said of a word that no parameter can be."""
    makers: dict[str, Any]
    makers = {name: each.estimator for name, each in learners().items()}
    makers["DriftAware"] = lambda **given: DriftAware(make("PA"), **given)
    options: dict[str, list[str]]
    options = {name: [*signature(each).parameters] for name, each in makers.items()}
    options["DriftAware"] = [*signature(DriftAware).parameters][1:]
    for name, maker in makers.items():
        for option in options[name]:
            made = maker(**{option: "?"})
            yield f"{name} {option}: {refusal(made.partial_fit, X, Y, Y)}"
            # What is refused leaves nothing behind.
            assert not made.__sklearn_is_fitted__(), (name, option)
    for option in signature(RunningScaler).parameters:
        scaler = RunningScaler(**{option: "?"})  # type: ignore[arg-type]
        yield f"RunningScaler {option}: {refusal(scaler.partial_fit, X)}"
    for option in ("window", "fading", "batch_size", "every", "delay", "leftover"):
        said = refusal(evaluate.prequential, make("PA"), X, Y, **{option: "?"})
        yield f"prequential {option}: {said}"


def test_what_is_refused_is_as_on_record() -> None:
    assert list(lines()) == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
