"""What all linear learners share: their two forms, state and sparse input.

They follow LIBOL (Hoi, Wang & Zhao 2014): raw features, no bias, one pass. The formula
of each is next to its step, in ``cpp/linear/algorithms.cpp`` and ``confidence.h``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rpnb._core.linear import learn_rows, predict_rows, score_rows
from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.row_blocks import RowBlock, RowTable, as_rows, row_blocks
from rpnb.core.linear import (
    ALGORITHMS,
    MULTICLASS,
    ROUNDS,
    UPDATES,
    LinearAlgorithm,
    LinearState,
    arrange_linear_classes,
    blank_state,
    copy_state,
    keeps_covariance,
    make_algorithm,
)
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_choice, check_real
from rpnb.estimators.posteriors import decisions
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import (
    StateSchema,
    ValueSchema,
    counts,
    flags,
    reals,
)
from rpnb.estimators.stream.learner import Learner, Shapes

Form = Literal["auto", "two_class", "multiclass"]
Covariance = Literal["full", "diagonal"]

_ALL = slice(None)
_DOUBLE = np.dtype(np.float64)
# Parameters of the steps: lowest value, whether it is excluded, and highest value.
_RANGES: Mapping[str, tuple[float, bool, float]] = {
    "C": (0.0, True, 1e100),
    "alpha": (0.0, True, 1.0),
    "power": (2.0, False, 1e6),
    "b": (0.0, True, 1.0),
    "eta": (0.5, True, 1.0 - 1e-9),
}


class LinearModel(NamedTuple):
    """A linear algorithm with its parameters, and its state."""

    rule: LinearAlgorithm
    state: LinearState


@final
@dataclass
class LinearLearner(Learner[LinearModel]):
    """A linear learner of LIBOL.

    The two-class form has one weight vector, the multi-class form one per class. With
    form="auto" it is the two-class form if exactly two classes are declared on the
    first call (`fit` declares those in y), as LIBOL does with data of two classes, and
    the multi-class form otherwise, which lets new classes appear at any time.
    """

    given: Any
    algorithm: str
    """its name in `rpnb.core.linear.ALGORITHMS`"""

    accepts_unlabelled = True
    sensitive_to_scale = True

    @property
    def keeps_covariance(self) -> bool:
        """Whether the learner is of second order: whether it keeps Σ."""
        return keeps_covariance(ALGORITHMS[self.algorithm])

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether rows may be sparse.

        A step with a covariance changes all weights, even where the row is zero.
        """
        return not self.keeps_covariance

    @property
    def has_multiclass(self) -> bool:
        """Whether the learner has a multi-class form."""
        return ALGORITHMS[self.algorithm] in MULTICLASS

    def _step_parameters(self) -> dict[str, Any]:
        """Check and return the parameters of the learner's steps."""
        given = self.given.get_params(deep=False)
        checked: dict[str, Any] = {}
        for name, (low, above, high) in _RANGES.items():
            if name == "eta" and given.get(name, 0.0) is None:
                checked[name] = None
            elif name in given:
                checked[name] = check_real(
                    name, given[name], low, above=above, high=high
                )
        return checked

    def _state_parameters(self) -> dict[str, Any]:
        """Check and return the parameters of the state: how Σ starts, if it is kept."""
        if not self.keeps_covariance:
            return {}
        check_choice("covariance", self.given.covariance, ("full", "diagonal"))
        return {
            "a": check_real("a", self.given.a, 0.0, above=True, high=1e100),
            "diagonal": self.given.covariance == "diagonal",
        }

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> LinearModel:
        self.check_classes(None, classes, declared)
        only_two = self.given.form == "two_class" or not self.has_multiclass
        two = classes.shape[0] == 2 and declared.shape[0] == 2
        chosen = self._make_algorithm(only_two or (two and self.given.form == "auto"))
        M = classes.shape[0]
        state = blank_state(chosen, M, p, **self._state_parameters())
        state.eligible[declared] = True
        return LinearModel(chosen, state)

    def check_classes(
        self, state: LinearModel | None, classes: LabelArray, declared: IntArray
    ) -> None:
        if state is not None:
            if state.rule.two_class:
                raise ValueError(
                    f"{type(self.given).__name__} was started with two classes and "
                    f"cannot add another: {classes.tolist()}; "
                    + self._how_to_start_with_more()
                )
            return
        self._check_form()
        only_two = self.given.form == "two_class" or not self.has_multiclass
        if only_two and self.given.form == "multiclass":
            raise ValueError(
                f"form must be 'auto' or 'two_class' for {type(self.given).__name__}, "
                "which has no multi-class form"
            )
        two = classes.shape[0] == 2 and declared.shape[0] == 2
        if only_two and not two:
            raise ValueError(
                f"{type(self.given).__name__} in its two-class form needs exactly two "
                "classes, declared on the first call, got "
                f"{declared.shape[0]} declared of {classes.shape[0]} "
                f"class{'es' if classes.shape[0] > 1 else ''}, {classes.tolist()}; "
                + self._how_to_start_with_more()
            )

    def _check_form(self) -> None:
        """Check the parameters that determine the form of the learner."""
        check_choice("form", self.given.form, ("auto", "two_class", "multiclass"))
        if not isinstance(self.given.libol, bool):
            raise TypeError(f"libol must be True or False, got {self.given.libol!r}")

    def _make_algorithm(self, two_class: bool) -> LinearAlgorithm:
        """Check the parameters of the steps, and return the algorithm with them."""
        return make_algorithm(
            ALGORITHMS[self.algorithm],
            two_class=two_class,
            libol=self.given.libol,
            **self._step_parameters(),
        )

    def grow(
        self,
        state: LinearModel,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> LinearModel:
        self.check_classes(state, classes, declared)
        linear = arrange_linear_classes(state.state, source)
        linear.eligible[declared] = True
        return LinearModel(state.rule, linear)

    def _how_to_start_with_more(self) -> str:
        """Return advice, for messages, on learning more than two classes."""
        if self.has_multiclass:
            return "declare all classes, or use form='multiclass'."
        return "Only binary classification is supported."

    def active_classes(self, state: LinearModel) -> IntArray:
        return np.flatnonzero(state.state.eligible)

    def restart(self, state: LinearModel, p: int, classes: LabelArray) -> LinearModel:
        # The form stays, even if classes have been added since.
        M = classes.shape[0]
        fresh = blank_state(state.rule, M, p, **self._state_parameters())
        fresh.eligible[:] = state.state.eligible
        return LinearModel(state.rule, fresh)

    def learn(
        self,
        state: LinearModel,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if labels is None:
            labels = np.empty(y.shape[0], np.int64)
        for rows, part in _blocks(X):
            learn_rows(*state, rows, y[part], labels[part])

    def classify(self, state: LinearModel, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)
        for rows, part in _blocks(X):
            predict_rows(*state, rows, labels[part])
        return labels

    def row_counts(self, state: LinearModel) -> tuple[int, int]:
        return int(state.state.counts[ROUNDS]), int(state.state.counts[UPDATES])

    def copy(self, state: LinearModel) -> LinearModel:
        return LinearModel(state.rule, copy_state(state.state))

    def export(
        self, state: LinearModel
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"two_class": state.rule.two_class}, state.state._asdict()

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        self._check_form()
        two_class = state.get("two_class") is True
        if two_class and M != 2:
            raise ModelFileError(
                f"the model file is damaged: a two-class learner has {M} classes"
            )
        if not two_class and not self.has_multiclass:
            raise ModelFileError(
                f"the model file is damaged: {type(self.given).__name__} has no "
                "multi-class form"
            )
        covariance = 0
        if self.keeps_covariance:
            covariance = 1 if self._state_parameters()["diagonal"] else p
        # LIBOL's steps may produce any number.
        rules = {"nan": self.given.libol, "infinite": self.given.libol}
        arrays = {
            "W": reals(1 if two_class else M, p, **rules),
            "S": reals(covariance, p, **rules),
            "eligible": flags(M),
            "counts": counts(2),
            "c": reals(1, **rules),
        }
        return StateSchema(arrays, {"two_class": ValueSchema(bool)})

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> LinearModel:
        chosen = self._make_algorithm(metadata["two_class"])
        return LinearModel(chosen, LinearState(**arrays))

    def decisions(self, state: LinearModel, X: NDArray[Any]) -> FloatArray:
        """Return scores (n, M); one in the two-class form, positive for the second."""
        out = np.empty((X.shape[0], state.state.W.shape[0]))
        for block, part in _blocks(X):
            score_rows(*state, block, out[part])
        if state.rule.two_class:
            # The first class is +1 to the learner, and negative to scikit-learn.
            return -out[:, 0]
        out[:, ~state.state.eligible] = -np.inf
        return decisions(out)

    def tag(self, tags: Any) -> Any:
        """Return the tags of the estimator with what follows from its form."""
        tags.classifier_tags.multi_class = (
            self.has_multiclass and self.given.form != "two_class"
        )
        # One pass without a bias is less accurate than the checks expect of a fit.
        tags.classifier_tags.poor_score = True
        return tags


def _blocks(X: RowTable) -> Iterable[tuple[FloatArray | RowBlock, slice]]:
    """Return rows as the core takes them, in blocks, and which rows each block has.

    Contiguous rows of double precision are a single block, since none is converted.
    """
    if type(X) is np.ndarray and X.dtype == _DOUBLE and X.flags.c_contiguous:
        return ((X, _ALL),)
    make: Any = as_rows if issparse(X) else as_block
    return ((make(X[part]), part) for part in row_blocks(X.shape[0]))
