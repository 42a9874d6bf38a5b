"""Drift detectors: created by name, updated with errors until an alarm, saved."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rpnb.estimators.checks.parameters import check_choice
from rpnb.estimators.drift.adwin import BUCKETS, LEVELS, Adwin
from rpnb.estimators.drift.sequential_tests import DDM, EDDM, PageHinkley
from rpnb.estimators.saving.schema import ArraySchema, counts, reals

_OWN: Final[Mapping[str, type[Adwin | DDM | EDDM | PageHinkley]]] = {
    "adwin": Adwin,
    "ddm": DDM,
    "eddm": EDDM,
    "page_hinkley": PageHinkley,
}

#: Names of the detectors that can be saved.
OWN_DETECTORS: Final = tuple(_OWN)


class Detector(Protocol):
    """The interface of a detector, which all detectors of River have."""

    @property
    def drift_detected(self) -> Any:
        """Whether the last value gave an alarm."""

    def update(self, x: bool) -> Any:
        """Add one value."""

    def clone(self) -> "Detector":
        """Return a detector with the same parameters that has seen nothing."""


def make_detector(given: Any) -> Detector:
    """Return a new detector, by name or as a clone of the given one."""
    if isinstance(given, str):
        return _OWN[check_choice("detector", given, tuple(_OWN))]()
    for wanted in ("update", "drift_detected", "clone"):
        if isinstance(given, type) or not hasattr(given, wanted):
            raise TypeError(
                f"detector must be one of {', '.join(map(repr, _OWN))} or a detector "
                f"of River's kind (update, drift_detected, clone), got {given!r}"
            )
    copied: Detector = given.clone()
    return copied


def detector_to_arrays(detector: Any) -> dict[str, NDArray[Any]]:
    """Return the state of one of our detectors as arrays, for a model file."""
    if type(detector) not in _OWN.values():
        raise NotImplementedError(
            f"a {type(detector).__name__} cannot be written to a file without pickle: "
            f"name one of our detectors, {', '.join(map(repr, _OWN))}, or save the "
            "learner alone with learner_.save"
        )
    found: dict[str, NDArray[Any]] = detector.to_arrays()
    return found


def detector_schema(
    name: str, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, ArraySchema]:
    """Return the schema of a detector in a model file."""
    if name != "adwin":
        size = len(make_detector(name).to_arrays()["numbers"])  # type: ignore[attr-defined]
        return {"numbers": reals(size, infinite=True)}
    levels, buckets = (
        min(shapes.get(each, (1,))[0], most)
        for each, most in (("counts", LEVELS), ("buckets", LEVELS * BUCKETS))
    )
    return {
        "counts": counts(levels),
        "buckets": reals(buckets, 2),
        "sums": reals(2),
        "ticks": counts(2),
    }


def detector_from_arrays(name: str, arrays: dict[str, NDArray[Any]]) -> Detector:
    """Return the detector of a model file; refuse invalid ones."""
    own = _OWN[check_choice("detector", name, tuple(_OWN))]
    return own.from_arrays({key: np.asarray(each) for key, each in arrays.items()})


def first_alarm(detector: Detector, errors: Iterable[bool]) -> int:
    """Update a detector until an error gives an alarm; return its index, or −1.

    ADWIN also gives an alarm when the error rate falls, as it does while a learner is
    new. If a detector estimates the error rate, as ADWIN does, only a rise counts.
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
