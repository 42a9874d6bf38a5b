"""What files of models may hold is as on record: each array and each value.

A range that has become wider lets in a damaged file, and one that has become narrower
refuses files that were saved before; neither shows in files of usual models. What is
meant to change is written anew: ``python tests/estimators/saving/test_schemas.py``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rpnb import FrozenRPNB, PooledClassifier, RPNBClassifier
from rpnb.baselines import make, names
from rpnb.core.pooled.model import MEMBERS
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.schema import StateSchema
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

RECORD = Path(__file__).parents[2] / "golden" / "schemas.txt"
M, P = 3, 5


def schemas() -> Iterator[tuple[str, StateSchema]]:
    """Yield the schema of each estimator, and of what parameters add to it."""
    rpnb = RPNBClassifier(4, scale="running", class_weight="balanced")
    yield "RPNB", rpnb._file_schema({"calibrated": True}, {}, M, P)
    for state in ({"mixture": True}, {"mixture": False, "scaled": True}):
        saved = SavedEstimator("", {}, np.arange(M), P, None, state, {}, 1)
        yield "FrozenRPNB", FrozenRPNB._state_schema(saved)
    # Some members need many features, or keep more where labels are late.
    for p, delay in ((P, 0), (100, 3)):
        pooled = PooledClassifier(members=[*MEMBERS], delay=delay)
        yield f"Pooled, {p} features", pooled._file_schema({}, {}, M, p)
    shapes: dict[str, tuple[int, ...]]
    shapes = {"binned_bayes.bins": (0,), "selected_neighbours.counts": (0,)}
    yield "Pooled without bins", PooledClassifier()._file_schema({}, shapes, M, 100)
    for name in names():
        learner = make(name)
        two = not getattr(learner, "_has_multiclass", lambda: True)()
        yield name, learner._file_schema({"two_class": two}, {}, 2 if two else M, P)
    yield "PA of LIBOL", make("PA", libol=True)._file_schema({}, {}, M, P)
    piped: Any = make_stream_pipeline(RunningScaler(), make("PA"))
    yield "Pipeline", piped._file_schema({}, {}, M, P)


def lines() -> Iterator[str]:
    """Yield a line for each array and value of each schema."""
    for name, schema in schemas():
        yield f"# {name}"
        for part, array in schema.arrays.items():
            rules = [f"from {array.low} to {array.high}"]
            rules += ["nan"] * array.nan + ["infinite"] * array.infinite
            yield f"{part} {array.dtype.__name__} {array.shape} {', '.join(rules)}"
        for part, value in schema.values.items():
            yield f"{part} {value.type.__name__} from {value.low} to {value.high}"


def test_what_files_may_hold_is_as_on_record() -> None:
    assert list(lines()) == RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
