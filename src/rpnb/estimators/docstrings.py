"""Text that the docstrings of learners share, written once.

In a docstring, a line `{form, libol}` stands for the entries of these names. Classes
have them put in when they are made, so that `help` shows all of it;
`tools/shared_docstrings.py` does the same for the documentation site.
"""

import re
from textwrap import indent

_TEXTS = {
    "attributes": """\
Attributes
----------
{inputs}
n_seen_, n_updates_ : int
    Number of rows seen, and of those that changed the model.""",
    "inputs": """\
classes_ : array of shape (M,)
    The classes known so far, sorted.
n_features_in_ : int
    Number of features.
feature_names_in_ : array of shape (p,)
    Names of the features, if the first data had names that are all text.""",
    "class_weight": """\
class_weight : dict, "balanced" or None, default=None
    Weights of the classes, which multiply those of the rows: a dictionary of labels
    and weights from 1e-6 to 1e6, 1 for a class that is not in it; or "balanced",
    n/(M·n_y) for a row of class y, with n rows, n_y of its class, M classes. For
    `fit` these are the numbers of all rows, as in scikit-learn; along a stream,
    those of the rows up to and including this one, however rows are cut into calls.""",
    # Linear learners
    "form": """\
form : {"auto", "two_class", "multiclass"}, default="auto"
    One weight vector for two classes, or one per class. "auto" is "two_class" if
    exactly two classes are declared on the first call (`fit` declares those in y),
    and "multiclass" otherwise, which lets new classes appear at any time.""",
    "two_class_form": """\
form : {"auto", "two_class"}, default="auto"
    This learner has the two-class form only: exactly two classes must be declared
    on the first call, by `fit` or by `classes`.""",
    "libol": """\
libol : bool, default=False
    Whether to follow the library LIBOL also where its steps are not finite or not
    numerically sound; otherwise such steps are bounded or left out.""",
    "a": """\
a : float, default=1.0
    Σ starts as a·I.""",
    "covariance": """\
covariance : {"full", "diagonal"}, default="full"
    Σ costs p² per row in memory and time; its diagonal alone, for wide data, p.""",
    "libol_paper": """\
S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
algorithms", JMLR 15, 2014.""",
    "digits_example": """\
Examples
--------
>>> from sklearn.datasets import load_digits
>>> from rpnb.baselines import {learner}
>>> X, y = load_digits(return_X_y=True)
>>> predicted = {learner}().predict_then_learn(X / 16.0, y, classes=range(10))
>>> bool((predicted == y).mean() > 0.8)
True""",
    "two_class_example": """\
Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from rpnb.baselines import {learner}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> X = (X - X.mean(axis=0)) / X.std(axis=0)
>>> predicted = {learner}().predict_then_learn(X, y, classes=[0, 1])
>>> bool((predicted == y).mean() > 0.9)
True""",
    # Ensembles of trees
    "trees": """\
n_estimators : int, default=10
    Number of members; the paper has 200.
base : {"hoeffding_tree", "gaussian_nb"}, default="hoeffding_tree"
    What a member is.
density : {"log", "product"}, default="log"
    Whether naive Bayes adds log densities, or multiplies densities as MOA does.
leaf : {"adaptive", "naive_bayes", "majority"}, default="adaptive"
    How a tree's leaf votes.
grace_period : float, default=200.0
    Weight that a leaf gains between two attempts to split it.
split_confidence : float, default=1e-7
    Probability of a wrong split that an attempt accepts.
tie_threshold : float, default=0.05
    Hoeffding bound below which the best attribute is chosen without a clear lead.
n_split_points : int, default=10
    Thresholds tried on each attribute.""",
}


def with_shared_text(docstring: str, learner: str) -> str:
    """Return a learner's docstring with what its lines in braces stand for.

    >>> print(with_shared_text("    {a, libol_paper}", "AROW"))
        a : float, default=1.0
            Σ starts as a·I.
        S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
        algorithms", JMLR 15, 2014.
    """

    def entries(line: re.Match[str]) -> str:
        texts = [
            _TEXTS[name].replace("{learner}", learner) for name in line[2].split(", ")
        ]
        return indent(with_shared_text("\n".join(texts), learner), line[1])

    return re.sub(r"^( *)\{([\w, ]+)\}$", entries, docstring, flags=re.MULTILINE)
