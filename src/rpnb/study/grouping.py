"""Records by dataset and method, in the paper's order."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, variance
from typing import TypeAlias

from rpnb.datasets import paper
from rpnb.study.methods import order_of
from rpnb.study.records import RunRecord

#: By dataset and method, in the order of the permutations.
Runs: TypeAlias = Mapping[tuple[str, str], Sequence[RunRecord]]


def group(records: Iterable[RunRecord]) -> Runs:
    """Return the runs of each dataset and method, in the order of permutations.

    Raises
    ------
    ValueError
        If a permutation has two different records: they are of different studies.
    """
    cells: defaultdict[tuple[str, str], dict[int, RunRecord]] = defaultdict(dict)
    for record in records:
        cell = cells[record.dataset, record.method]
        other = cell.setdefault(record.permutation, record)
        if other.key != record.key:
            raise ValueError(
                f"records must be of one study: {record.dataset}, {record.method}, "
                f"permutation {record.permutation} was run under {other.key} and under "
                f"{record.key}"
            )
    return {
        cell: [runs[r] for r in sorted(runs)] for cell, runs in sorted(cells.items())
    }


def datasets_of(runs: Runs) -> list[str]:
    """Return the datasets in the order of Table 1, others behind them."""
    places = {shape.dataset: i for i, shape in enumerate(paper.table_1())}
    found = {dataset for dataset, _ in runs}
    return sorted(found, key=lambda name: (places.get(name, len(places)), name))


def methods_of(runs: Runs) -> list[str]:
    """Return the methods in the paper's order, references last."""
    return sorted({method for _, method in runs}, key=order_of)


def mean_and_variance(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and variance (n − 1 in the denominator), or None for want of values.

    One value has a mean and no variance.
    """
    mean = fmean(values) if values else None
    return mean, variance(values) if len(values) > 1 else None
