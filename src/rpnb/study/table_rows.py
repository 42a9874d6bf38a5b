"""The paper's tables and figures as numbers, computed from records.

Each row holds our value and the printed one. A value without records is None, and a
dash in every table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rpnb.datasets import paper
from rpnb.datasets.paper import Comparison
from rpnb.estimators.registry import RPNB
from rpnb.study.methods import REFERENCES
from rpnb.study.run_records import RunRecord, Runs
from rpnb.study.statistics import (
    Better,
    Friedman,
    Pair,
    compare,
    friedman,
    mean_and_variance,
    pairwise,
)

Measure: TypeAlias = Literal["error", "f1"]

BETTER: Mapping[Measure, Better] = {"error": "low", "f1": "high"}
#: The datasets of Figure 3.
UPDATES_ON = ("GM", "Conn Bench Vowel")


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A row of Table 1: the printed shape, and that of the loaded rows."""

    dataset: str
    paper_p: int | None
    paper_n: int | None
    paper_M: int | None
    p: int | None
    n: int | None
    M: int | None
    source: str | None


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A cell of Table 2 or 3: our result and the printed one."""

    dataset: str
    method: str
    mean: float | None
    variance: float | None
    """variance with n − 1 in the denominator; None for a single run"""
    runs: int
    versus_rpnb: Comparison | None
    """result of the signed-rank test; None for RPNB, or if RPNB has no runs"""
    paper_mean: float | None
    paper_variance: float | None
    paper_versus_rpnb: Comparison | None


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """A bar of Figure 1 or 2: RPNB against a method over the datasets."""

    method: str
    wins: int
    """datasets on which RPNB is significantly better"""
    ties: int
    losses: int
    paper_wins: int | None
    """counts of the printed arrows, for the same datasets"""
    paper_ties: int | None
    paper_losses: int | None


@dataclass(frozen=True, slots=True)
class UpdatesRow:
    """A bar of Figure 3: the number of updates of a method."""

    dataset: str
    method: str
    mean: float | None
    variance: float | None
    runs: int
    paper: float | None


@dataclass(frozen=True, slots=True)
class Rank:
    """Average rank of a method, and comparison of RPNB with it across datasets."""

    method: str
    rank: float
    wins: int | None
    """datasets on which RPNB's mean is better; None for RPNB itself"""
    ties: int | None
    losses: int | None
    p: float | None
    p_holm: float | None
    """p-value corrected for all pairs of methods"""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Methods compared across the datasets on which all of them have records."""

    datasets: tuple[str, ...]
    friedman: Friedman
    pairs: tuple[Pair, ...]

    def ranks(self) -> list[Rank]:
        """Return the methods from the best to the worst."""
        against = {pair.second: pair for pair in self.pairs if pair.first == RPNB}
        table = []
        for method, rank in sorted(self.friedman.ranks.items(), key=lambda i: i[1]):
            pair = against.get(method)
            if pair is None:
                table.append(Rank(method, rank, None, None, None, None, None))
            else:
                counts = pair.wins, pair.ties, pair.losses
                table.append(Rank(method, rank, *counts, pair.p, pair.p_holm))
        return table


def shapes(runs: Runs, datasets: Sequence[str]) -> list[DatasetRow]:
    """Return Table 1 for the given datasets."""
    printed = {shape.dataset: shape for shape in paper.table_1()}
    table = []
    for name in datasets:
        there = printed.get(name)
        cell = next((cell for (d, _), cell in runs.items() if d == name), ())
        ours = cell[0] if cell else None
        table.append(
            DatasetRow(
                name,
                paper_p=there.p if there else None,
                paper_n=there.n if there else None,
                paper_M=there.M if there else None,
                p=ours.p if ours else None,
                n=ours.n if ours else None,
                M=ours.M if ours else None,
                source=_source_of(cell),
            )
        )
    return table


def _source_of(cell: Sequence[RunRecord]) -> str | None:
    sources = list(dict.fromkeys(record.source for record in cell))
    if len(sources) > 1:  # each permutation has its own draw
        return f"{sources[0]}, …: one draw per permutation"
    return (sources or [""])[0] or None


def results(
    runs: Runs, measure: Measure, datasets: Sequence[str], methods: Sequence[str]
) -> list[ResultRow]:
    """Return Table 2 (error) or 3 (F1), dataset by dataset."""
    printed = {(r.dataset, r.method): r for r in paper.results()}
    return [
        _result(runs, name, method, measure, printed.get((name, method)))
        for name in datasets
        for method in methods
    ]


def _result(
    runs: Runs,
    name: str,
    method: str,
    measure: Measure,
    printed: paper.PrintedResult | None,
) -> ResultRow:
    cell = runs.get((name, method), ())
    mean, spread = mean_and_variance([getattr(run, measure) for run in cell])
    return ResultRow(
        name,
        method,
        mean,
        spread,
        len(cell),
        versus_rpnb(runs, name, method, measure),
        *_printed(printed, measure),
    )


def versus_rpnb(
    runs: Runs, dataset: str, method: str, measure: Measure
) -> Comparison | None:
    """Return how a method compares with RPNB on the permutations that both ran."""
    mine = {run.permutation: run for run in runs.get((dataset, method), ())}
    base = {run.permutation: run for run in runs.get((dataset, RPNB), ())}
    common = sorted(mine.keys() & base.keys())
    if method == RPNB or not common:
        return None
    return compare(
        [getattr(mine[r], measure) for r in common],
        [getattr(base[r], measure) for r in common],
        BETTER[measure],
    )


def _printed(
    result: paper.PrintedResult | None, measure: Measure
) -> tuple[float | None, float | None, Comparison | None]:
    if result is None:
        return None, None, None
    if measure == "error":
        return result.error_mean, result.error_var, result.error_vs_rpnb
    return result.f1_mean, result.f1_var, result.f1_vs_rpnb


def counts(cells: Sequence[ResultRow]) -> list[OutcomeCount]:
    """Return Figure 1 or 2 from the cells of Table 2 or 3."""
    table = []
    for method in dict.fromkeys(cell.method for cell in cells):
        tested = [c for c in cells if c.method == method and c.versus_rpnb]
        if not tested:
            continue
        own = [c.versus_rpnb for c in tested]
        printed = [c.paper_versus_rpnb for c in tested if c.paper_versus_rpnb]
        table.append(
            OutcomeCount(
                method,
                wins=own.count("worse"),
                ties=own.count("equal"),
                losses=own.count("better"),
                paper_wins=printed.count("worse") if printed else None,
                paper_ties=printed.count("equal") if printed else None,
                paper_losses=printed.count("better") if printed else None,
            )
        )
    return table


def updates(
    runs: Runs, datasets: Sequence[str], methods: Sequence[str]
) -> list[UpdatesRow]:
    """Return Figure 3: the numbers of updates on GM and Conn Bench Vowel.

    A dataset that is not among `datasets` is left out.
    """
    printed = {(u.dataset, u.method): u.updates for u in paper.updates()}
    table = []
    for name in UPDATES_ON:
        for method in methods if name in datasets else ():
            cell = runs.get((name, method), ())
            mean, spread = mean_and_variance([float(run.updates) for run in cell])
            known = printed.get((name, method))
            table.append(UpdatesRow(name, method, mean, spread, len(cell), known))
    return table


def ranking(cells: Sequence[ResultRow], measure: Measure) -> Ranking | None:
    """Compare all methods but the references across datasets, from Table 2 or 3.

    Only datasets on which every method has records are used. Returns None if there
    are fewer than two such datasets, or fewer than two methods.
    """
    mine = [c for c in cells if c.method not in REFERENCES]
    means = {(c.dataset, c.method): c.mean for c in mine if c.mean is not None}
    methods = list(dict.fromkeys(method for _, method in means))
    names = [
        name
        for name in dict.fromkeys(c.dataset for c in mine)
        if all((name, method) in means for method in methods)
    ]
    if len(methods) < 2 or len(names) < 2:
        return None
    columns = {m: [means[name, m] for name in names] for m in methods}
    better = BETTER[measure]
    pairs = tuple(pairwise(columns, better))
    return Ranking(tuple(names), friedman(columns, better), pairs)
