// The descent of rows in the trees of a window forest.
//
// Leaves are found for a few rows together, tree by tree, so that the nodes of a tree are
// loaded from memory once for all of them. Earlier rows may split a leaf before a row is
// processed there: the descent then continues from that node (`settle`). If a tree is
// replaced, the leaves of the remaining rows must be found again.
#pragma once

#include <array>

#include "window_forest.h"

namespace rpnb::forest {

// The leaves of up to kAhead rows in each tree.
struct Leaves {
  // For each row: its leaves as nodes of their trees, and their depths.
  std::array<std::array<std::int32_t, kTrees>, kAhead> nodes;
  std::array<std::array<std::int32_t, kTrees>, kAhead> depths;
  // The numbers of the leaves of the row that was settled last.
  std::array<std::int32_t, kTrees> numbers;
};

// The leaf, as a node, of row x (p,) in the tree in slot k.
Index find_leaf(const WindowForest& state, Index k, Vector<const double> x);

// Find the leaves of the rows of X (n, p), at most kAhead of them.
void find_leaves(const WindowForest& state, Matrix<const double> X, Leaves& leaves);

// Set the leaf numbers of the r-th row found, which is x (p,).
//
// If a leaf has been split since, x descends further.
void settle(const WindowForest& state, Vector<const double> x, Index r, Leaves& leaves);

}  // namespace rpnb::forest
