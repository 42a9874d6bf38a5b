"""The algorithm of the paper in plain NumPy, equation by equation.

Slow and readable: what the compiled kernels are tested against. Arrays have the axes of
the paper's indices, μ[k, m, j] for member k, class m and column j, and nothing is
flattened. The statistics are the mean and the variance themselves, as in equations (7)
to (10), with the initial ones counted as `prior_weight` observations. Where the past
fades, every observation learned is kept with the weight that is left of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from rpnb._core.projection import Hadamard, VerySparse
from rpnb.core.bayes.statistics import Combiner
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.projection.matrices import draw_matrix
from rpnb.core.projection.record import Projection


@dataclass(slots=True)
class Oracle:
    """The state of the algorithm: section 2.3, step 1 is its construction."""

    R: FloatArray
    """(K, p, q) the projections, not yet divided by √q"""
    M: int
    rule: Combiner = "log_sum"
    prior_mean: float = 0.0
    prior_variance: float = 1.0
    prior_weight: float = 1.0
    var_floor: float = 1e-9
    keep: float = 1.0
    """γ: share of the past that is left after one observation"""
    log_prior: FloatArray = field(default_factory=lambda: np.zeros(0))
    """(M,) log P(y_m); uniform if not given"""
    n: FloatArray = field(init=False)
    """(M,) Σ n_im, the number of observations, the initial ones included"""
    mean: FloatArray = field(init=False)
    variance: FloatArray = field(init=False)
    eligible: BoolArray = field(init=False)
    learned: list[list[tuple[float, FloatArray]]] = field(init=False)
    """for each class, where γ < 1, its projected observations and what they weigh"""

    def __post_init__(self) -> None:
        K, _, q = self.R.shape
        if self.log_prior.shape[0] == 0:
            self.log_prior = np.full(self.M, -np.log(self.M))
        self.n = np.full(self.M, self.prior_weight)
        self.mean = np.full((K, self.M, q), self.prior_mean)
        self.variance = np.full((K, self.M, q), self.prior_variance)
        self.eligible = np.ones(self.M, dtype=np.bool_)
        self.learned = [[] for _ in range(self.M)]


def matrices(projection: Projection) -> FloatArray:
    """Return the K projections of any distribution as (K, p, q), entry by entry."""
    p, K, q = projection.p, projection.K, projection.q
    structure = projection.structure
    if isinstance(structure, VerySparse):
        R = np.zeros((p, K * q))
        for i in range(p):
            for entry in structure.entries[
                structure.starts[i] : structure.starts[i + 1]
            ]:
                if entry >= 0:
                    R[i, entry] = structure.size
                else:
                    R[i, -1 - entry] = -structure.size
    elif isinstance(structure, Hadamard):
        T, order = structure.weights.shape
        H = scipy.linalg.hadamard(order)
        blocks = [
            (H[:p, structure.places[t]] * structure.weights[t]) @ H for t in range(T)
        ]
        R = structure.signs[:, None] * np.concatenate(blocks, axis=1)[:, : K * q]
    else:
        parameters = projection.distribution, projection.seed, projection.features, K, q
        R = draw_matrix(*parameters).astype(np.float64)
    return R.reshape(p, K, q).swapaxes(0, 1)


def project(oracle: Oracle, X: FloatArray) -> FloatArray:
    """Return the K projections of rows X (n, p) as (n, K, q): equation (2)."""
    q = oracle.R.shape[2]
    return np.einsum("np,kpq->nkq", X, oracle.R) / np.sqrt(q)


def log_posteriors(oracle: Oracle, Z: FloatArray) -> FloatArray:
    """Return log P(y_m | z⁽ᵏ⁾) up to a constant, as (n, K, M): equation (5)."""
    variance = np.maximum(oracle.variance, oracle.var_floor)
    standard = (Z[:, :, None, :] - oracle.mean) / np.sqrt(variance)
    terms = np.log(np.sqrt(2.0 * np.pi * variance)) + 0.5 * standard**2
    return oracle.log_prior - terms.sum(axis=3)


def class_scores(oracle: Oracle, X: FloatArray) -> FloatArray:
    """Return the scores of the classes (n, M): equation (6) or a rule."""
    log_posterior = log_posteriors(oracle, project(oracle, X))
    log_posterior = np.where(oracle.eligible, log_posterior, -np.inf)
    if oracle.rule == "log_sum":
        return log_posterior.sum(axis=1)
    return combine(oracle.rule, normalise(log_posterior))


def normalise(log_posterior: FloatArray) -> FloatArray:
    """Return the posteriors themselves: they sum to one over the classes."""
    shifted = np.exp(log_posterior - log_posterior.max(axis=2, keepdims=True))
    return shifted / shifted.sum(axis=2, keepdims=True)


def combine(rule: Combiner, posterior: FloatArray) -> FloatArray:
    """Combine posteriors (n, K, M) by a rule of Kittler et al. (1998) to (n, M)."""
    if rule == "vote":
        M = posterior.shape[2]
        return np.eye(M)[posterior.argmax(axis=2)].sum(axis=1)
    rules: dict[str, Callable[..., FloatArray]] = {
        "sum": np.sum,
        "product": np.prod,
        "max": np.max,
        "min": np.min,
        "median": np.median,
    }
    return rules[rule](posterior, axis=1)


def predict(oracle: Oracle, X: FloatArray) -> IntArray:
    """Return each row's class, the first of equals; −1 while none is known."""
    if not oracle.eligible.any():
        return np.full(X.shape[0], -1)
    return np.where(oracle.eligible, class_scores(oracle, X), -np.inf).argmax(axis=1)


def update_one(oracle: Oracle, x: FloatArray, m: int) -> None:
    """Learn one observation x (p,) of class m: equations (9) and (10)."""
    z = project(oracle, x[None, :])[0]
    oracle.n[m] += 1.0
    t = oracle.n[m]
    before = oracle.mean[:, m].copy()
    after = ((t - 1.0) * before + z) / t
    oracle.mean[:, m] = after
    oracle.variance[:, m] = (
        (t - 1.0) * (oracle.variance[:, m] + (before - after) ** 2) + (z - after) ** 2
    ) / t


def update_batch(oracle: Oracle, X: FloatArray, m: int, weight: FloatArray) -> None:
    """Learn a mini-batch X (n, p) of class m: equations (7) and (8).

    A row's weight is how often it stands in the batch.
    """
    z = project(oracle, X)
    w = weight[:, None, None]
    earlier = oracle.n[m]
    oracle.n[m] += weight.sum()
    total = oracle.n[m]
    before = oracle.mean[:, m].copy()
    after = (earlier * before + (w * z).sum(axis=0)) / total
    oracle.mean[:, m] = after
    oracle.variance[:, m] = (
        earlier * (oracle.variance[:, m] + (before - after) ** 2)
        + (w * (z - after) ** 2).sum(axis=0)
    ) / total


def update_fading(oracle: Oracle, X: FloatArray, m: int, weight: FloatArray) -> None:
    """Learn X (n, p) of class m at once, after the class's past has faded.

    Every earlier observation of the class weighs γʷ times as much as it did, w being
    the weight of all that is learned now. The mean and the variance are those of all
    weighted observations, with the initial ones, which never fade.
    """
    left = oracle.keep ** weight.sum()
    past = [(left * w, z) for w, z in oracle.learned[m]]
    oracle.learned[m] = [*past, *zip(weight.tolist(), project(oracle, X), strict=True)]
    weights = np.array([w for w, _ in oracle.learned[m]])
    Z = np.array([z for _, z in oracle.learned[m]])
    total = oracle.prior_weight + weights.sum()
    w = weights[:, None, None]
    mean = (oracle.prior_weight * oracle.prior_mean + (w * Z).sum(axis=0)) / total
    spread = oracle.prior_variance + (oracle.prior_mean - mean) ** 2
    oracle.n[m] = total
    oracle.mean[:, m] = mean
    oracle.variance[:, m] = (
        oracle.prior_weight * spread + (w * (Z - mean) ** 2).sum(axis=0)
    ) / total


def run(
    oracle: Oracle,
    X: FloatArray,
    y: IntArray,
    batch_size: int = 1,
    learn_all: bool = False,
) -> IntArray:
    """Run the algorithm of section 2.3 over a stream; return the predictions.

    A row of class −1 is predicted, and nothing else.
    """
    labels = np.empty(y.shape[0], dtype=np.int64)
    for start in range(0, y.shape[0], batch_size):
        rows = slice(start, start + batch_size)
        labels[rows] = predict(oracle, X[rows])
        known = y[rows] >= 0
        learns = known & ((labels[rows] != y[rows]) | learn_all)
        taken = np.flatnonzero(learns) + start
        oracle.eligible[y[rows][known]] = True
        for m in np.unique(y[taken]):
            of_class = taken[y[taken] == m]
            weight = np.ones(of_class.shape[0])
            if oracle.keep < 1.0:
                update_fading(oracle, X[of_class], int(m), weight)
            elif batch_size == 1:
                update_one(oracle, X[of_class[0]], int(m))
            else:
                update_batch(oracle, X[of_class], int(m), weight)
    return labels
