"""Online bagging and boosting (Oza & Russell 2001) as scikit-learn estimators."""

from typing import Any, final

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees import Draws, pass_bagging, pass_boosting
from rpnb.estimators.learners.tree_ensemble import (
    Base,
    Density,
    EnsembleState,
    Leaf,
    TreeLearner,
)
from rpnb.estimators.stream.classifier import StreamClassifier

__all__ = ["OnlineBagging", "OnlineBoosting"]


@final
class OnlineBagging(StreamClassifier):
    """Online bagging: each member learns a sample k times, with k from Poisson(1).

    With base="hoeffding_tree" and density="product" this is MOA's OzaBag of its
    HoeffdingTree, the "Online Bagging" of the RPNB paper. Its product of densities
    underflows where there are many features, and the members then vote for the majority
    class; density="log", the default, does not underflow.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of ensemble members; the RPNB paper uses 200.
    base : {"hoeffding_tree", "gaussian_nb"}, default="hoeffding_tree"
        Kind of classifier that each ensemble member is.
    density : {"log", "product"}, default="log"
        Whether naive Bayes adds log densities, or multiplies densities as MOA does.
    leaf : {"adaptive", "naive_bayes", "majority"}, default="adaptive"
        How the leaves of a tree vote: by their majority class, by naive Bayes, or by
        whichever of the two has been right more often.
    grace_period : float, default=200.0
        Weight of the samples that a leaf receives between two attempts to split it.
    split_confidence : float, default=1e-7
        Probability of choosing the wrong split that an attempt accepts.
    tie_threshold : float, default=0.05
        Hoeffding bound below which the best attribute is chosen without a clear lead.
    n_split_points : int, default=10
        Number of thresholds tried on each attribute.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the Poisson draws, and of the order in which `fit` learns samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels known so far, sorted.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.
    n_samples_seen_ : int
        Number of samples seen so far.
    n_updates_ : int
        Number of samples that changed the model.

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

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        base: Base = "hoeffding_tree",
        density: Density = "log",
        leaf: Leaf = "adaptive",
        grace_period: float = 200.0,
        split_confidence: float = 1e-7,
        tie_threshold: float = 0.05,
        n_split_points: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.base = base
        self.density = density
        self.leaf = leaf
        self.grace_period = grace_period
        self.split_confidence = split_confidence
        self.tie_threshold = tie_threshold
        self.n_split_points = n_split_points
        self.shuffle = shuffle
        self.random_state = random_state

    def _learner(self) -> TreeLearner:
        return TreeLearner(self, _bag)


@final
class OnlineBoosting(StreamClassifier):
    """Online boosting: samples that a member misclassifies weigh more for the next.

    Each member learns a sample k times, with k from Poisson(λ); λ starts at 1, grows
    with each member that is wrong and shrinks with each that is right.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of ensemble members; the RPNB paper uses 200.
    base : {"hoeffding_tree", "gaussian_nb"}, default="hoeffding_tree"
        Kind of classifier that each ensemble member is.
    density : {"log", "product"}, default="log"
        Whether naive Bayes adds log densities, or multiplies densities as MOA does.
    leaf : {"adaptive", "naive_bayes", "majority"}, default="adaptive"
        How the leaves of a tree vote: by their majority class, by naive Bayes, or by
        whichever of the two has been right more often.
    grace_period : float, default=200.0
        Weight of the samples that a leaf receives between two attempts to split it.
    split_confidence : float, default=1e-7
        Probability of choosing the wrong split that an attempt accepts.
    tie_threshold : float, default=0.05
        Hoeffding bound below which the best attribute is chosen without a clear lead.
    n_split_points : int, default=10
        Number of thresholds tried on each attribute.
    pure : bool, default=False
        Whether a sample is learned once with weight λ instead of k times.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the Poisson draws, and of the order in which `fit` learns samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels known so far, sorted.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.
    n_samples_seen_ : int
        Number of samples seen so far.
    n_updates_ : int
        Number of samples that changed the model.

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

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        base: Base = "hoeffding_tree",
        density: Density = "log",
        leaf: Leaf = "adaptive",
        grace_period: float = 200.0,
        split_confidence: float = 1e-7,
        tie_threshold: float = 0.05,
        n_split_points: int = 10,
        pure: bool = False,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.base = base
        self.density = density
        self.leaf = leaf
        self.grace_period = grace_period
        self.split_confidence = split_confidence
        self.tie_threshold = tie_threshold
        self.n_split_points = n_split_points
        self.pure = pure
        self.shuffle = shuffle
        self.random_state = random_state

    def _learner(self) -> TreeLearner:
        return TreeLearner(self, _boost)


def _bag(
    given: OnlineBagging,
    state: EnsembleState,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> None:
    """Pass over a block of rows with online bagging."""
    draws = Draws(state.seed, 0, state.seen)
    pass_bagging(state.forest, state.parameters, draws, X, y, weight, learn, votes)


def _boost(
    given: OnlineBoosting,
    state: EnsembleState,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> None:
    """Pass over a block of rows with online boosting."""
    draws = Draws(state.seed, 0, state.seen)
    trees, parameters, pure = state.forest, state.parameters, given.pure
    pass_boosting(
        *(trees, state.record, parameters, draws, pure), X, y, weight, learn, votes
    )
