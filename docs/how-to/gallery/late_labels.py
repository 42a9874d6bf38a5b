"""Fraud that is known weeks later: what waiting for labels does to an evaluation."""

import sys

import numpy as np

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.evaluate import prequential

N, PER_DAY = 9000, 100


def payments() -> tuple[np.ndarray, np.ndarray]:
    """Return payments of ninety days; fraudsters change their pattern every month."""
    rng = np.random.default_rng(0)
    fraud = rng.random(N) < 0.15
    patterns = rng.normal(0.0, 1.2, (3, 15))
    month = np.arange(N) // (30 * PER_DAY)
    X = rng.normal(size=(N, 15)) + np.where(fraud[:, None], patterns[month], 0.0)
    return X, np.where(fraud, "fraud", "fair")


X, y = payments()
day = np.arange(N) / PER_DAY
rng = np.random.default_rng(1)
# Complaints come after 5 to 20 days; what nobody has complained of is fair by day 20.
known = day + np.where(y == "fraud", rng.uniform(5.0, 20.0, N), 20.0)

model = {
    "Pooled": PooledClassifier(random_state=0),
    "RPNB": RPNBClassifier(random_state=0),
    "AROW": baselines.AROW(),
}
measures = ["balanced_accuracy", "kappa"]
at_once = prequential(model, X, y, metrics=measures)
late = prequential(model, X, y, metrics=measures, moment=day, arrival=known)
print("Labels at once:", at_once, "\nLabels when they are known:", late, sep="\n")

gap = at_once["RPNB"].last("kappa") - late["RPNB"].last("kappa")
print(
    f"\nEvaluating as if labels were known at once flatters RPNB's kappa by {gap:.2f}."
)

if len(sys.argv) > 1:  # a file for the curves; needs the extra rpnb[report]
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="tight")
    at_once.plot("kappa", ax=axes[0]).set_title("labels at once")
    axes[0].get_legend().remove()
    late.plot("kappa", ax=axes[1]).set_title("labels when they are known")
    figure.savefig(sys.argv[1], dpi=80)
