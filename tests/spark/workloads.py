"""Labelled rows for the Spark tests."""

from typing import Any

import numpy as np
import pyarrow as pa
from pandas import DataFrame  # type: ignore[import-untyped]

from rpnb import RPNBClassifier

#: Options of a Java machine that does not live long.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
NAMES = ["a", "b", "c", "d", "e"]


def labelled(n: int, seed: int = 0, M: int = 4) -> tuple[Any, Any]:
    """Return rows (n, 5) of overlapping classes, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, n)
    centres = np.random.default_rng(99).normal(size=(M, 5))
    return rng.normal(size=(n, 5)) + centres[y], y


def table(X: Any, y: Any) -> pa.Table:
    """Return rows with a label and a time, ordered by time."""
    columns = {name: X[:, i] for i, name in enumerate(NAMES)}
    return pa.table({**columns, "label": y, "time": np.arange(len(y))})


def named(X: Any) -> DataFrame:
    """Return rows with the names of their features."""
    return DataFrame(X, columns=NAMES)


def small(**parameters: Any) -> RPNBClassifier:
    """Return a small model, by default without calibration."""
    given = {"temperature": None, **parameters}
    return RPNBClassifier(5, random_state=0, **given)
