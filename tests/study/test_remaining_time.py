"""The estimate of the time that a study still takes."""

from collections import Counter

import pytest

from rpnb.study.methods import cost, find
from rpnb.study.remaining_time import Cell, RemainingTime
from rpnb.study.run_records import RunRecord

COST = {("Iris", "RPNB"): 10.0, ("Zoo", "RPNB"): 20.0, ("Zoo", "OGD"): 4.0}
LONG, SHORT = ("Iris", "RPNB"), ("Zoo", "OGD")


def run(cell: Cell, seconds: float) -> RunRecord:
    return RunRecord(
        *(cell[0], cell[1], "{}", 0, "paper", "c", "1", 9, 4, 3),
        *(0.1, 0.9, 3, seconds, ()),
    )


def timed(*runs: tuple[Cell, float]) -> RemainingTime:
    timing = RemainingTime(lambda cell: COST[cell])
    for cell, seconds in runs:
        timing.add(run(cell, seconds))
    return timing


def test_an_unknown_time_is_estimated_from_similar_runs() -> None:
    timing = timed()
    assert timing.seconds_of(("Iris", "RPNB")) == 10.0
    timing = timed((LONG, 1.0), (LONG, 3.0))
    assert timing.seconds_of(("Iris", "RPNB")) == 2.0
    # the method's runs took 4 seconds where 20 were expected
    assert timing.seconds_of(("Zoo", "RPNB")) == pytest.approx(4.0)
    # no run of the method: likewise of all methods
    assert timing.seconds_of(("Zoo", "OGD")) == pytest.approx(0.8)


def test_the_work_left_is_shared_by_the_processes() -> None:
    timing = timed((LONG, 2.0))
    pending = Counter({LONG: 3, ("Zoo", "RPNB"): 1})
    assert timing.forecast(pending, 1).seconds == pytest.approx(10.0, abs=0.2)
    assert timing.forecast(pending, 2).seconds == pytest.approx(5.0, abs=0.2)
    assert timing.forecast(Counter(), 2) == (0.0, 1.0)


def test_no_number_of_processes_shortens_the_longest_run() -> None:
    pending = Counter({("Zoo", "RPNB"): 1, SHORT: 2})
    assert timed().forecast(pending, 8).seconds == pytest.approx(20.0, abs=0.2)


def test_many_short_runs_are_a_small_share_of_the_work() -> None:
    """Runs with the longest first: 2 % of them are done, and nearly all of the work."""
    timing = timed((LONG, 60.0), (LONG, 60.0), (SHORT, 0.01))
    found = timing.forecast(Counter({SHORT: 97}), 1)
    assert found.seconds == pytest.approx(97 * 0.04, rel=0.01)
    assert found.share == pytest.approx(120.0 / 124.0, abs=0.01)
    # and short ones first: 97 % of the runs are done, and hardly any of the work
    timing = timed(*[(SHORT, 0.01)] * 97, (LONG, 60.0))
    found = timing.forecast(Counter({LONG: 2}), 1)
    assert found.seconds == pytest.approx(120.0, rel=0.01)
    assert found.share == pytest.approx(64.0 / 184.0, abs=0.01)


def test_the_time_of_runs_in_progress_is_subtracted() -> None:
    timing = timed((LONG, 10.0))
    pending = Counter({LONG: 3})
    left = [timing.forecast(pending, 1, [(LONG, t)]).seconds for t in (0.0, 4.0, 8.0)]
    assert left == pytest.approx([30.0, 26.0, 22.0], abs=0.2)
    # one that takes longer than expected is never about to end
    late = timing.forecast(Counter({LONG: 1}), 1, [(LONG, 40.0)])
    assert late.seconds == pytest.approx(10.0)
    assert late.share == pytest.approx(0.83, abs=0.01)


# Seconds of runs, measured on one core: n, p, M, method.
MEASURED = [
    (28056, 6, 18, "OnlineBagging", 13.2),
    (1000, 1000, 3, "OnlineBagging", 17.1),
    (12960, 8, 5, "OnlineBagging", 2.48),
    (5000, 40, 3, "OnlineBagging", 4.24),
    (7400, 20, 2, "OnlineBagging", 2.84),
    (500, 7, 10, "OnlineBagging", 0.217),
    (28056, 6, 18, "RPNB", 0.22),
    (1000, 1000, 3, "RPNB", 0.77),
    (1000, 1000, 3, "AROW", 0.80),
    (28056, 6, 18, "OGD", 0.023),
    (1000, 1000, 3, "OGD", 0.009),
    (7400, 20, 2, "Pooled", 0.98),
    (1000, 1000, 3, "Pooled", 0.29),
]


@pytest.mark.parametrize(("n", "p", "M", "method", "seconds"), MEASURED)
def test_the_rough_cost_is_about_right_for_every_shape(
    n: int, p: int, M: int, method: str, seconds: float
) -> None:
    assert 0.5 < cost(find(method), n, p, M) / seconds < 2.0
