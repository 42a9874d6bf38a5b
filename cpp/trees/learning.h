// Passing rows through a tree: find the leaf, predict there, learn there.
#pragma once

#include "records.h"

namespace rpnb::trees {

// The leaf that a row reaches in a tree, and the leaf's parent.
struct LeafPosition {
  Index leaf;    // number of the leaf in its tree
  Index node;    // number of its parent, −1 if the leaf is the whole tree
  bool is_left;  // whether the leaf is the left one of its parent's children
};

// The leaf that x (p,) reaches in tree k.
LeafPosition descend(const Forest& forest, Index k, Vector<const double> x);

// Learn x (p,) of class y < M at the leaf that it reaches in tree k, and split this leaf if
// that is due; return whether it was split.
//
// `scores` (M,) holds naive Bayes' scores of x, unless the leaf is frozen or its rule needs
// none.
bool learn_at_leaf(Forest& forest, Index k, const LeafPosition& position, Vector<const double> x,
                   Index y, double weight, const TreeParameters& rules,
                   Vector<const double> scores);

// Test each row of X (n, p) on tree k.
//
// The tree's votes, scaled to sum to 1, are added to `votes` (n, M).
void score_tree(const Forest& forest, Index k, const TreeParameters& rules, Matrix<const double> X,
                Matrix<double> votes);

// The same, and learn each row once it is tested, as of class y[i], if its weight (n,) is
// above 0.
void learn_tree(Forest& forest, Index k, const TreeParameters& rules, Matrix<const double> X,
                Vector<const std::int64_t> y, Vector<const double> weight, Matrix<double> votes);

}  // namespace rpnb::trees
