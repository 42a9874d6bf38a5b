"""Small models of which files of older versions are kept in `tests/golden`."""

from typing import Any

import numpy as np

from rpnb import RPNBClassifier, baselines

# Rows on a grid, and classes that a line cannot tell apart.
X = np.array([[i % 5, i // 5] for i in range(25)], np.float64)
y = np.array(["near", "far", "between"])[(X[:, 0] * X[:, 1]).astype(int) % 3]

OLD = (
    *("RPNBClassifier", "FrozenRPNB", "PA1", "AROW", "OnlineBagging"),
    *("OnlineBoosting", "OnlineBayes", "GaussianNB", "NoChange"),
)


def fitted(name: str) -> Any:
    """Return the model whose file is kept under this name."""
    if name in ("RPNBClassifier", "FrozenRPNB"):
        # Probabilities were not learnt then.
        model = RPNBClassifier(5, n_components=2, temperature=None, random_state=0)
        model.fit(X, y, shuffle=False)
        return model.compile() if name == "FrozenRPNB" else model
    seeded = name in ("OnlineBagging", "OnlineBoosting")
    parameters = {"n_estimators": 2, "random_state": 0} if seeded else {}
    return baselines.make(name, **parameters).fit(X, y, shuffle=False)
