"""The pool by its formulas, in NumPy."""

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
        self.mean_w, self.mean_v, self.mean_b = (
            np.copy(each) for each in (self.w, self.v, self.b)
        )
        self.mix, self.h_mix = 1.0, 10.0
        self.power, self.h, self.noise, self.seen = 1.0, 30.0, 0.02, 0
        self.n = np.zeros(M)

    def weights_in_use(self) -> FloatArray:
        return self.mean_w + self.mix * (self.w - self.mean_w)

    def clipped(self, scores: FloatArray) -> FloatArray:
        below = scores - scores.max(axis=1, keepdims=True)
        x = np.maximum(-6.0 - below, 0.0)
        return np.maximum(below, -6.0) - 6.0 * x / (6.0 + x)

    def logits(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        weights = self.w[:, None] + self.v[:, known]
        logits: FloatArray = (weights * self.clipped(scores)).sum(axis=0)
        return logits + self.b[known]

    def mean_logits(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        weights = self.mean_w[:, None] + self.mean_v[:, known]
        logits: FloatArray = (weights * self.clipped(scores)).sum(axis=0)
        return logits + self.mean_b[known]

    def posterior(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        return softmax(self.logits(scores, known))

    def mixed(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        mean = self.mean_logits(scores, known)
        return softmax(mean + self.mix * (self.logits(scores, known) - mean))

    def tempered(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        return softmax(self.power * np.log(self.mixed(scores, known)))

    def probabilities(self, scores: FloatArray, known: Classes = ALL) -> FloatArray:
        Q = self.tempered(scores, known)
        n = self.n[known]
        return (1 - self.noise) * Q + self.noise * (n + 0.5) / (n + 0.5).sum()

    def trust(self, scores: FloatArray, y: int, known: Classes = ALL) -> float:
        Q = self.tempered(scores, known)
        return float((1 - self.noise) * Q[y] / self.probabilities(scores, known)[y])

    def learn(
        self,
        scores: FloatArray,
        y: int,
        known: Classes = ALL,
        weight: float = 1.0,
        now: FloatArray | None = None,
    ) -> None:
        """Learn scores of the classes `known`, of which y is the number.

        Where labels come late, `scores` are those of the prediction, and `now` those
        that the row has when its label comes.
        """
        now = scores if now is None else now
        both = [
            (self.clipped(s), self.posterior(s, known), self.trust(s, y, known))
            for s in (scores, now)
        ]
        (_, _, r), (f_now, P, r_now) = both
        logs, Q = np.log(self.mixed(scores, known)), self.tempered(scores, known)
        apart = self.logits(scores, known) - self.mean_logits(scores, known)
        variance = float(Q @ apart**2 - (Q @ apart) ** 2)
        self.h_mix = 0.998 * self.h_mix + 0.002 * 10.0 + self.power**2 * variance
        away = self.power * float(Q @ apart - apart[y])
        self.mix = float(np.clip(self.mix - r * away / self.h_mix, 0.0, 1.0))
        self.h = 0.999 * self.h + 0.03 + Q @ logs**2 - (Q @ logs) ** 2
        self.power = float(
            np.clip(self.power - r * (Q @ logs - logs[y]) / self.h, 0.2, 4.0)
        )
        self.noise += ((1 - r) - self.noise) / min(self.seen + 50, 1000)
        self.noise = float(np.clip(self.noise, 1e-4, 0.5))
        self.seen += 1
        self.H = 0.995 * self.H + (1.0 - 0.995) * 30.0 * np.eye(len(self.w))
        gradient = np.zeros(len(self.w))
        for f, its, share in both:
            mean = f @ its
            g = share * (mean - f[:, y])
            covariance = share * ((f * its) @ f.T - np.outer(mean, mean))
            self.H += 0.5 * (covariance + np.outer(g, g)) / 2.0
            gradient += g / 2.0
        self.w = np.maximum(0.0, self.w - np.linalg.solve(self.H, gradient))
        slope = P - np.eye(len(P))[y]
        step = r_now * weight * slope
        spread = r_now * (weight * P * (1 - P) + max(weight - 1, 0) * np.abs(slope))
        self.h_v[:, known] *= 0.99
        self.h_v[:, known] += 0.01 * self.ridge_v + spread * f_now**2
        self.h_b[known] *= 0.99
        self.h_b[known] += 0.01 * self.ridge_b + spread
        n = self.n[known]
        self.v[:, known] -= step * f_now / (self.h_v[:, known] * (1 + 10 / (n + 0.5)))
        self.b[known] -= step / self.h_b[known]
        n[y] += weight
        self.n[known] = n
        m = min(max(20.0, self.seen / 4), 2000.0)
        self.mean_w += (self.w - self.mean_w) / m
        self.mean_v += (self.v - self.mean_v) / m
        self.mean_b += (self.b - self.mean_b) / m
