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
        self.power, self.h, self.noise, self.seen = 1.0, 30.0, 0.02, 0

    def clipped(self, scores: FloatArray) -> FloatArray:
        return np.maximum(scores - scores.max(axis=1, keepdims=True), -6.0)

    def posterior(self, scores: FloatArray) -> FloatArray:
        return softmax(self.w @ self.clipped(scores))

    def tempered(self, scores: FloatArray) -> FloatArray:
        return softmax(self.power * np.log(self.posterior(scores)))

    def given_out(self, scores: FloatArray) -> FloatArray:
        Q = self.tempered(scores)
        return (1 - self.noise) * Q + self.noise / len(Q)

    def learn(self, scores: FloatArray, y: int) -> None:
        f, P = self.clipped(scores), self.posterior(scores)
        logs, Q = np.log(P), self.tempered(scores)
        r = (1 - self.noise) * Q[y] / self.given_out(scores)[y]
        self.h = 0.999 * self.h + 0.03 + Q @ logs**2 - (Q @ logs) ** 2
        self.power = float(
            np.clip(self.power - r * (Q @ logs - logs[y]) / self.h, 0.2, 4.0)
        )
        self.noise += ((1 - r) - self.noise) / min(self.seen + 50, 1000)
        self.noise = float(np.clip(self.noise, 1e-4, 0.5))
        self.seen += 1
        mean = f @ P
        g = r * (mean - f[:, y])
        covariance = r * ((f * P) @ f.T - np.outer(mean, mean))
        self.H = 0.99 * self.H + 0.01 * 30.0 * np.eye(len(g))
        self.H += 0.5 * (covariance + np.outer(g, g))
        self.w = np.maximum(0.0, self.w - np.linalg.solve(self.H, g))
