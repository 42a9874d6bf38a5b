"""Drift detectors of River: made by name, and updated with errors until an alarm."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Protocol

from rpnb.estimators.checks.parameters import check_choice

# Where River has them. Page and Hinkley's test is set to detect a rise only; the
# others do so by themselves, or by `first_alarm`.
_DETECTORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "adwin": ("river.drift", "ADWIN", {}),
    "ddm": ("river.drift.binary", "DDM", {}),
    "eddm": ("river.drift.binary", "EDDM", {}),
    "page_hinkley": ("river.drift", "PageHinkley", {"mode": "up"}),
}


class Detector(Protocol):
    """The interface of a detector; River's all have it."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last value gave an alarm."""

    def update(self, x: bool) -> Any:
        """Add one value."""

    def clone(self) -> "Detector":
        """Return a detector with the same parameters that has seen nothing."""


def make_detector(given: Any) -> Detector:
    """Return a detector that has seen nothing: River's by name, or like the given."""
    if isinstance(given, str):
        module, name, parameters = _DETECTORS[
            check_choice("detector", given, tuple(_DETECTORS))
        ]
        try:
            kind = getattr(import_module(module), name)
        except ImportError as error:
            raise ImportError(
                f"detector={given!r} is River's: pip install 'rpnb[river]'"
            ) from error
        made: Detector = kind(**parameters)
        return made
    for wanted in ("update", "drift_detected", "clone"):
        if isinstance(given, type) or not hasattr(given, wanted):
            raise TypeError(
                f"detector must be one of {', '.join(map(repr, _DETECTORS))} or a "
                f"detector of River's kind (update, drift_detected, clone), got "
                f"{given!r}"
            )
    copied: Detector = given.clone()
    return copied


def first_alarm(detector: Detector, errors: Iterable[bool]) -> int:
    """Update a detector until an error gives an alarm; return its index, or −1.

    ADWIN also gives an alarm when errors become fewer, as they do while a learner is
    new. Where a detector has an estimate of the error rate, as ADWIN does, only a rise
    counts.
    """
    estimates = hasattr(detector, "estimation")
    for i, error in enumerate(errors):
        before = detector.estimation if estimates else 0.0  # type: ignore[attr-defined]
        detector.update(error)
        if detector.drift_detected and (
            not estimates or detector.estimation > before  # type: ignore[attr-defined]
        ):
            return i
    return -1
