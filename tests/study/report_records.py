"""Records made by hand for the tests of the report."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rpnb.datasets import paper
from rpnb.study.analysis import analyse
from rpnb.study.run_records import CurvePoint, RunRecord
from rpnb.study.text_tables import table_files


def make_record(
    dataset: str = "Iris",
    method: str = "RPNB",
    permutation: int = 0,
    *,
    error: float = 0.08,
    f1: float = 0.92,
    updates: int | None = None,
    n: int = 150,
    p: int = 4,
    M: int = 3,
    places: int = 5,
    source: str = "file",
    version: str = "0.1.0",
    reading: str = "paper",
) -> RunRecord:
    """Return a run whose mistakes and updates grow evenly with the rows."""
    rows = np.unique(np.linspace(n / places, n, places).round().astype(int))
    mistakes = round(error * n)
    changed = mistakes if updates is None else updates
    return RunRecord(
        dataset=dataset,
        method=method,
        parameters="{}",
        permutation=permutation,
        reading=reading,
        content="c0ffee",
        version=version,
        n=n,
        p=p,
        M=M,
        error=error,
        f1=f1,
        updates=changed,
        seconds=0.5,
        curve=tuple(
            CurvePoint(int(row), mistakes * int(row) // n, changed * int(row) // n)
            for row in rows
        ),
        source=source,
    )


def like_the_paper(
    datasets: Iterable[str] | None = None,
    methods: Iterable[str] = paper.METHODS,
    permutations: int = 10,
    seed: int = 5,
) -> list[RunRecord]:
    """Return runs drawn around the printed means with the printed variances."""
    rng = np.random.default_rng(seed)
    shapes = {shape.dataset: shape for shape in paper.table_1()}
    wanted = set(shapes if datasets is None else datasets)
    columns = set(methods)
    records = []
    for row in paper.results():
        if row.dataset not in wanted or row.method not in columns:
            continue
        shape = shapes[row.dataset]
        errors = rng.normal(row.error_mean, row.error_var**0.5, permutations)
        f1s = rng.normal(row.f1_mean, row.f1_var**0.5, permutations)
        for permutation, (error, f1) in enumerate(zip(errors, f1s, strict=True)):
            records.append(
                make_record(
                    row.dataset,
                    row.method,
                    permutation,
                    error=float(np.clip(error, 0.0, 1.0)),
                    f1=float(np.clip(f1, 0.0, 1.0)),
                    n=shape.n,
                    p=shape.p,
                    M=shape.M,
                )
            )
    return records


def mixed_study() -> list[RunRecord]:
    """Return runs of which some agree with the paper and some do not.

    One method, one dataset and one reading are not in the paper; one method was run on
    some datasets only, one is without its last runs.
    """
    records = like_the_paper(["Iris", "Ecoli", "GM"], ["RPNB", "AROW", "PA"], 6)
    records += like_the_paper(["Zoo", "Tic_TacToe"], ["RPNB", "AROW"], 6, seed=6)
    records += [
        make_record("Iris", "Mine", r, error=0.06 + 0.002 * r, f1=0.9) for r in range(4)
    ]
    for r in range(6):
        common = {"n": 500, "p": 40, "M": 2, "source": "a file of mine"}
        one = make_record("Own", "RPNB", r, error=0.1 + 0.01 * r, **common)  # type: ignore[arg-type]
        two = make_record("Own", "PA", r, error=0.3 - 0.01 * r, **common)  # type: ignore[arg-type]
        records += [one, replace(two, reading="true", version="0.2.0")]
    shift = {
        ("Iris", "PA"): 0.05,
        ("Ecoli", "RPNB"): 0.1,
        ("Zoo", "RPNB"): 0.1,
        ("Zoo", "AROW"): 0.1,
    }
    return [
        replace(each, error=each.error + shift.get((each.dataset, each.method), 0.0))
        for each in records
    ]


def tables_of(records: Iterable[RunRecord]) -> dict[str, bytes]:
    """Return all tables of some runs, as files by name."""
    return table_files(analyse(records))
