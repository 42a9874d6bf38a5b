"""Smoke test of an installed package: learn, predict, save and load.

Prints a digest of all results, which is the same on every machine and Python version.

    python tools/smoke.py
"""

import hashlib
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from rpnb import PooledClassifier, RPNBClassifier
from rpnb._core import level
from rpnb.baselines import AROW, GaussianNB, OnlineBagging


def main() -> None:
    """Learn the digits with five learners; print their errors and a digest."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:1000]
    X, y = X[order], y[order]
    found = hashlib.sha256()
    for model, most in (
        (PooledClassifier(random_state=0), 0.10),
        (RPNBClassifier(random_state=0), 0.20),
        (AROW(), 0.30),
        (GaussianNB(), 0.30),
        (OnlineBagging(random_state=0), 0.60),
    ):
        labels = model.predict_then_learn(X, y, classes=np.arange(10))
        error = float(np.mean(labels != y))
        name = type(model).__name__
        print(f"{name:18} error {error:.3f}")
        assert error < most, f"{name} has an error of {error}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.rpnb"
            model.save(path)
            found.update(path.read_bytes())
            again = type(model).load(path)
            assert np.array_equal(again.predict(X), model.predict(X))
        found.update(np.asarray(labels, np.int64).tobytes())
    print(f"level {level}, digest {found.hexdigest()[:16]}")


if __name__ == "__main__":
    main()
