"""Activities from windows of a worn accelerometer, one person after another."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.evaluate import prequential

RATE, SECONDS = 25, 2  # samples a second; seconds in a window
# Cadence in Hz and strength of movement: what tells activities apart.
ACTIVITIES = {
    "lying": (0.0, 0.02),
    "sitting": (0.0, 0.05),
    "standing": (0.3, 0.08),
    "walking": (1.8, 0.6),
    "stairs": (1.5, 0.8),
    "running": (2.7, 1.6),
}
GRAVITY = {"lying": (1.0, 0.0, 0.1), "sitting": (0.2, 0.5, 0.8)}


def window(activity: str, person: np.random.Generator, gait: float) -> np.ndarray:
    """Return three axes of acceleration over a window."""
    cadence, strength = ACTIVITIES[activity]
    t = np.arange(RATE * SECONDS) / RATE
    phase = person.uniform(0.0, 2.0 * np.pi)
    swing = np.sin(2.0 * np.pi * cadence * gait * t + phase)
    axes = np.outer(swing, [0.5, 0.3, 1.0]) * strength * gait
    axes += np.array(GRAVITY.get(activity, (0.0, 0.1, 1.0)))
    return axes + person.normal(0.0, 0.08 + 0.1 * strength, axes.shape)


def features(axes: np.ndarray) -> np.ndarray:
    """Return mean, spread, range and the low end of the spectrum of each axis."""
    spectrum = np.abs(np.fft.rfft(axes - axes.mean(axis=0), axis=0))[1:9]
    parts = [axes.mean(axis=0), axes.std(axis=0), np.ptp(axes, axis=0)]
    return np.concatenate([*parts, np.log1p(spectrum).ravel()])


rng = np.random.default_rng(0)
rows, labels = [], []
for _person in range(20):
    gait = rng.uniform(0.8, 1.2)  # everybody walks differently
    for _bout in range(12):
        activity = str(rng.choice(list(ACTIVITIES)))
        for _ in range(15):
            rows.append(features(window(activity, rng, gait)))
            labels.append(activity)
X, y = np.array(rows), np.array(labels)
X = StandardScaler().fit(X[:200]).transform(X)  # scales from a first sample

models = {
    "Pooled": PooledClassifier(random_state=0),
    "RPNB": RPNBClassifier(random_state=0),
    "PA": baselines.PA(),
}
result = prequential(models, X, y, metrics=["accuracy", "macro_f1", "kappa_temporal"])
print(result)
