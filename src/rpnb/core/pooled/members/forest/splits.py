"""How a node of a tree chooses its split: random candidates, judged on a few rows.

A node draws max(16, √p) features without replacement, or all if there are fewer, and
for each a few thresholds, each uniform between the values of two of the node's rows.
The split is the one whose parts have the least Gini impurity on a sample of at most 64
rows of the node: random cut points as in Geurts, Ernst & Wehenkel, "Extremely
randomized trees" (2006), drawn within the node's own values. Rows count alike here,
whatever their weight.

Of 64 sampled rows a word of 64 bits holds which go left and another which are of a
class: counting bits gives the class counts of a split.

Draws are functions of (seed, tree, node, draw): Philox gives each node a key of 64
bits, and draw i is the finaliser of MurmurHash3 (Appleby, 2011) of the key plus i steps
of 2³² divided by the golden ratio.
"""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray, UIntArray
from rpnb.core.kernels.bits import count_bits, eight_below
from rpnb.core.kernels.compiling.compiled import compiled_inline
from rpnb.core.kernels.random_bits import philox
from rpnb.core.pooled.members.forest.state import SAMPLED_ROWS, SplitSpace

_ONE = np.uint64(1)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_STEP = np.uint64(0x9E3779B9)
_FIRST_FACTOR = np.uint64(0x85EBCA6B)
_SECOND_FACTOR = np.uint64(0xC2B2AE35)
_SIXTEEN = np.uint64(16)
_THIRTEEN = np.uint64(13)


@compiled_inline
def set_key(seed: np.uint64, tree: int, node: int, key: UIntArray) -> None:
    """Set the key (4, 1) of a node's draws; two words of 32 bits of it are used."""
    number = np.uint64(tree)
    key[0, 0] = 0
    key[1, 0] = node
    key[2, 0] = number & _LOW
    key[3, 0] = number >> _HALF
    philox(key, seed)


@compiled_inline
def draw(key: UIntArray, i: int) -> np.int64:
    """Return draw i, of 32 bits."""
    x = (key[0, 0] + np.uint64(i) * _STEP) & _LOW
    x = ((x ^ (x >> _SIXTEEN)) * _FIRST_FACTOR) & _LOW
    x = ((x ^ (x >> _THIRTEEN)) * _SECOND_FACTOR) & _LOW
    return np.int64(x ^ (x >> _SIXTEEN) ^ key[1, 0])


@compiled_inline
def choose_split(
    seed: np.uint64,
    tree: int,
    node: int,
    window: FloatArray,
    window_class: IntArray,
    rows: IntArray,
    n_features: int,
    most_thresholds: int,
    space: SplitSpace,
) -> tuple[int, float]:
    """Return feature and threshold of the best split; −1 and 0 if there is none.

    The rows (m,) of the node are given by their places in the window.
    """
    m = rows.shape[0]
    size = min(m, SAMPLED_ROWS)
    features = space.features
    p = features.shape[0]
    key = space.key
    n_thresholds = min(size - 1, (most_thresholds + n_features - 1) // n_features)
    set_key(seed, tree, node, key)
    drawn = 0

    sample = space.sample
    members = space.members
    sizes = space.sizes
    local = space.local
    chosen = space.chosen
    n_classes = 0
    for r in range(size):
        at = r
        if m > size:
            at = (draw(key, drawn) * m) >> 32
            drawn += 1
        row = rows[at]
        sample[r] = row
        y = window_class[row]
        if local[y] < 0:
            local[y] = n_classes
            members[n_classes] = 0
            sizes[n_classes] = 0
            n_classes += 1
        members[local[y]] |= _ONE << np.uint64(r)
        sizes[local[y]] += 1
    for r in range(size):
        local[window_class[sample[r]]] = -1
    squares = 0
    for c in range(n_classes):
        squares += sizes[c] * sizes[c]

    everything = ~np.uint64(0) >> np.uint64(SAMPLED_ROWS - size)
    best = -1.0
    best_feature = -1
    best_threshold = 0.0
    values = space.values
    tried = 0
    # Two pure parts have purity `size`, and nothing better comes.
    while tried < n_features and best < size:
        at = tried + ((draw(key, drawn) * (p - tried)) >> 32)
        drawn += 1
        chosen[tried] = at
        feature = features[at]
        features[at] = features[tried]
        features[tried] = feature
        tried += 1
        for r in range(size):
            values[r] = window[sample[r], feature]
        for _ in range(n_thresholds):
            bits = draw(key, drawn)
            drawn += 1
            one = values[((bits & 255) * size) >> 8]
            other = values[(((bits >> 8) & 255) * size) >> 8]
            threshold = one + (other - one) * ((bits >> 16) * 2.0**-16)
            left = np.uint64(0)
            for r in range(0, size, 8):
                left |= eight_below(values, r, threshold) << np.uint64(r)
            left &= everything
            n_left = count_bits(left)
            if n_left == 0 or n_left == size:
                continue
            left_squares = 0
            products = 0
            for c in range(n_classes):
                count = count_bits(left & members[c])
                left_squares += count * count
                products += count * sizes[c]
            right_squares = squares - 2 * products + left_squares
            purity = left_squares / n_left + right_squares / (size - n_left)
            if purity > best:
                best = purity
                best_feature = feature
                best_threshold = threshold
    for f in range(tried - 1, -1, -1):
        at = chosen[f]
        feature = features[at]
        features[at] = features[f]
        features[f] = feature
    return best_feature, best_threshold
