"""The pool, as its formulas stand, in NumPy."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray


def softmax(values: FloatArray) -> FloatArray:
    powers = np.exp(values - values.max())
    return powers / powers.sum()


class Pool:
    """Weights by online Newton steps, and a temperature."""

    def __init__(self, weights: FloatArray) -> None:
        self.w = weights.copy()
        self.H = 30.0 * np.eye(len(weights))
        self.power, self.h = 1.0, 30.0

    def clipped(self, scores: FloatArray) -> FloatArray:
        return np.maximum(scores - scores.max(axis=1, keepdims=True), -6.0)

    def posterior(self, scores: FloatArray) -> FloatArray:
        return softmax(self.w @ self.clipped(scores))

    def tempered(self, scores: FloatArray) -> FloatArray:
        return softmax(self.power * np.log(self.posterior(scores)))

    def learn(self, scores: FloatArray, y: int) -> None:
        f, P = self.clipped(scores), self.posterior(scores)
        logs, Q = np.log(P), self.tempered(scores)
        self.h = 0.999 * self.h + 0.03 + Q @ logs**2 - (Q @ logs) ** 2
        self.power = float(
            np.clip(self.power - (Q @ logs - logs[y]) / self.h, 0.2, 2.0)
        )
        mean = f @ P
        g = mean - f[:, y]
        covariance = (f * P) @ f.T - np.outer(mean, mean)
        self.H = 0.99 * self.H + 0.01 * 30.0 * np.eye(len(g))
        self.H += 0.5 * (covariance + np.outer(g, g))
        self.w = np.maximum(0.0, self.w - np.linalg.solve(self.H, g))
