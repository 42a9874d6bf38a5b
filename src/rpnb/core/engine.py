"""Running a model over many rows: blocks of bounded size, the fastest pass for each.

Everything here is about *how* a result is found. The labels and the state are those of
`rpnb.core.stream.pass_exact`, to the bit, however rows are cut into blocks and calls.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import issparse

from rpnb.core.arrays import FloatArray, IntArray, as_block
from rpnb.core.combining import combine, member_log_posteriors
from rpnb.core.compiled import compiled
from rpnb.core.laws import refresh
from rpnb.core.model import Model
from rpnb.core.moments import Moments, no_moments
from rpnb.core.paths import (
    Path,
    QuadraticScreener,
    column_cost,
    quadratic_cost,
    rebuild_cost,
)
from rpnb.core.projection import project
from rpnb.core.rows import Table
from rpnb.core.scoring import LANES, score
from rpnb.core.screen import centre, move, refresh_screen, unset_screen
from rpnb.core.stream import (
    LEARN_ALL,
    LEARN_MISTAKES,
    LEARN_NOTHING,
    Learner,
    absorb,
    count_rows,
    empty_memo,
    learn_batch,
    pass_combined,
    pass_exact,
    pass_one,
    pass_screened,
)
from rpnb.core.wide import comes_projected, project_rows, rows_for_passes

# Below this many rows, preparing the screen costs more than it saves.
_FEW = 16
# Features above which rows are projected by BLAS, which then needs many rows at once to
# be efficient; entries of such a block, and rows of any.
_WIDE_FEATURES = 64
_WIDE_ENTRIES = 1 << 22
_MOST_ROWS = 1024
# Rows between two looks at which way is cheaper, once by quadratic forms; rows that the
# expected rate of changes counts as; rows over which the rate is averaged.
_QUADRATIC_ROWS = 16384
_EXPECTED = 64
_WINDOW = 2048
# Rows screened together.
_NARROW_STEP = 8
_WIDE_STEP = 32

_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)


def block_rows(p: int, F: int) -> int:
    """Return how many rows to handle at once: memory does not grow with the stream."""
    if p <= _WIDE_FEATURES:
        return _MOST_ROWS
    return min(max(_WIDE_ENTRIES // F, 64), _MOST_ROWS) // 4 * 4


def _blocks(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _part(weight: FloatArray, rows: slice | IntArray) -> FloatArray:
    """Return the weights of some rows; one weight for all stays one."""
    return weight if weight.shape[0] == 1 else weight[rows]


def _labelled(y: IntArray) -> int:
    """Return how many rows are not only predicted."""
    return int(np.count_nonzero(y >= 0))


class Screener:
    """Working space for screened passes of one model over many blocks.

    Blocks have `size` rows, a multiple of four; rows are screened `step` at a time and
    projected with the step or with the block. This only matters to speed and memory.
    """

    def __init__(
        self,
        model: Model,
        X: Table,
        size: int | None = None,
        step: int | None = None,
        by_step: bool | None = None,
    ) -> None:
        p, F = model.projection.p, model.F
        wide = p > _WIDE_FEATURES
        self._model = model
        self._projected = comes_projected(model.projection, X)
        self._learner = model.learner(projected=self._projected)
        self._size = size or block_rows(p, F)
        self._step = step or (_WIDE_STEP if wide else _NARROW_STEP)
        self._screen = unset_screen(model.M, F)
        rows = min(self._size, -(-X.shape[0] // 4) * 4)
        if not self._projected:
            self._x0 = as_block(X[: self._size]).mean(axis=0)
            first = np.zeros(1, np.int64)
            origin = self._screen.origin[None, :]
            project(
                self._x0[None, :], first, self._learner.scale, self._learner.R, origin
            )
            self.refresh(np.arange(model.M))
        # Of rows that come projected, the first block will give the origin.
        self._has_origin = not self._projected
        # Wide rows are best projected by BLAS, many at once; narrow ones in the pass.
        narrow = not wide if by_step is None else by_step
        self._by_step = narrow and not self._projected
        self._moved = np.zeros((0 if self._projected else rows, p), np.float32)
        self._Z = np.zeros((self._step if self._by_step else rows, F), np.float32)
        self._noise = np.empty(rows)
        self._reach = np.empty(rows)

    def refresh(self, classes: IntArray) -> None:
        """Bring the named classes up to date with the model."""
        for m in classes.tolist():
            refresh_screen(self._screen, m, self._model.gaussians)

    def run(
        self,
        X: Table,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Pass over rows of X; see `rpnb.core.stream.pass_exact`."""
        learner = self._learner
        for rows in _blocks(X.shape[0], self._size):
            x = rows_for_passes(self._model.projection, X[rows])
            self._project(x)
            updates = pass_screened(
                learner,
                self._screen,
                x,
                self._moved if self._by_step else self._moved[:0],
                self._Z,
                self._noise,
                self._reach,
                y[rows] if learn else _NO_LABELS,
                _part(weight, rows),
                learn,
                self._step,
                labels[rows],
            )
            if learn:
                self._model.n_seen += _labelled(y[rows])
                self._model.n_updates += updates

    def _project(self, x: FloatArray) -> None:
        """Fill Z, noise and reach for a block of rows."""
        if self._projected:
            if not self._has_origin:
                self._screen.origin[:] = x.mean(axis=0)
                self.refresh(np.arange(self._model.M))
                self._has_origin = True
            move(x, self._screen.origin, self._Z, self._noise, self._reach)
            return
        centre(
            x,
            self._x0,
            self._learner.scale,
            self._model.projection.longest,
            self._moved,
            self._noise,
            self._reach,
        )
        if self._by_step:
            return
        # What overflows single precision is decided in double precision.
        with np.errstate(over="ignore", invalid="ignore"):
            n = x.shape[0]
            np.matmul(self._moved[:n], self._learner.R, out=self._Z[:n])


class Paths:
    """The two screeners of a model, and block by block the choice between them.

    `rate` is how many classes are expected to change a row; what is seen along the way
    corrects it. X are all rows that are going to be passed over.
    """

    def __init__(
        self, model: Model, X: Table, rate: float, path: Path = "auto"
    ) -> None:
        p, F = model.projection.p, model.F
        self._model = model
        self._first = X[:_MOST_ROWS]
        self._left = X.shape[0]
        # Forms need the projection's matrix, and rows that are not sparse.
        self._path = "columns" if comes_projected(model.projection, X) else path
        # Changes of classes and rows, of which the older count less and less.
        self._changes = rate * _EXPECTED
        self._rows = float(_EXPECTED)
        self._gain = column_cost(p, F, model.M) - quadratic_cost(p, model.M)
        self._rebuild = rebuild_cost(p, F, model.M)
        self._block = block_rows(p, F)
        self._columns: Screener | None = None
        self._quadratic: QuadraticScreener | None = None
        # Classes whose laws changed since the column screen was last used.
        self._stale = np.zeros(model.M, np.bool_)

    def refresh(self, classes: IntArray) -> None:
        """Take note that the named classes have changed."""
        self._changes += classes.shape[0]
        self._stale[classes] = True
        if self._quadratic is not None:
            self._quadratic.stale[classes] = True

    def run(
        self,
        X: Table,
        y: IntArray,
        weight: FloatArray,
        learn: int,
        labels: IntArray,
    ) -> None:
        """Pass over rows of X; see `rpnb.core.stream.pass_exact`."""
        start = 0
        while start < X.shape[0]:
            quadratic = self._path == "quadratic" or (
                self._path == "auto" and self._pays()
            )
            size = _QUADRATIC_ROWS if quadratic else self._block
            rows = slice(start, min(start + size, X.shape[0]))
            t = y[rows] if learn else _NO_LABELS
            before = self._model.n_updates
            screener = self._by_forms() if quadratic else self._by_columns()
            screener.run(X[rows], t, _part(weight, rows), learn, labels[rows])
            if learn:
                taken = (t >= 0) & ((labels[rows] != t) | (learn == LEARN_ALL))
                changed = np.bincount(t[taken], minlength=self._model.M) > 0
                if quadratic:
                    self._stale |= changed
                elif self._quadratic is not None:
                    self._quadratic.stale |= changed
            n = rows.stop - start
            keep = _WINDOW / (_WINDOW + n)
            self._changes = keep * (self._changes + self._model.n_updates - before)
            self._rows = keep * (self._rows + n)
            self._left -= n
            start = rows.stop

    def _pays(self) -> bool:
        """Whether quadratic forms are the cheaper way for the rows that are left."""
        gain = self._gain - self._rebuild * self._changes / self._rows
        stale = self._model.M
        if self._quadratic is not None:
            stale = int(np.count_nonzero(self._quadratic.stale))
        return gain * self._left > stale * self._rebuild

    def _by_columns(self) -> Screener:
        if self._columns is None:
            self._columns = Screener(self._model, self._first)
        else:
            self._columns.refresh(np.flatnonzero(self._stale))
        self._stale[:] = False
        return self._columns

    def _by_forms(self) -> QuadraticScreener:
        if self._quadratic is None:
            self._quadratic = QuadraticScreener(self._model, self._first)
        return self._quadratic


def _expected_changes(model: Model, learn: int) -> float:
    """Return how many classes are expected to change a row."""
    if learn == LEARN_MISTAKES and model.n_seen > 0:
        return model.n_updates / model.n_seen
    return 0.0 if learn == LEARN_NOTHING else 1.0


def run(
    model: Model,
    X: Table,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    paths: Paths | None = None,
    path: Path = "auto",
) -> None:
    """Pass over the rows of X (n, p) one observation at a time.

    Parameters are those of `rpnb.core.stream.pass_exact`. `paths` of the same model
    save preparing them; `path` leaves no choice of the way, for tests and benchmarks.
    """
    n = X.shape[0]
    if n == 1 and model.rule == "log_sum" and not issparse(X):
        _run_one(model, X, y, weight, learn, labels)
        return
    if model.rule == "log_sum" and n >= _FEW:
        if paths is None:
            paths = Paths(model, X, _expected_changes(model, learn), path)
        paths.run(X, y, weight, learn, labels)
        return
    projection = model.projection
    learner = model.learner(projected=comes_projected(projection, X))
    for rows in _blocks(n, block_rows(projection.p, model.F)):
        x = rows_for_passes(projection, X[rows])
        t = y[rows] if learn else _NO_LABELS
        w = _part(weight, rows)
        if model.rule == "log_sum":
            updates = pass_exact(learner, x, t, w, learn, labels[rows])
        else:
            K = projection.K
            updates = pass_combined(
                learner, model.rule_number, K, x, t, w, learn, labels[rows]
            )
        if learn:
            model.n_seen += _labelled(t)
            model.n_updates += updates


def _run_one(
    model: Model,
    X: Table,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
) -> None:
    x = as_block(X)
    p, F = x.shape[1], model.F
    known = model.memo
    if known is None:
        known = empty_memo(p, F)
    memo = np.empty_like(known)
    unkept = model.projection.R.shape[0] == 0
    if unkept and not np.array_equal(x[0], known[:p]):
        memo[p : p + F] = project_rows(model.projection, x)[0]
    label, updates = pass_one(
        model.learner(),
        known,
        memo,
        model.n_seen,
        x,
        y[0] if learn else -1,
        weight[0],
        learn,
    )
    model.memo = memo
    labels[0] = label
    if learn:
        model.n_seen += int(y[0] >= 0)
        model.n_updates += updates


def classify(model: Model, X: Table) -> IntArray:
    """Return the number of each row's class (n,), −1 while no class is known."""
    labels = np.empty(X.shape[0], np.int64)
    run(model, X, _NO_LABELS, _ONE, LEARN_NOTHING, labels)
    return labels


def absorb_all(model: Model, X: Table, y: IntArray, weight: FloatArray) -> None:
    """Learn every row without predicting it."""
    everything = np.arange(X.shape[0])
    _absorb(model, X, everything, y, weight, model.keep, model.moments)
    count_rows(model.classes, model.keep, y, weight)
    for m in np.unique(y).tolist():
        refresh(model.gaussians, m, model.moments, model.prior)
    model.n_seen += X.shape[0]
    model.n_updates += X.shape[0]


def run_batches(
    model: Model,
    X: Table,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    size: int,
    labels: IntArray,
    path: Path = "auto",
) -> None:
    """Pass over X by mini-batches of `size` rows: equations (7) and (8).

    A batch is predicted with the model as it stands; then each class learns at once the
    rows of its own that were misclassified, or all of them.
    """
    screened = model.rule == "log_sum" and min(size, X.shape[0]) >= _FEW
    rate = min(_expected_changes(model, learn), model.M / size)
    paths = Paths(model, X, rate, path) if screened else None
    learner = model.learner()
    batch = no_moments(model.M, model.F)
    for rows in _blocks(X.shape[0], size):
        x, t, predicted = X[rows], y[rows], labels[rows]
        run(model, x, _NO_LABELS, _ONE, LEARN_NOTHING, predicted, paths)
        wrong = predicted != t
        taken = np.flatnonzero(wrong | (learn == LEARN_ALL))
        _absorb(model, x, taken, t, _part(weight, rows), 1.0, batch)
        touched = np.unique(t[taken])
        for m in touched.tolist():
            learn_batch(learner, m, batch)
            for of_class in batch:
                of_class[m] = 0.0
        if paths is not None:
            paths.refresh(touched)
        count_rows(model.classes, model.keep, t, _part(weight, rows))
        model.n_seen += t.shape[0]
        model.n_updates += taken.shape[0]


def _absorb(
    model: Model,
    X: Table,
    taken: IntArray,
    y: IntArray,
    weight: FloatArray,
    keep: float,
    into: Moments,
) -> None:
    """Add the rows named in `taken` to `into`, block by block; see `absorb`."""
    projection = model.projection
    learner = model.learner(projected=comes_projected(projection, X))
    for chosen in _blocks(taken.shape[0], block_rows(projection.p, model.F)):
        rows = taken[chosen]
        numbers = np.arange(rows.shape[0])
        x = rows_for_passes(projection, X[rows])
        absorb(learner, x, numbers, y[rows], _part(weight, rows), keep, into)


def scores(model: Model, X: Table) -> FloatArray:
    """Return the score of every class for every row (n, M); the largest wins.

    For "log_sum" these are the definitive scores of equation (6), for the other rules
    what `rpnb.core.combining.combine` makes of the members' posteriors.
    """
    out = np.empty((X.shape[0], model.M))
    projection = model.projection
    learner = model.learner(projected=comes_projected(projection, X))
    for rows in _blocks(X.shape[0], block_rows(projection.p, model.F)):
        x = rows_for_passes(projection, X[rows])
        if model.rule == "log_sum":
            _score_rows(learner, x, out[rows])
        else:
            K = projection.K
            _combine_rows(learner, model.rule_number, K, x, out[rows])
    return out


@compiled
def _score_rows(learner: Learner, X: FloatArray, out: FloatArray) -> None:
    z = np.empty((1, learner.R.shape[1]))
    lanes = np.empty(LANES)
    row = np.empty(1, np.int64)
    bias = learner.classes.bias
    for i in range(X.shape[0]):
        row[0] = i
        project(X, row, learner.scale, learner.R, z)
        for m in range(bias.shape[0]):
            out[i, m] = score(z[0], learner.gaussians, m, bias[m], -np.inf, lanes)


@compiled
def _combine_rows(
    learner: Learner, rule: int, K: int, X: FloatArray, out: FloatArray
) -> None:
    z = np.empty((1, learner.R.shape[1]))
    posterior = np.empty((K, out.shape[1]))
    row = np.empty(1, np.int64)
    for i in range(X.shape[0]):
        row[0] = i
        project(X, row, learner.scale, learner.R, z)
        member_log_posteriors(
            z[0],
            learner.gaussians,
            learner.classes.bias,
            learner.classes.eligible,
            posterior,
        )
        combine(rule, posterior, out[i])
