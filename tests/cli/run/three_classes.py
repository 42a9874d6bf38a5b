"""A file with four features and three classes, for the tests of `rpnb run`."""

from pathlib import Path
from typing import Any

import numpy as np


def rows(n: int) -> tuple[Any, Any]:
    """Return features (n, 4) and labels."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    X = rng.standard_normal((n, 4)) + 1.5 * np.eye(4)[y]
    return X, np.array(["one", "two", "three"])[y]


def write_rows(folder: Path, n: int) -> Path:
    """Write these rows to a CSV file, with the labels in column kind."""
    X, y = rows(n)
    lines = [",".join([*map(repr, x), y[i]]) for i, x in enumerate(X.tolist())]
    file = folder / "rows.csv"
    file.write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    return file
