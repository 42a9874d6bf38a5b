"""What a pooled model has learnt of a stream is as on record: labels, and each array.

Members and pool equal their twins, which share their constants: how long a window is,
when a factor is computed anew, how fast something is forgotten. Here these show. What
is meant to change is written anew: ``python tests/core/pooled/test_on_record.py``.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import run
from rpnb.core.pooled.model import (
    MEMBERS,
    PooledModel,
    copy_model,
    merge_models,
    new_model,
)

RECORD = Path(__file__).parents[2] / "golden" / "pooled.json"
#: Rows, features, delay of the labels; −1 for parts that are merged.
STREAMS = [(60, 3, 0), (1500, 70, 0), (700, 3, 5), (600, 70, -1)]
Sums = dict[str, list[float]]


def stream(n: int, p: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return rows, labels and weights.

    Classes come in runs, a third one later; a feature is constant at first, another
    changes its size, some values and some labels are missing.
    """
    rng = np.random.default_rng(0)
    number = np.arange(n)
    M = np.where(number < n // 3, 2, 3)
    y = (number // 4 + rng.integers(0, 2, n)) % M
    X = rng.normal(size=(n, p))
    X[:, :3] += 1.5 * (y[:, None] == np.arange(3))
    X[: n // 2, 0] = 1.0
    X[n // 2 :, 1] *= 8.0
    X[rng.random((n, p)) < 0.02] = np.nan
    weight = rng.integers(1, 3, n).astype(np.float64)
    return X, np.where(rng.random(n) < 0.05, -1, y), weight


def sums(model: PooledModel, prefix: str = "") -> Iterator[tuple[str, list[float]]]:
    """Yield the sum of each array, and that of its absolute values."""
    for record in (model.scale, model.pool, *model.states):
        for name, array in record._asdict().items():
            values = array[np.isfinite(array)].astype(np.float64)
            both = [float(values.sum()), float(np.abs(values).sum())]
            yield f"{prefix}{type(record).__name__}.{name}", both
    if model.late is not None:
        yield from sums(model.late.behind, "late.")


def found(n: int, p: int, delay: int) -> Sums:
    """Return what a model has learnt of a stream, and its mistakes by fifths."""
    model = new_model([*MEMBERS], p, 16, 0, np.arange(3) < 2, 1, max(delay, 0))
    X, y, weight = stream(n, p)
    labels = np.empty(n, np.int64)

    def learn(model: PooledModel, rows: slice) -> PooledModel:
        nothing = np.zeros((0, 0))
        run(model, X[rows], y[rows], weight[rows], labels[rows], nothing)
        return model

    if delay >= 0:
        learn(model, slice(n))
    else:
        thirds = [slice(i * n // 3, (i + 1) * n // 3) for i in range(3)]
        learn(model, thirds[0])
        parts = [learn(copy_model(model), rows) for rows in thirds[1:]]
        model = merge_models(parts, model)
    wrong = (labels != y) & (y >= 0)
    mistakes = [float(part.sum()) for part in np.array_split(wrong, 5)]
    return {"mistakes": mistakes, **dict(sums(model))}


@pytest.mark.parametrize(
    "case",
    [
        STREAMS[0],
        *(
            pytest.param(each, marks=pytest.mark.slow_uncompiled)
            for each in STREAMS[1:]
        ),
    ],
)
def test_what_was_learnt_is_as_on_record(case: tuple[int, int, int]) -> None:
    expected: Sums = json.loads(RECORD.read_text())[repr(case)]
    now = found(*case)
    assert list(now) == list(expected)
    for name, values in expected.items():
        scale = max(abs(values[-1]), 1e-9)
        assert_allclose(now[name], values, rtol=0.0, atol=1e-5 * scale, err_msg=name)


if __name__ == "__main__":
    cases = []
    for each in STREAMS:
        entries = [
            f"{json.dumps(name)}: {json.dumps([float(f'{x:.7g}') for x in values])}"
            for name, values in found(*each).items()
        ]
        cases.append(f'"{each}": {{\n' + ",\n".join(entries) + "\n}")
    RECORD.write_text("{\n" + ",\n".join(cases) + "\n}\n")
