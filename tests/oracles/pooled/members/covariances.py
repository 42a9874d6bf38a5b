"""Shared, fading and class covariances, in NumPy, formula by formula."""

from math import lgamma

import numpy as np

from rpnb.core.kernels.arrays import FloatArray


def class_offsets(n: FloatArray, B: FloatArray) -> FloatArray:
    """Return U (E, M), the means of the classes minus that of all rows."""
    m = B.sum(axis=0) / n.sum()
    U = ((B + 0.1 * m) / (n + 0.1)[:, None] - m).T
    U[:, n <= 0] = 0.0
    return U


def shrinkage(n: FloatArray, S: FloatArray, A: FloatArray) -> tuple[float, float]:
    """Return the ridge, and the effective number of rows."""
    E = S.shape[0]
    df = max(1.0, n.sum() - (n > 0).sum())
    T1, T2 = np.trace(S) / df, (S**2).sum() / df**2
    below = (df + 1 - 2 / E) * (T2 - T1**2 / E)
    rho = 0.999
    if below > 0 and 1e-5 * np.trace(A) / df < T1:
        rho = min(rho, ((1 - 2 / E) * T2 + T1**2) / below)
    effective = df / (1 - rho)
    return max(1.0, rho * T1 / E * effective), effective


def discriminants(
    n: FloatArray, B: FloatArray, A: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return V (E, M) and the constants (M,) from sums of rows and of products."""
    seen = n > 0
    S = A - (B[seen].T / n[seen]) @ B[seen]
    ridge, effective = shrinkage(n, S, A)
    m, U = B.sum(axis=0) / n.sum(), class_offsets(n, B)
    regular = S + ridge * np.eye(A.shape[0])
    V = np.asarray(effective * np.linalg.solve(regular, U), np.float64)
    return V, -m @ V - 0.5 * (U * V).sum(axis=0)


class Discriminants:
    """Sums over all rows; V recomputed after the rows in `due`."""

    def __init__(self, M: int, E: int) -> None:
        self.n, self.B, self.A = np.zeros(M), np.zeros((M, E)), np.zeros((E, E))
        self.V, self.constant = np.zeros((E, M)), np.zeros(M)
        self.seen, self.due = 0, 1

    def score(self, phi: FloatArray) -> FloatArray:
        return phi @ self.V + self.constant + np.log(self.n + 0.5)

    def learn(self, phi: FloatArray, y: int, weight: float) -> None:
        self.n[y] += weight
        self.B[y] += weight * phi
        self.A += weight * np.outer(phi, phi)
        self.seen += 1
        if self.is_due():
            self.refresh()

    def is_due(self) -> bool:
        t = self.seen
        if t <= 256:
            return t >= self.due or t == 256
        return t >= self.due and t % (64 if t <= 1024 else 128) == 0

    def refresh(self) -> None:
        self.V, self.constant = discriminants(self.n, self.B, self.A)
        t = self.seen
        self.due = t + (max(1, t // 8) if t < 256 else min(t // 5, 4096))


class FadingDiscriminants(Discriminants):
    """Sums that fade every 64 rows after row 256."""

    def is_due(self) -> bool:
        return self.seen >= self.due

    def refresh(self) -> None:
        if self.seen > 256:
            keep = (1 - 1 / 300) ** 64
            self.n *= keep
            self.B *= keep
            self.A *= keep
        self.V, self.constant = discriminants(self.n, self.B, self.A)
        t = self.seen
        self.due = min(t + max(1, t // 8), 256) if t < 256 else t + 64


class ClassCovariances:
    """The Student-t predictive of a normal, inverse-Wishart model."""

    def __init__(self, M: int, d: int) -> None:
        self.n, self.mean = np.zeros(M), np.zeros((M, d))
        self.S = np.zeros((M, d, d))
        self.total, self.weight = np.zeros(d), 0.0
        self.seen, self.due = 0, 1
        self.refresh()

    def refresh(self) -> None:
        d = self.mean.shape[1]
        scatter = self.S.sum(axis=0) + d * np.eye(d)
        df = np.maximum(self.n - 1, 0).sum() + d
        self.prior = (2 * d + 1) * scatter / df
        self.due = max(self.seen + 1, int(self.seen * 1.15))

    def score(self, x: FloatArray) -> FloatArray:
        d = len(x)
        m0 = self.total / self.weight if self.weight > 0 else self.total
        scores = np.empty(len(self.n))
        for c, n in enumerate(self.n):
            precision = self.prior + self.S[c]
            kappa, nu = n + 0.3, 2 * d + 1 + n - d + 1
            delta = x - (n * self.mean[c] + 0.3 * m0) / kappa
            q = delta @ np.linalg.solve(precision, delta) * kappa / (kappa + 1)
            volume = np.linalg.slogdet(precision)[1]
            scores[c] = np.log(n + 1) + lgamma((nu + d) / 2) - lgamma(nu / 2)
            scores[c] -= 0.5 * (volume + d * np.log((kappa + 1) / kappa))
            scores[c] -= (nu + d) / 2 * np.log1p(q)
        return scores

    def learn(self, x: FloatArray, y: int, weight: float) -> None:
        after = self.n[y] + weight
        delta = x - self.mean[y]
        self.S[y] += self.n[y] * weight / after * np.outer(delta, delta)
        self.mean[y] += weight / after * delta
        self.n[y] = after
        self.total += weight * x
        self.weight += weight
        self.seen += 1
        if self.seen >= self.due:
            self.refresh()
