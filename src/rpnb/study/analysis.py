"""What a report shows, computed once from records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.datasets import paper
from rpnb.report.charts.curves import Curve, Measure
from rpnb.study import tables
from rpnb.study.agreement import Agreement, agreement
from rpnb.study.grouping import Runs, datasets_of, group, methods_of
from rpnb.study.methods import order_of
from rpnb.study.records import RunRecord
from rpnb.study.tables import DatasetRow, OutcomeCount, Ranking, ResultRow, UpdatesRow

MEASURES: tuple[tables.Measure, ...] = ("error", "f1")


@dataclass(frozen=True, slots=True)
class StudyAnalysis:
    """All numbers of a report.

    Attributes
    ----------
    runs
        The records by dataset and method.
    datasets
        In the order of Table 1, or as asked for.
    methods
        The paper's, whether they have records or not, and others that do.
    shapes, results, counts, updates, rankings, agreements
        Table 1; Tables 2 and 3; Figures 1 and 2; Figure 3; ranks across datasets, or
        None where there are too few; each printed figure beside ours.
    """

    runs: Runs
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    shapes: tuple[DatasetRow, ...]
    results: Mapping[tables.Measure, tuple[ResultRow, ...]]
    counts: Mapping[tables.Measure, tuple[OutcomeCount, ...]]
    updates: tuple[UpdatesRow, ...]
    rankings: Mapping[tables.Measure, Ranking | None]
    agreements: tuple[Agreement, ...]

    def records(self) -> list[RunRecord]:
        """Return all records, by dataset, method and permutation."""
        return [record for cell in self.runs.values() for record in cell]

    def curves(self, dataset: str, measure: Measure) -> list[Curve]:
        """Return the learning curves of a dataset, a method each."""
        cells = (self.runs.get((dataset, method)) for method in self.methods)
        return [curve(cell, measure) for cell in cells if cell]


def analyse(
    records: Iterable[RunRecord], datasets: Sequence[str] | None = None
) -> StudyAnalysis:
    """Compute what a report of these records shows.

    Parameters
    ----------
    records
        Of one study.
    datasets
        What there are rows for, whether it was run or not; by default what was.

    Raises
    ------
    ValueError
        If there are no records, or records of different studies.
    """
    held = list(records)
    if not held:
        raise ValueError("records must hold at least one run, got none")
    runs = group(held)
    names = datasets_of(runs) if datasets is None else list(datasets)
    methods = sorted({*paper.METHODS, *methods_of(runs)}, key=order_of)
    results = {
        measure: tuple(tables.results(held, measure, names, methods))
        for measure in MEASURES
    }
    return StudyAnalysis(
        runs=runs,
        datasets=tuple(names),
        methods=tuple(methods),
        shapes=tuple(tables.shapes(held, names)),
        results=results,
        counts={
            measure: tuple(tables.counts(results[measure])) for measure in MEASURES
        },
        updates=tuple(tables.updates(held)),
        rankings={m: tables.ranking(results[m], m) for m in MEASURES},
        agreements=tuple(agreement(held, names)),
    )


def curve(records: Sequence[RunRecord], measure: Measure) -> Curve:
    """Return the curve of the runs of one method on one dataset.

    The places of the first run count; another run that stopped elsewhere is read
    between its own places on a straight line. The error is the share of mistakes
    among the rows so far. One run has a deviation of 0.
    """
    rows = np.array([point.row for point in records[0].curve], dtype=np.float64)
    values = np.stack([_values(record, rows, measure) for record in records])
    deviation = values.std(axis=0, ddof=1) if len(records) > 1 else np.zeros_like(rows)
    return Curve(records[0].method, rows, values.mean(axis=0), deviation, len(records))


def _values(record: RunRecord, rows: FloatArray, measure: Measure) -> FloatArray:
    own = np.array([0] + [point.row for point in record.curve], dtype=np.float64)
    counts = [
        point.mistakes if measure == "error" else point.updates
        for point in record.curve
    ]
    read: FloatArray = np.interp(rows, own, np.array([0, *counts], dtype=np.float64))
    return read / rows if measure == "error" else read
