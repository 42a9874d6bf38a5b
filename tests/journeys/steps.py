"""Files that a new user has, and the environment of one."""

import csv
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TIMEOUT = 600.0
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Python = Callable[[str], str]
#: Every step is its own process, so that these tests take long.
on_demand = pytest.mark.skipif(
    not os.environ.get("RPNB_JOURNEYS") or os.name != "posix",
    reason="make test-journeys runs them",
)
#: Options of a fast learner, for journeys that are about files.
PA = ("--model", "PA", "--json", "--quiet")


def variables(**more: str) -> dict[str, str]:
    """The environment of a user."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "RPNB_DATA")}
    return {**kept, **more}


def sklearn_table(name: str, path: Path) -> None:
    """Write one of scikit-learn's datasets, sorted by class as it is."""
    from sklearn import datasets

    data: Any = getattr(datasets, f"load_{name}")()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(data.data.shape[1])), "label"])
        for row, label in zip(data.data.tolist(), data.target.tolist(), strict=True):
            writer.writerow([*row, data.target_names[label]])


def rows(n: int = 120) -> list[tuple[float, str, str]]:
    """Rows from which a label can be told."""
    return [((i % 10) / 4, "uv"[i % 2], "pq"[i % 10 > 4]) for i in range(n)]


def write(
    path: Path,
    delimiter: str = ",",
    decimal: str = ".",
    header: str = "size,word,label",
) -> None:
    lines = [delimiter.join(header.split(","))]
    for size, word, label in rows():
        lines.append(delimiter.join((str(size).replace(".", decimal), word, label)))
    path.write_text("\n".join(lines) + "\n")
