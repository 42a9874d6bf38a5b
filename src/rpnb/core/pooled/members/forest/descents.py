"""Where rows end up in the trees of a window forest.

Leaves are found for a few rows at once, tree after tree, so that a tree's nodes are
brought from memory once for all of them. Before a row is visited, rows before it may
have split its leaf: the descent then goes on from there (`settle_leaves`). A tree that
is replaced has other leaves, and rows beyond must be found anew.
"""

from rpnb.core.kernels.arrays import FloatArray, WordArray
from rpnb.core.kernels.compiling.compiled import (
    compiled_borrowing,
    compiled_borrowing_inline,
)
from rpnb.core.kernels.prefetch import prefetch
from rpnb.core.pooled.members.forest.state import ForestState, Workspace


@compiled_borrowing_inline
def find_leaf(
    feature: WordArray, threshold: FloatArray, child: WordArray, k: int, x: FloatArray
) -> tuple[int, int]:
    """Return the leaf, as a node, of x (p,) in the tree at place k, and its depth."""
    node = 0
    depth = 0
    step = child[k, 0]
    while step >= 0:
        node = step + (0 if x[feature[k, node]] <= threshold[k, node] else 1)
        step = child[k, node]
        depth += 1
    return node, depth


@compiled_borrowing
def find_leaves(
    state: ForestState, X: FloatArray, first: int, last: int, space: Workspace
) -> None:
    """Find the leaves, as nodes, of rows first … last − 1: `space.nodes`, `depths`.

    There are `AHEAD` rows at most.
    """
    feature = state.feature
    threshold = state.threshold
    child = state.child
    origin = state.origin
    place = state.place
    nodes = space.nodes
    depths = space.depths
    L = origin.shape[1]
    n = last - first
    # Four descents at once, each waiting at its leaf for the others: a step down has to
    # wait for the one before, and these waits then overlap. Their number, rows times
    # trees, is a multiple of four.
    j3 = 0
    r3 = -1
    for _ in range(0, n * nodes.shape[1], 4):
        r0 = r3 + 1 if r3 + 1 < n else 0
        j0 = j3 + (r0 == 0 and r3 >= 0)
        r1 = r0 + 1 if r0 + 1 < n else 0
        j1 = j0 + (r1 == 0)
        r2 = r1 + 1 if r1 + 1 < n else 0
        j2 = j1 + (r2 == 0)
        r3 = r2 + 1 if r2 + 1 < n else 0
        j3 = j2 + (r3 == 0)
        k0 = place[j0]
        k1 = place[j1]
        k2 = place[j2]
        k3 = place[j3]
        x0 = first + r0
        x1 = first + r1
        x2 = first + r2
        x3 = first + r3
        node0 = 0
        depth0 = 0
        step0 = child[k0, 0]
        node1 = 0
        depth1 = 0
        step1 = child[k1, 0]
        node2 = 0
        depth2 = 0
        step2 = child[k2, 0]
        node3 = 0
        depth3 = 0
        step3 = child[k3, 0]
        while step0 & step1 & step2 & step3 >= 0:
            right = not X[x0, feature[k0, node0]] <= threshold[k0, node0]
            node0 = step0 + right if step0 >= 0 else node0
            depth0 += step0 >= 0
            step0 = child[k0, node0]
            right = not X[x1, feature[k1, node1]] <= threshold[k1, node1]
            node1 = step1 + right if step1 >= 0 else node1
            depth1 += step1 >= 0
            step1 = child[k1, node1]
            right = not X[x2, feature[k2, node2]] <= threshold[k2, node2]
            node2 = step2 + right if step2 >= 0 else node2
            depth2 += step2 >= 0
            step2 = child[k2, node2]
            right = not X[x3, feature[k3, node3]] <= threshold[k3, node3]
            node3 = step3 + right if step3 >= 0 else node3
            depth3 += step3 >= 0
            step3 = child[k3, node3]
        nodes[r0, j0] = node0
        depths[r0, j0] = depth0
        prefetch(origin, k0 * L - 1 - step0)
        nodes[r1, j1] = node1
        depths[r1, j1] = depth1
        prefetch(origin, k1 * L - 1 - step1)
        nodes[r2, j2] = node2
        depths[r2, j2] = depth2
        prefetch(origin, k2 * L - 1 - step2)
        nodes[r3, j3] = node3
        depths[r3, j3] = depth3
        prefetch(origin, k3 * L - 1 - step3)


@compiled_borrowing_inline
def settle_leaves(state: ForestState, x: FloatArray, r: int, space: Workspace) -> None:
    """Set the leaves of row r of those found: `space.leaves`, and `nodes`, `depths`.

    Where a leaf has been split since, x (p,) descends on.
    """
    feature = state.feature
    threshold = state.threshold
    child = state.child
    place = state.place
    nodes = space.nodes
    depths = space.depths
    leaves = space.leaves
    for j in range(leaves.shape[0]):
        k = place[j]
        node = nodes[r, j]
        step = child[k, node]
        while step >= 0:
            node = step + (0 if x[feature[k, node]] <= threshold[k, node] else 1)
            step = child[k, node]
            nodes[r, j] = node
            depths[r, j] += 1
        leaves[j] = -1 - step


@compiled_borrowing_inline
def prefetch_leaf(state: ForestState, r: int, j: int, space: Workspace) -> None:
    """Ask for all that is counted at the leaf of row r in tree j."""
    k = state.place[j]
    L = state.origin.shape[1]
    S = state.slow_class.shape[2]
    # A leaf that has been split gives some other place, which does no harm.
    leaf = max(0, -1 - state.child[k, space.nodes[r, j]])
    at = k * L + leaf
    prefetch(state.slow_class, S * at)
    prefetch(state.slow_count, S * at)
    prefetch(state.slow_total, at)
    prefetch(state.recent, state.recent.shape[2] * at)
    at = k * L + state.origin[k, leaf]
    prefetch(state.fast_class, S * at)
    prefetch(state.fast_count, S * at)
    prefetch(state.fast_total, at)
