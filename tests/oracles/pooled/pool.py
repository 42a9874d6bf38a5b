"""The pool, as its formulas stand, in NumPy."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray

Classes = IntArray | slice
ALL = slice(None)


def softmax(values: FloatArray) -> FloatArray:
    powers = np.exp(values - values.max())
    return powers / powers.sum()


class Pool:
    """Weights by online Newton steps, what classes add to them, and a temperature."""

    def __init__(self, weights: FloatArray, M: int, delay: int = 0) -> None:
        self.w = weights.copy()
        self.v, self.b = np.zeros((len(weights), M)), np.zeros(M)
        self.ridge_v, self.ridge_b = np.array([400.0, 60.0]) * max(1.0, delay / 5)
        self.h_v = np.full((len(weights), M), self.ridge_v)
        self.h_b = np.full(M, self.ridge_b)
        self.H = 30.0 * np.eye(len(weights))
        self.power, self.h, self.noise, self.seen = 1.0, 30.0, 0.02, 0

    def clipped(self, scores: FloatArray) -> FloatArray:
        below = scores - scores.max(axis=1, keepdims=True)
        x = np.maximum(-6.0 - below, 0.0)
        return np.maximum(below, -6.0) - 6.0 * x / (6.0 + x)

    def posterior(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        weights = self.w[:, None] + self.v[:, known]
        return softmax(self.b[known] + (weights * self.clipped(scores)).sum(axis=0))

    def tempered(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        return softmax(self.power * np.log(self.posterior(scores, known)))

    def given_out(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        Q = self.tempered(scores, known)
        return (1 - self.noise) * Q + self.noise / len(Q)

    def learn(
        self, scores: FloatArray, y: int, known: Classes = ALL, weight: float = 1.0
    ) -> None:
        """Learn scores of the classes `known`, of which y is the number."""
        f, P = self.clipped(scores), self.posterior(scores, known)
        logs, Q = np.log(P), self.tempered(scores, known)
        r = (1 - self.noise) * Q[y] / self.given_out(scores, known)[y]
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
        self.H = 0.995 * self.H + (1.0 - 0.995) * 30.0 * np.eye(len(g))
        self.H += 0.5 * (covariance + np.outer(g, g))
        self.w = np.maximum(0.0, self.w - np.linalg.solve(self.H, g))
        slope = P - np.eye(len(P))[y]
        step = r * weight * slope
        spread = r * (weight * P * (1 - P) + max(weight - 1, 0) * np.abs(slope))
        self.h_v[:, known] *= 0.99
        self.h_v[:, known] += 0.01 * self.ridge_v + spread * f**2
        self.h_b[known] *= 0.99
        self.h_b[known] += 0.01 * self.ridge_b + spread
        self.v[:, known] -= step * f / self.h_v[:, known]
        self.b[known] -= step / self.h_b[known]
