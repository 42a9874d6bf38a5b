// Where rows end up in the trees of a window forest.
//
// Leaves are found for a few rows together, tree after tree, so that a tree's nodes are
// brought from memory once for all of them. Before a row is visited, rows before it may
// have split its leaf: the descent then goes on from there (`settle`). A tree that is
// replaced has other leaves, and the rows that follow must be found again.
#pragma once

#include <array>

#include "window_forest.h"

namespace rpnb::forest {

// Leaves of up to kAhead rows in each tree.
struct Leaves {
  // Of each row: the leaves as nodes of their trees, and their depths.
  std::array<std::array<std::int32_t, kTrees>, kAhead> nodes;
  std::array<std::array<std::int32_t, kTrees>, kAhead> depths;
  // Of the row that was settled last: the numbers of its leaves.
  std::array<std::int32_t, kTrees> numbers;
};

// The leaf, as a node, of row x (p,) in the tree at place k.
Index find_leaf(const WindowForest& state, Index k, Vector<const double> x);

// Find the leaves of the rows of X (n, p), at most kAhead of them.
void find_leaves(const WindowForest& state, Matrix<const double> X, Leaves& leaves);

// Set the leaf numbers of row r of those found, which is x (p,).
//
// Where a leaf has been split since, x descends further.
void settle(const WindowForest& state, Vector<const double> x, Index r, Leaves& leaves);

}  // namespace rpnb::forest
