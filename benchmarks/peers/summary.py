"""A summary of the runs of each learner on each stream."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peers.peers import PEERS, REFERENCE
from peers.rounds import Outcome, Run
from peers.statistics import spread


@dataclass(frozen=True, slots=True)
class LearnerSummary:
    """Speed, error and size of one learner on one stream.

    Attributes
    ----------
    stream, library, version, learner
        Names of the stream, the library, its release and the learner.
    n, rows, rounds
        Rows of the stream, rows given to this learner, and runs.
    speed, speed_low, speed_high
        Rows per second of processor time: median over the rounds, and range.
    speed_wall
        Median of rows per second of wall time.
    error, reference_error
        Share of wrong labels, mean over the rounds: its own, and RPNB's on the same
        rows.
    ratio, ratio_low, ratio_high
        RPNB's rows per second divided by its own in the same round: median and range.
    model_bytes, peak_bytes
        Size of the saved model, and growth of a new process during the run.
    is_reference
        Whether it is the learner that the others are compared with.
    """

    stream: str
    library: str
    version: str
    learner: str
    n: int
    rows: int
    rounds: int
    speed: float
    speed_low: float
    speed_high: float
    speed_wall: float
    error: float
    reference_error: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    model_bytes: int | None
    peak_bytes: int | None
    is_reference: bool


def summarise(outcome: Outcome) -> list[LearnerSummary]:
    """Return a summary of every learner that has at least one run, in order."""
    groups: dict[tuple[str, str, str], list[Run]] = {
        (stream, *key): []
        for stream in outcome.plan.streams
        for key in outcome.plan.learners
    }
    for run in outcome.runs:
        groups[run.stream, run.peer, run.learner].append(run)
    sizes = {(s.stream, s.peer, s.learner): s for s in outcome.sizes}
    found = []
    for (stream, peer, learner), runs in groups.items():
        if not runs:
            continue
        size = sizes.get((stream, peer, learner))
        fixed = groups.get((stream, *REFERENCE), [])
        reference = {run.round: _speed(run) for run in fixed}
        ratios = [
            reference[run.round] / _speed(run) for run in runs if run.round in reference
        ]
        ratio = spread(ratios) if ratios else None
        speed = spread([_speed(run) for run in runs])
        found.append(
            LearnerSummary(
                stream=stream,
                library=PEERS[peer].label,
                version=runs[0].version,
                learner=PEERS[peer].learners[learner].format(K=outcome.plan.K),
                n=runs[0].n,
                rows=runs[0].rows,
                rounds=len(runs),
                speed=speed.median,
                speed_low=speed.low,
                speed_high=speed.high,
                speed_wall=float(np.median([run.rows / run.wall for run in runs])),
                error=float(np.mean([run.error for run in runs])),
                reference_error=_mean([run.reference_error for run in runs]),
                ratio=ratio.median if ratio else None,
                ratio_low=ratio.low if ratio else None,
                ratio_high=ratio.high if ratio else None,
                model_bytes=size.model_bytes if size else None,
                peak_bytes=size.peak_bytes if size else None,
                is_reference=(peer, learner) == REFERENCE,
            )
        )
    return found


def _speed(run: Run) -> float:
    return run.rows / run.seconds


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
