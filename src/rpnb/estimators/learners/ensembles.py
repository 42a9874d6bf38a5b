"""Online bagging and boosting (Oza & Russell 2001) as scikit-learn estimators."""

from dataclasses import dataclass
from typing import Any, final

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees.bagging import Draws, pass_bagging
from rpnb.core.trees.boosting import pass_boosting
from rpnb.core.trees.records import TreeParameters
from rpnb.estimators.learners.tree_ensemble import EnsembleState, TreeEnsemble

__all__ = ["OnlineBagging", "OnlineBoosting"]


@final
@dataclass(kw_only=True, eq=False, repr=False)
class OnlineBagging(TreeEnsemble):
    """Online bagging: each member learns a row as often as a draw of Poisson(1).

    With base="hoeffding_tree" and density="product" this is MOA's OzaBag of its
    HoeffdingTree, the "Online Bagging" of the paper. Its product of densities
    underflows where there are many features, and the members then vote for the majority
    class; density="log", the default, does not.

    Parameters
    ----------
    {trees}
    random_state : int, Generator, RandomState or None, default=None
        Seed of the Poisson draws.

    {attributes}

    References
    ----------
    N. C. Oza and S. Russell, "Online bagging and boosting", AISTATS 2001.

    P. Domingos and G. Hulten, "Mining high-speed data streams", KDD 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import OnlineBagging
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OnlineBagging(random_state=0)
    >>> predicted = model.predict_then_learn(X, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    random_state: Any = None

    def _run_block(
        self,
        state: EnsembleState,
        X: FloatArray,
        y: IntArray,
        weight: FloatArray,
        learn: bool,
        votes: FloatArray,
    ) -> None:
        draws = Draws(state.seed, 0, state.seen)
        pass_bagging(state.forest, state.parameters, draws, X, y, weight, learn, votes)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class OnlineBoosting(TreeEnsemble):
    """Online boosting: rows that members got wrong weigh more for the next members.

    Each member learns a row as often as a draw of Poisson(λ); λ starts as 1, grows
    where a member was wrong and shrinks where it was right.

    Parameters
    ----------
    {trees}
    pure : bool, default=False
        Whether a row is learned with weight λ instead of a Poisson draw.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the Poisson draws.

    {attributes}

    References
    ----------
    N. C. Oza and S. Russell, "Online bagging and boosting", AISTATS 2001.

    P. Domingos and G. Hulten, "Mining high-speed data streams", KDD 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import OnlineBoosting
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OnlineBoosting(random_state=0)
    >>> predicted = model.predict_then_learn(X, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    pure: bool = False
    random_state: Any = None

    def _tree_parameters(self) -> TreeParameters:
        if not isinstance(self.pure, bool):
            raise TypeError(f"pure must be True or False, got {self.pure!r}")
        return super()._tree_parameters()

    def _run_block(
        self,
        state: EnsembleState,
        X: FloatArray,
        y: IntArray,
        weight: FloatArray,
        learn: bool,
        votes: FloatArray,
    ) -> None:
        draws = Draws(state.seed, 0, state.seen)
        pass_boosting(
            state.forest,
            state.record,
            state.parameters,
            draws,
            self.pure,
            X,
            y,
            weight,
            learn,
            votes,
        )
