"""What all ensembles of trees share: state, votes and files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.row_blocks import row_blocks, weights_of
from rpnb.core.trees import (
    DENSITY_LOG,
    DENSITY_PRODUCT,
    LEAF_ADAPTIVE,
    LEAF_BAYES,
    LEAF_MAJORITY,
    Forest,
    LeafCounts,
    LeafDensities,
    LeafMoments,
    Leaves,
    MemberAccuracy,
    Nodes,
    TreeParameters,
    fill_labels,
    insert_forest_class,
    new_forest,
    new_member_accuracy,
)
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import (
    check_choice,
    check_integer,
    check_real,
    draw_seed,
)
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import (
    COUNT,
    SEED,
    ArraySchema,
    StateSchema,
    check_tree,
    flags,
    indices,
    reals,
)
from rpnb.estimators.stream.learner import Learner, Shapes

Base = Literal["hoeffding_tree", "gaussian_nb"]
Density = Literal["log", "product"]
Leaf = Literal["adaptive", "naive_bayes", "majority"]

_LEAVES = {
    "adaptive": LEAF_ADAPTIVE,
    "naive_bayes": LEAF_BAYES,
    "majority": LEAF_MAJORITY,
}
_ONE = np.ones(1)
_NO_LABELS = np.zeros(0, np.int64)
#: The JSON values of a model file.
_VALUES = {"seed": SEED, "seen": COUNT}

#: Names of a forest's records in model files, which may differ from those in code.
_NAMES_IN_FILES: Mapping[type, str] = {
    Nodes: "Nodes",
    LeafCounts: "Counts",
    LeafMoments: "Observed",
    LeafDensities: "Laws",
    MemberAccuracy: "Record",
}


@dataclass(slots=True)
class EnsembleState:
    """K trees, their parameters, and the state of their random numbers."""

    forest: Forest
    parameters: TreeParameters
    record: MemberAccuracy
    """how well the members have predicted; used by boosting only"""
    seed: int
    seen: int = 0


@final
@dataclass
class TreeLearner(Learner[EnsembleState]):
    """K trees, or naive Bayes classifiers, that vote."""

    given: Any
    run_block: Callable[
        [Any, EnsembleState, FloatArray, IntArray, FloatArray, bool, FloatArray], None
    ]
    """passes over a block of rows: adds their votes, and learns them if asked to"""

    requires_seen_classes = True

    def probabilities(
        self, state: EnsembleState, X: NDArray[Any], *, ordered: bool = True
    ) -> FloatArray:
        """Return each class's share of the votes.

        A row on which no member votes has the same share for all classes. If votes
        underflow or overflow, as MOA's products may with density="product", the
        predicted class gets all of them.
        """
        votes = self._votes(state, X)
        beyond = np.flatnonzero(~np.isfinite(votes).all(axis=1))
        if beyond.shape[0] > 0:
            named = np.empty(beyond.shape[0], np.int64)
            fill_labels(votes[beyond], named)
            votes[beyond] = np.eye(votes.shape[1])[named]
        total = votes.sum(axis=1, keepdims=True)
        even = np.full(votes.shape, 1.0 / votes.shape[1])
        return np.divide(votes, total, out=even, where=total > 0.0)

    def _votes(self, state: EnsembleState, X: NDArray[Any]) -> FloatArray:
        """Return the sum of the members' votes for each class and row (n, M)."""
        votes = np.zeros((X.shape[0], state.forest.leaves.counts.class_weight.shape[1]))
        for rows in row_blocks(X.shape[0]):
            block = as_block(X[rows])
            self.run_block(
                self.given, state, block, _NO_LABELS, _ONE, False, votes[rows]
            )
        return votes

    def _tree_parameters(self) -> TreeParameters:
        """Check the parameters of the trees and return them as a record of the core."""
        pure = getattr(self.given, "pure", False)
        if not isinstance(pure, bool):
            raise TypeError(f"pure must be True or False, got {pure!r}")
        base = check_choice("base", self.given.base, ("hoeffding_tree", "gaussian_nb"))
        density = check_choice("density", self.given.density, ("log", "product"))
        leaf = check_choice("leaf", self.given.leaf, tuple(_LEAVES))
        trees = base == "hoeffding_tree"
        return TreeParameters(
            DENSITY_PRODUCT if density == "product" else DENSITY_LOG,
            _LEAVES[leaf] if trees else LEAF_BAYES,
            trees,
            check_real("grace_period", self.given.grace_period, 0.0, above=True),
            check_real(
                "split_confidence",
                self.given.split_confidence,
                0.0,
                above=True,
                high=1.0,
            ),
            check_real("tie_threshold", self.given.tie_threshold, 0.0),
            check_integer("n_split_points", self.given.n_split_points, 1, 10_000),
        )

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> EnsembleState:
        K = check_integer("n_estimators", self.given.n_estimators, 1)
        parameters = self._tree_parameters()
        seed = draw_seed(self.given.random_state)
        forest = new_forest(K, classes.shape[0], p)
        return EnsembleState(forest, parameters, new_member_accuracy(K), seed)

    def grow(
        self,
        state: EnsembleState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> EnsembleState:
        state = self.copy(state)
        for m in np.flatnonzero(source < 0).tolist():
            state.forest = insert_forest_class(state.forest, m)
        return state

    def restart(
        self, state: EnsembleState, p: int, classes: LabelArray
    ) -> EnsembleState:
        fresh = self.begin(p, classes, self.active_classes(state))
        return replace(fresh, seed=state.seed)

    def learn(
        self,
        state: EnsembleState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        M = state.forest.leaves.counts.class_weight.shape[1]
        for rows in row_blocks(y.shape[0]):
            block = as_block(X[rows])
            part = weights_of(weight, rows)
            votes = np.zeros((block.shape[0], M))
            self.run_block(self.given, state, block, y[rows], part, True, votes)
            state.seen += block.shape[0]
            if labels is not None:
                fill_labels(votes, labels[rows])

    def classify(self, state: EnsembleState, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)
        fill_labels(self._votes(state, X), labels)
        return labels

    def row_counts(self, state: EnsembleState) -> tuple[int, int]:
        return state.seen, state.seen

    def copy(self, state: EnsembleState) -> EnsembleState:
        # The constructors copy all arrays.
        forest, record = Forest(*state.forest), MemberAccuracy(*state.record)
        return replace(state, forest=forest, record=record)

    def export(
        self, state: EnsembleState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {"splits": state.forest.splits}
        for group in (state.forest.nodes, *state.forest.leaves, state.record):
            for name, part in group._asdict().items():
                arrays[f"{_NAMES_IN_FILES[type(group)]}.{name}"] = part
        return {"seed": state.seed, "seen": state.seen}, arrays

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        K = check_integer("n_estimators", self.given.n_estimators, 1)
        self._tree_parameters()
        # The file determines how many nodes each tree has room for.
        left = shapes.get("Nodes.left", (K,))
        L = left[0] if len(left) == 1 else K
        if L % K != 0:
            raise ModelFileError("the model file is damaged: its trees differ in size")
        return StateSchema(_forest_schema(K, L // K, M, p), _VALUES)

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> EnsembleState:
        K = check_integer("n_estimators", self.given.n_estimators, 1)
        forest = Forest(
            arrays["splits"],
            Nodes(*_record_arrays(arrays, Nodes)),
            Leaves(
                LeafCounts(*_record_arrays(arrays, LeafCounts)),
                LeafMoments(*_record_arrays(arrays, LeafMoments)),
                LeafDensities(*_record_arrays(arrays, LeafDensities)),
            ),
        )
        C = forest.nodes.left.shape[0] // K
        for k, splits in enumerate(forest.splits.tolist()):
            used = slice(k * C, k * C + splits)
            left, right = forest.nodes.left[used], forest.nodes.right[used]
            check_tree(f"tree {k}", left, right, splits + 1)
        return EnsembleState(
            forest,
            self._tree_parameters(),
            MemberAccuracy(*_record_arrays(arrays, MemberAccuracy)),
            metadata["seed"],
            metadata["seen"],
        )


def _record_arrays(arrays: dict[str, NDArray[Any]], record: Any) -> list[NDArray[Any]]:
    """Return a model file's arrays for the fields of a record."""
    group = _NAMES_IN_FILES[record]
    return [arrays[f"{group}.{name}"] for name in record._fields]


def _forest_schema(K: int, C: int, M: int, p: int) -> dict[str, ArraySchema]:
    """Return the schema of the arrays of K trees with room for C nodes each.

    Weights may be infinite, since sums of large numbers overflow.
    """
    L = K * C
    weights = {"low": 0.0, "infinite": True}
    nodes = {
        "attribute": indices(L, below=p),
        "threshold": reals(L),
        "left": indices(L, low=-C, below=C),
        "right": indices(L, low=-C, below=C),
    }
    counts = {
        "slots": indices(L, below=M + 1),
        "class_weight": reals(L, M, **weights),
        "majority_right": reals(L, **weights),
        "bayes_right": reals(L, **weights),
        "checked": reals(L, **weights),
        "frozen": flags(L),
    }
    moments = {
        "weight": reals(L, M, **weights),
        "mean": reals(L, M, p),
        "scatter": reals(L, M, p, infinite=True),  # rounding may leave it below 0
        "low": reals(L, M, p),
        "high": reals(L, M, p),
    }
    densities = {
        "centre": reals(L, p, M),
        "precision": reals(L, p, M, low=0.0),
        "normaliser": reals(L, M, p),
        "peak": reals(L, M, infinite=True),
        "flat": indices(L, M, below=p + 1),
        "limit": reals(L, M, infinite=True),
    }
    accuracy = {
        "right": reals(K, **weights),
        "wrong": reals(K, **weights),
        "seen": reals(1, **weights),
    }
    groups: dict[Any, dict[str, ArraySchema]] = {
        Nodes: nodes,
        LeafCounts: counts,
        LeafMoments: moments,
        LeafDensities: densities,
        MemberAccuracy: accuracy,
    }
    schema = {"splits": indices(K, below=C)}
    for record, fields in groups.items():
        for name in record._fields:
            schema[f"{_NAMES_IN_FILES[record]}.{name}"] = fields[name]
    return schema
