"""The definition of mini-batches of the pooled model: score all rows, then learn."""

from typing import Any

import numpy as np

from oracles.pooled.members.counts import BinnedBayes, Transitions
from oracles.pooled.members.covariances import ClassCovariances, Discriminants
from oracles.pooled.pool import Pool
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.pooled.member import MemberRows


class MiniBatches:
    """The mergeable members after the first rows, and a pool that is given.

    Rows come scaled and projected; `columns` of φ are not just padding.
    """

    def __init__(
        self, rows: MemberRows, y: IntArray, weight: FloatArray, M: int, columns: int
    ) -> None:
        self.M, self.columns = M, columns
        self.shared = Discriminants(M, columns)
        self.covariances = ClassCovariances(M, rows.low.shape[1])
        self.bins = BinnedBayes(M, rows.z.shape[1])
        self.transitions = Transitions(M)
        self.pool = Pool(np.zeros(4), M)
        self.active: BoolArray = np.zeros(M, np.bool_)
        self._add(rows, y, weight)

    def continue_pool(self, pool: Any) -> None:
        """Take over what a pool has learned row by row."""
        self.pool.w, self.pool.H = pool.weights.copy(), pool.curvature.copy()
        terms, curvature = pool.class_terms.copy(), pool.class_curvature.copy()
        self.pool.v, self.pool.b = terms[:-1], terms[-1]
        self.pool.h_v, self.pool.h_b = curvature[:-1], curvature[-1]
        means = pool.mean_terms.copy()
        self.pool.mean_w = pool.mean_weights.copy()
        self.pool.mean_v, self.pool.mean_b = means[:-1], means[-1]
        self.pool.mix, self.pool.h_mix = (
            float(pool.mix[0]),
            float(pool.mix_curvature[0]),
        )
        self.pool.power, self.pool.h = (
            float(pool.power[0]),
            float(pool.power_curvature[0]),
        )
        self.pool.noise, self.pool.seen = float(pool.noise[0]), int(pool.seen[0])
        self.pool.n = pool.class_weight.copy()

    def scores(self, rows: MemberRows, i: int) -> FloatArray:
        """Return the scores (4, M) of row i, in the order of the members."""
        missing = np.isnan(rows.raw[i])
        active = self.active.astype(np.float64)
        return np.array(
            [
                self.covariances.score(rows.low[i].astype(np.float64)),
                self.shared.score(rows.phi[i, : self.columns].astype(np.float64)),
                self.bins.score(rows.z[i], missing),
                self.transitions.score(active),
            ]
        )

    def learn(self, rows: MemberRows, y: IntArray, weight: FloatArray) -> None:
        """Score all rows, then let the members and the pool learn them."""
        known = np.flatnonzero(self.active)
        frozen = [self.scores(rows, i)[:, known] for i in range(len(y))]
        self._add(rows, y, weight)
        for scores, label, w in zip(frozen, y, weight, strict=True):
            if label in known:
                place = int(np.searchsorted(known, label))
                self.pool.learn(scores, place, known, float(w))
            else:
                self.pool.seen += 1
                self.pool.n[label] += w

    def _add(self, rows: MemberRows, y: IntArray, weight: FloatArray) -> None:
        for i, (label, w) in enumerate(zip(y, weight, strict=True)):
            phi = rows.phi[i, : self.columns].astype(np.float64)
            self.shared.n[label] += w
            self.shared.B[label] += w * phi
            self.shared.A += w * np.outer(phi, phi)
            self.covariances.learn(rows.low[i].astype(np.float64), label, w)
            self.bins.learn(rows.z[i], np.isnan(rows.raw[i]), label, w)
            self.transitions.learn(int(label), w)
            self.active[label] = True
        self.shared.refresh()
        self.covariances.refresh()
