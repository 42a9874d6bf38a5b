"""The figures printed in the paper, reproduced where its data are available."""

import csv
import gzip
import sys
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rpnb import RPNBClassifier

SHARED = Path(__file__).parents[3].parent / "shared"
DATA, PRINTED = SHARED / "data", SHARED / "paper" / "results.csv"
NAMES = ["Letter", "Optdigits", "Satimage", "Vertebral", "Twonorm", "Skin_NonSkin"]
PERMUTATIONS = 10

pytestmark = [
    pytest.mark.skipif(
        not (DATA.is_dir() and PRINTED.is_file()),
        reason="needs the data and the printed figures in ../shared",
    ),
]


def read(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read features and labels; its own reader, to depend on nothing tested here."""
    with gzip.open(DATA / f"{name.lower()}.csv.gz", "rt", encoding="ascii") as file:
        _header, *lines = file.read().splitlines()
    cells = [line.rsplit(",", 1) for line in lines]
    features = np.array([row.split(",") for row, _ in cells], dtype=np.float64)
    return features, np.array([label for _, label in cells])


@pytest.fixture(scope="module")
def printed() -> dict[str, tuple[float, float]]:
    """The printed mean error of RPNB and its standard deviation."""
    with PRINTED.open(newline="") as file:
        return {
            row["dataset"]: (float(row["error_mean"]), sqrt(float(row["error_var"])))
            for row in csv.DictReader(file)
            if row["method"] == "RPNB"
        }


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    """The lines of a table, printed after the last dataset."""
    lines = [f"{'dataset':<14}{'printed':>9}{'s.d.':>8}{'ours':>9}{'distance':>10}"]
    yield lines
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_error_is_within_two_standard_deviations_of_the_printed_one(
    name: str, printed: dict[str, tuple[float, float]], table: list[str]
) -> None:
    X, y = read(name)
    classes = np.unique(y)
    errors = []
    for seed in range(PERMUTATIONS):
        order = np.random.default_rng(seed).permutation(y.shape[0])
        model = RPNBClassifier(n_estimators=200, random_state=seed)
        predictions = model.predict_then_learn(X[order], y[order], classes=classes)
        errors.append(np.mean(predictions != y[order]))
        assert model.n_updates_ == np.count_nonzero(predictions != y[order])
    ours, (mean, deviation) = float(np.mean(errors)), printed[name]
    distance = (ours - mean) / deviation
    table.append(
        f"{name:<14}{mean:>9.4f}{deviation:>8.4f}{ours:>9.4f}{distance:>+10.2f}"
    )
    assert abs(distance) <= 2.0
