"""A stream that drifts: what remembers, what forgets, and what notices.

Digits on a display of seven segments, each wrong with probability 0.1, among 17 columns
of noise; three times, four segments change places with columns of noise. The picture
has the error over the last 1,000 rows.

Run: python docs/gallery/drifting.py [picture.svg]
"""

import sys
from pathlib import Path

import numpy as np

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

if len(sys.argv) > 1:
    curves = [
        Curve(name, course.rows, errors, np.zeros_like(errors), runs=1)
        for name in learners
        for course in [result[name]]
        for errors in [course.figures["window"]["error"]]
    ]
    ranked = sorted(learners, key=lambda name: result[name].last("error"))
    title = "Error over the last 1,000 rows of a stream that drifts three times"
    plot = make_plot(title, curves, "window", emphasised=ranked[:3], names=ranked)
    picture = curve_panel(plot, width=760.0, unit="error, last 1,000 rows")
    Path(sys.argv[1]).write_text(standalone(picture), encoding="utf-8")
