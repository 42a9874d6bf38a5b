"""How cost grows with each size, and the floor beside it."""

from collections import Counter

import numpy as np
import pytest

from peers.floor import products
from peers.growth import Point, Sizes, measure_growth, panels, table
from rpnb.core.kernels.arrays import FloatArray


def test_one_size_varies_at_a_time() -> None:
    base = Sizes(n=60, p=3, K=2, M=2)
    points = measure_growth(1, base, {"n": (30, 60), "M": (2, 3)})
    sizes = [(point.varied, point.n, point.p, point.K, point.M) for point in points]
    assert sizes == [
        ("n", 30, 3, 2, 2), ("n", 60, 3, 2, 2), ("M", 60, 3, 2, 2), ("M", 60, 3, 2, 3),
    ]  # fmt: skip
    for point in points:
        assert 0.0 < point.low <= point.seconds <= point.high
        assert 0.0 <= point.error < 1.0
        assert point.floor > 0.0


def made_up(varied: str, size: int, seconds: float, floor: float) -> Point:
    sizes = {"n": 1000, "p": 20, "K": 200, "M": 5} | {varied: size}
    ratio = seconds / floor
    return Point(varied, **sizes, seconds=seconds, low=seconds, high=seconds,
                 floor=floor, ratio=ratio, error=0.1)  # fmt: skip


def test_the_table_has_both_exponents_and_the_range_of_ratios() -> None:
    points = [
        made_up("n", 1000, 0.01, 0.005),
        made_up("n", 10_000, 0.1, 0.02),
        made_up("K", 10, 0.02, 0.01),
        made_up("K", 100, 0.02, 0.01),
    ]
    floor = np.log10(4.0)
    assert table(points).rows == (
        ("n", "1,000–10,000", "10.0–10.0", "1.00", f"{floor:.2f}", "2.00–5.00"),
        ("K", "10–100", "20.0–20.0", "0.00", "0.00", "2.00–2.00"),
    )
    (n, K) = panels(points)
    assert (n.name, n.sizes, n.floor) == ("n", (1000.0, 10_000.0), (0.005, 0.02))
    assert K.fit(50.0) == pytest.approx(0.02)


@pytest.mark.parametrize("n", [1, 1024, 1500])
def test_the_floor_covers_all_rows_in_blocks(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: Counter[tuple[int, ...]] = Counter()
    matmul = np.matmul

    def counting(left: FloatArray, right: FloatArray, out: FloatArray) -> FloatArray:
        rows[right.shape] += len(left)
        product: FloatArray = matmul(left, right, out=out)
        return product

    monkeypatch.setattr(np, "matmul", counting)
    products(np.ones((n, 3)), 2, 4)()
    # One projection to 4 times 3 columns, and two products with those of 2 classes.
    assert rows == {(3, 12): n, (12, 2): 2 * n}
