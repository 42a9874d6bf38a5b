"""How the cost of RPNB grows with rows n, features p, members K and classes M.

One size varies at a time, the others stay. The stream is a mixture of Gaussian classes
(`rpnb.datasets.streams.mixture`) with means equally far apart for all p. A run is a new
model and one pass of `predict_then_learn`; the floor is `peers.floor`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from threadpoolctl import threadpool_limits

from peers.charts import Panel
from peers.floor import products
from peers.statistics import fit_power_law, spread
from peers.text_tables import three_digits
from rpnb import RPNBClassifier
from rpnb.datasets.streams import mixture
from rpnb.report.table_text import TextTable


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one run."""

    n: int = 20_000
    p: int = 20
    K: int = 200
    M: int = 5


GRID: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "n": (1_000, 3_000, 10_000, 30_000, 100_000),
        "p": (3, 10, 30, 100, 300, 1_000),
        "K": (10, 30, 100, 300, 1_000),
        "M": (2, 5, 10, 20, 50, 100),
    }
)


@dataclass(frozen=True, slots=True)
class Point:
    """Seconds of a run (median and range) and of its floor (median)."""

    varied: str
    n: int
    p: int
    K: int
    M: int
    seconds: float
    low: float
    high: float
    floor: float
    ratio: float
    error: float


def measure_growth(
    rounds: int,
    base: Sizes | None = None,
    grid: Mapping[str, Sequence[int]] = GRID,
    say: Callable[[str], object] = lambda message: None,
) -> list[Point]:
    """Return one point per size; run and floor are measured in turn, `rounds` times."""
    found = []
    for name, values in grid.items():
        for value in values:
            say(f"{name} = {value:,}")
            sizes = replace(base or Sizes(), **{name: value})
            found.append(_point(name, sizes, rounds))
    return found


def _point(name: str, sizes: Sizes, rounds: int) -> Point:
    chunks = list(mixture(sizes.n, sizes.p, sizes.M, separation=4.0, seed=0))
    X, y = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    classes = np.arange(sizes.M)
    error = 0.0

    def learn() -> None:
        nonlocal error
        model = RPNBClassifier(n_estimators=sizes.K, random_state=0)
        predictions = model.predict_then_learn(X, y, classes=classes)
        error = float(np.mean(predictions != y))

    with threadpool_limits(1):
        multiply = products(X, sizes.M, sizes.K)
        for job in (multiply, learn):  # fill the caches
            job()
        times = [(_seconds(learn), _seconds(multiply)) for _ in range(rounds)]
    mine, least = (list(column) for column in zip(*times, strict=True))
    own = spread(mine)
    ratio = spread([a / b for a, b in times]).median
    return Point(
        varied=name,
        n=sizes.n,
        p=sizes.p,
        K=sizes.K,
        M=sizes.M,
        seconds=own.median,
        low=own.low,
        high=own.high,
        floor=spread(least).median,
        ratio=ratio,
        error=error,
    )


def _seconds(job: Callable[[], object]) -> float:
    """Return the processor time of a job that has one thread."""
    began = time.process_time()
    job()
    return time.process_time() - began


def panels(points: Sequence[Point]) -> list[Panel]:
    """Return one panel per size that varies, with its fitted power law."""
    found = []
    for name in dict.fromkeys(point.varied for point in points):
        here = [point for point in points if point.varied == name]
        sizes = tuple(float(getattr(point, name)) for point in here)
        seconds = tuple(point.seconds for point in here)
        found.append(
            Panel(
                name=name,
                sizes=sizes,
                seconds=seconds,
                low=tuple(point.low for point in here),
                high=tuple(point.high for point in here),
                floor=tuple(point.floor for point in here),
                fit=fit_power_law(sizes, seconds),
            )
        )
    return found


def table(points: Sequence[Point]) -> TextTable:
    """Return the table, one line per size that varies."""
    rows = []
    for panel in panels(points):
        here = [point for point in points if point.varied == panel.name]
        floor = fit_power_law(panel.sizes, panel.floor)
        ratios = [point.ratio for point in here]
        micro = [1e6 * point.seconds / point.n for point in here]
        rows.append(
            (
                panel.name,
                f"{panel.sizes[0]:,.0f}–{panel.sizes[-1]:,.0f}",
                f"{three_digits(micro[0])}–{three_digits(micro[-1])}",
                f"{panel.fit.exponent:.2f}",
                f"{floor.exponent:.2f}",
                f"{three_digits(min(ratios))}–{three_digits(max(ratios))}",
            )
        )
    base = Sizes()
    return TextTable(
        "How the seconds of a run grow",
        ("size", "from–to", "µs per row", "exponent", "of the floor", "run / floor"),
        tuple(rows),
        (
            f"The other sizes: n = {base.n:,}, p = {base.p}, K = {base.K}, "
            f"M = {base.M}. Processor time, one thread.",
        ),
        align="lrrrrr",
    )
