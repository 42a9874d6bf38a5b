"""The results printed in Nguyen et al. (2017), for comparison; nothing is computed.

`table_1` is Table 1, `results` are Tables 2 and 3, `updates` the two numbers of model
updates that section 3.2 gives in words.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias, cast

Comparison: TypeAlias = Literal["better", "equal", "worse"]

#: The methods of Tables 2 and 3, in the order of their columns.
METHODS = ("RPNB", "AROW", "OGD", "PA", "SCW", "OnlineBagging")


@dataclass(frozen=True, slots=True)
class PrintedShape:
    """A row of Table 1: p features, n observations, M classes."""

    dataset: str
    p: int
    n: int
    M: int


@dataclass(frozen=True, slots=True)
class PrintedResult:
    """A method on a dataset: mean and variance over 10 permutations.

    `error_vs_rpnb` and `f1_vs_rpnb` are how the method compares with RPNB by the
    paper's Wilcoxon test ("worse" is its ↑); None for RPNB itself.
    """

    dataset: str
    method: str
    error_mean: float
    error_var: float
    error_vs_rpnb: Comparison | None
    f1_mean: float
    f1_var: float
    f1_vs_rpnb: Comparison | None


@dataclass(frozen=True, slots=True)
class PrintedUpdates:
    """The mean number of updates of a method on a dataset."""

    dataset: str
    method: str
    updates: float


@cache
def table_1() -> tuple[PrintedShape, ...]:
    """Return Table 1, in its order.

    Examples
    --------
    >>> from rpnb.datasets import paper
    >>> paper.table_1()[0]
    PrintedShape(dataset='Breast Cancer', p=9, n=683, M=2)
    """
    return tuple(
        PrintedShape(
            row["dataset"],
            p=int(row["features"]),
            n=int(row["observations"]),
            M=int(row["classes"]),
        )
        for row in _read("table_1.csv")
    )


@cache
def results() -> tuple[PrintedResult, ...]:
    """Return Tables 2 and 3: one row per dataset and method, in the tables' order.

    Examples
    --------
    >>> from rpnb.datasets import paper
    >>> rows = [row for row in paper.results() if row.dataset == "Letter"]
    >>> best = min(rows, key=lambda row: row.error_mean)
    >>> best.method, best.error_mean
    ('RPNB', 0.283)
    """
    return tuple(
        PrintedResult(
            row["dataset"],
            row["method"],
            float(row["error_mean"]),
            float(row["error_var"]),
            cast(Comparison | None, row["error_vs_rpnb"] or None),
            float(row["f1_mean"]),
            float(row["f1_var"]),
            cast(Comparison | None, row["f1_vs_rpnb"] or None),
        )
        for row in _read("tables_2_and_3.csv")
    )


@cache
def updates() -> tuple[PrintedUpdates, ...]:
    """Return the numbers of updates that section 3.2 states (Figure 3 shows more).

    Examples
    --------
    >>> from rpnb.datasets import paper
    >>> paper.updates()[0]
    PrintedUpdates(dataset='GM', method='RPNB', updates=29.6)
    """
    return tuple(
        PrintedUpdates(row["dataset"], row["method"], float(row["updates"]))
        for row in _read("updates.csv")
    )


def _read(name: str) -> Iterable[dict[str, str]]:
    file = resources.files("rpnb.datasets").joinpath("paper", name)
    return csv.DictReader(file.read_text("ascii").splitlines())
