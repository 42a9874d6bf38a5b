"""A stream that drifts: what remembers, what forgets, and what notices.

Digits on a display of seven segments, each wrong with probability 0.1, among 17 columns
of noise; three times, four segments swap places with columns of noise. Given a folder,
it draws the error over the last 1,000 rows, for wide and narrow screens, and the pool's
error beside that of its members.

Run: python docs/how-to/gallery/drifting.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.datasets import streams
from rpnb.drift import DriftAware
from rpnb.evaluate import prequential
from rpnb.report.charts.curves import Curve, curve_panel, make_plot
from rpnb.report.charts.svg import standalone

learners = {
    "Pooled": PooledClassifier(random_state=0),
    "RPNB": RPNBClassifier(random_state=0),
    "DriftAware": DriftAware(RPNBClassifier(random_state=0), warm=100),
    "forgetting=50": RPNBClassifier(forgetting=50, random_state=0),
    "GaussianNB": baselines.GaussianNB(),
    "PA": baselines.PA(),
}
stream = streams.led(20_000, seed=0)
result = prequential(
    learners,
    stream,
    classes=np.arange(10),
    metrics=["error", "kappa"],
    every=250,
    window=1000,
)
print(result)
print(f"alarms at rows {list(result.models['DriftAware'].drifts_)}")


# What the picture calls them.
_TITLES = {"DriftAware": "RPNB, ADWIN", "forgetting=50": "RPNB, forgetting"}


def draw(name: str, errors: dict[str, NDArray], rows: NDArray, *, width: float) -> None:
    """Draw errors over rows into the folder; the three lowest have colours."""
    errors = {_TITLES.get(name, name): course for name, course in errors.items()}
    ranked = sorted(errors, key=lambda learner: errors[learner].mean())
    curves = [
        Curve(learner, rows, course, np.zeros_like(course), runs=1)
        for learner, course in errors.items()
    ]
    title = "Error over the last 1,000 rows of a stream that drifts three times"
    plot = make_plot(title, curves, "window", emphasised=ranked[:3], names=ranked)
    picture = curve_panel(plot, width=width, unit="error, last 1,000 rows")
    Path(sys.argv[1], name).write_text(standalone(picture), encoding="utf-8")


if len(sys.argv) > 1:
    errors = {name: result[name].figures["window"]["error"] for name in learners}
    rows = result["Pooled"].rows * 1.0
    draw("drifting.svg", errors, rows, width=760.0)
    few = ("Pooled", "DriftAware", "RPNB", "GaussianNB")
    draw("drifting-narrow.svg", {name: errors[name] for name in few}, rows, width=380.0)

    history = result.models["Pooled"].member_history_
    last = np.full(4, 0.25)  # a point has the errors of 256 rows: 1,024 in all
    members = {
        name: np.convolve(course[:-1], last, "valid")
        for name, course in history.errors.items()
        if name != "transitions"  # uses labels only, which are random here
    }
    draw("pooled-members.svg", members, history.rows[3:-1] * 1.0, width=760.0)
