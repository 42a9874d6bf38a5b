from collections import Counter

import pytest

from rpnb.study.records import RunRecord
from rpnb.study.timing import Cell, RemainingTime

COST = {("Iris", "RPNB"): 10.0, ("Zoo", "RPNB"): 20.0, ("Zoo", "OGD"): 4.0}


def run(cell: Cell, seconds: float) -> RunRecord:
    return RunRecord(
        *(cell[0], cell[1], "{}", 0, "paper", "c", "1", 9, 4, 3),
        *(0.1, 0.9, 3, seconds, ()),
    )


def test_what_is_not_known_is_judged_by_what_is_like_it() -> None:
    timing = RemainingTime(lambda cell: COST[cell])
    assert timing.seconds_of(("Iris", "RPNB")) == 10.0
    timing.add(run(("Iris", "RPNB"), 1.0))
    timing.add(run(("Iris", "RPNB"), 3.0))
    assert timing.seconds_of(("Iris", "RPNB")) == 2.0
    # the method's runs took 4 seconds where 20 were expected
    assert timing.seconds_of(("Zoo", "RPNB")) == pytest.approx(4.0)
    # no run of the method: likewise of all methods
    assert timing.seconds_of(("Zoo", "OGD")) == pytest.approx(0.8)


def test_what_is_left_is_shared_by_the_processes() -> None:
    timing = RemainingTime(lambda cell: COST[cell])
    timing.add(run(("Iris", "RPNB"), 2.0))
    pending = Counter({("Iris", "RPNB"): 3, ("Zoo", "RPNB"): 1})
    assert timing.seconds_left(pending, 1) == pytest.approx(10.0, abs=0.1)
    assert timing.seconds_left(pending, 2) == pytest.approx(5.0, abs=0.1)
    assert timing.seconds_left(Counter(), 2) == 0.0
