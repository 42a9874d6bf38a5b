"""The analysis of a study, computed once for the terminal, the files and the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.datasets import paper
from rpnb.report.charts.curves import Curve
from rpnb.study import table_rows
from rpnb.study.agreement import Agreement, agreement
from rpnb.study.methods import order_of
from rpnb.study.run_records import RunRecord, Runs, group
from rpnb.study.statistics import can_reject
from rpnb.study.table_rows import (
    DatasetRow,
    Measure,
    OutcomeCount,
    Ranking,
    ResultRow,
    UpdatesRow,
)

#: The measures of Tables 2 and 3, with their names.
MEASURES: Mapping[Measure, str] = {"error": "error rate", "f1": "F1 score"}


#: With fewer permutations, standard errors mean little.
ENOUGH_PERMUTATIONS = 5


@dataclass(frozen=True, slots=True)
class DatasetCurves:
    """Learning curves on one dataset, one per method: error and updates so far."""

    error: tuple[Curve, ...]
    updates: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class StudyAnalysis:
    """All results of a study, from which tables, charts and pages are made."""

    runs: Runs
    """the records by dataset and method"""
    datasets: tuple[str, ...]
    """names of the datasets, in the order of Table 1 or as requested"""
    methods: tuple[str, ...]
    """the methods of the paper, and all others that have records"""
    shapes: tuple[DatasetRow, ...]
    """Table 1"""
    results: Mapping[Measure, tuple[ResultRow, ...]]
    """Tables 2 and 3, by measure"""
    counts: Mapping[Measure, tuple[OutcomeCount, ...]]
    """Figures 1 and 2, by measure"""
    updates: tuple[UpdatesRow, ...]
    """Figure 3"""
    rankings: Mapping[Measure, Ranking | None]
    """average ranks across datasets, by measure; None if there are too few"""
    agreements: tuple[Agreement, ...]
    """each printed value with ours"""
    reasons: tuple[str, ...]
    """the known reasons for differences, those behind the verdict "differs" first"""
    curves: Mapping[str, DatasetCurves]
    """learning curves by dataset; only datasets with records"""

    def records(self) -> list[RunRecord]:
        """Return all records, by dataset, method and permutation."""
        return [record for cell in self.runs.values() for record in cell]

    def permutations(self) -> tuple[int, int]:
        """Return the fewest and the most runs of a method on a dataset."""
        sizes = [len(cell) for cell in self.runs.values()]
        return min(sizes), max(sizes)

    def few(self) -> str | None:
        """Return a warning if there are too few runs for standard errors; else None."""
        most = self.permutations()[1]
        if most >= ENOUGH_PERMUTATIONS:
            return None
        return (
            f"With {most} permutation{'s' * (most > 1)} this is a first look, not a "
            "comparison: standard errors, and agreement within them, mean little with "
            f"fewer than {ENOUGH_PERMUTATIONS} permutations (the paper has 10)."
        )

    def can_reject(self) -> bool:
        """Return whether there are enough runs for the signed-rank test to reject."""
        return can_reject(self.permutations()[1])


def analyse(
    records: Iterable[RunRecord], datasets: Sequence[str] | None = None
) -> StudyAnalysis:
    """Compute all tables, figures and comparisons of a study.

    The records belong to one study, in any order. `datasets` may include some without
    records; by default it is those with records, in the order of Table 1.

    Raises
    ------
    ValueError
        If there are no records, or they belong to different studies.
    """
    runs = group(records)
    if not runs:
        raise ValueError("records must hold at least one run, got none")
    names = tuple(_datasets_of(runs) if datasets is None else datasets)
    found = {method for _, method in runs}
    methods = tuple(sorted({*paper.METHODS, *found}, key=order_of))
    results = {m: tuple(table_rows.results(runs, m, names, methods)) for m in MEASURES}
    agreements = agreement(runs, names)
    ordered = sorted(agreements, key=lambda each: each.verdict != "differs")
    return StudyAnalysis(
        runs=runs,
        datasets=names,
        methods=methods,
        shapes=tuple(table_rows.shapes(runs, names)),
        results=results,
        counts={m: tuple(table_rows.counts(results[m])) for m in MEASURES},
        updates=tuple(table_rows.updates(runs, names, methods)),
        rankings={m: table_rows.ranking(results[m], m) for m in MEASURES},
        agreements=tuple(agreements),
        reasons=tuple(dict.fromkeys(each.reason for each in ordered if each.reason)),
        curves=_curves(runs, names, methods),
    )


def _datasets_of(runs: Runs) -> list[str]:
    """Return the datasets with records in the order of Table 1, then others."""
    places = {shape.dataset: i for i, shape in enumerate(paper.table_1())}
    found = {dataset for dataset, _ in runs}
    return sorted(found, key=lambda name: (places.get(name, len(places)), name))


def _curves(
    runs: Runs, datasets: Sequence[str], methods: Sequence[str]
) -> dict[str, DatasetCurves]:
    curves = {}
    for name in datasets:
        cells = [runs[name, method] for method in methods if (name, method) in runs]
        if cells:
            curves[name] = DatasetCurves(
                error=tuple(error_curve(cell) for cell in cells),
                updates=tuple(updates_curve(cell) for cell in cells),
            )
    return curves


def error_curve(records: Sequence[RunRecord]) -> Curve:
    """Return the error so far, averaged over a method's runs."""
    counts = [[point.mistakes for point in record.curve] for record in records]
    rows, values = _at_common_rows(records, counts)
    return _mean_curve(records, rows, values / rows)


def updates_curve(records: Sequence[RunRecord]) -> Curve:
    """Return the number of updates so far, averaged over a method's runs."""
    counts = [[point.updates for point in record.curve] for record in records]
    return _mean_curve(records, *_at_common_rows(records, counts))


def _at_common_rows(
    records: Sequence[RunRecord], counts: Sequence[Sequence[int]]
) -> tuple[FloatArray, FloatArray]:
    """Return the rows of the first run's curve, and all counts at them (runs, rows).

    The counts of a run with other rows are interpolated linearly.
    """
    rows = np.array([point.row for point in records[0].curve], dtype=np.float64)
    values = [
        np.interp(rows, [0, *(point.row for point in record.curve)], [0, *own])
        for record, own in zip(records, counts, strict=True)
    ]
    return rows, np.stack(values)


def _mean_curve(
    records: Sequence[RunRecord], rows: FloatArray, values: FloatArray
) -> Curve:
    """Return mean and standard deviation over the runs; 0 deviation for one run."""
    deviation = values.std(axis=0, ddof=1) if len(records) > 1 else np.zeros_like(rows)
    return Curve(records[0].method, rows, values.mean(axis=0), deviation, len(records))
