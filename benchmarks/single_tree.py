"""One tree of a forest by itself, for comparisons with other libraries and tests."""

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees.learning import pass_to_split, split_and_link
from rpnb.core.trees.records import Forest, TreeParameters


def pass_tree(
    forest: Forest,
    k: int,
    rules: TreeParameters,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    votes: FloatArray,
) -> Forest:
    """Test each row of X (n, p) on tree k, then learn it; return the forest.

    The forest is written to, and what is returned shares its arrays unless it had to
    grow. The tree's votes, scaled to sum to 1, are added to `votes` (n, M). A row is
    learnt as of class y[i] if its weight (n,) is above 0.
    """
    row = 0
    while row < X.shape[0]:
        row, place, split = pass_to_split(forest, k, rules, X, y, weight, row, votes)
        if split.attribute >= 0:
            forest = split_and_link(forest, k, place, split)
    return forest
