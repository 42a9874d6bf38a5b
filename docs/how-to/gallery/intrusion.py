"""Intrusions in network traffic: a new kind of attack appears half way, unannounced."""

import numpy as np

from rpnb import RPNBClassifier
from rpnb.evaluate import prequential

FEATURES = 12  # logarithms of durations, bytes, counts of connections …


def traffic(n: int, new_from: int) -> tuple[np.ndarray, np.ndarray]:
    """Return connections and their kinds; attacks come in bursts."""
    rng = np.random.default_rng(3)
    centres = {
        kind: rng.normal(0.0, 1.6, FEATURES) for kind in ("scan", "flood", "worm")
    }
    X, y = rng.normal(size=(n, FEATURES)), np.full(n, "normal", dtype="<U6")
    for start in range(200, n, 100):
        kinds = ["scan", "flood"] if start < new_from else ["scan", "flood", "worm"]
        kind = str(rng.choice(kinds))
        # A burst of attacks continues amid normal traffic.
        burst = start + np.flatnonzero(rng.random(100) < 0.35)
        burst = burst[burst < n]
        X[burst] += centres[kind]
        y[burst] = kind
    return X, y


X, y = traffic(6000, new_from=3000)
model = RPNBClassifier(random_state=0)  # no class is declared: each joins when it comes
result = prequential(
    model, X, y, metrics=["macro_f1", "accuracy", "kappa_temporal"], keep_answers=True
)
print(result)

labels = np.array(result["RPNBClassifier"].answers, dtype=object)
worm = np.flatnonzero(y == "worm")
caught = labels[worm] == "worm"
print(
    f"\nThe first worm came in row {worm[0]:,} and was taken for {labels[worm[0]]!r}."
)
print(f"Of the next ten {np.mean(caught[1:11]):.0%} were recognised, ", end="")
print(f"of the other {len(worm) - 11} {np.mean(caught[11:]):.0%}.")
wrong, other, new = labels != y, y != "worm", np.arange(len(y)) >= worm[0]
print(
    f"Errors on the other kinds: {np.mean(wrong[other & ~new]):.1%} before it,", end=" "
)
print(f"{np.mean(wrong[other & new]):.1%} after.")
