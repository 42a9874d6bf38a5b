// Leaves of a window forest: their counts, and the scores.
//
// Leaf l of tree j has slow counts C, the weight of each class since the leaf began, and
// fast counts c, halved at each visit before the new row is added, so that they reflect
// only the last few rows. With π_c = (n_c + ½)/(Σn + M'/2), M' active classes:
//
//   P_j(c)  = (C_jc + π_c)/(C_j + 1)
//   score_c = log(Σ_j w_j P_j(c) + 10⁻⁴),   w = softmax(a)
//   a_j     ← 0.98 a_j + 0.1 log P_j(y)
//
// and the same for fast counts, with separate weights. Weighting by exponentials of the
// faded log-loss follows Herbster & Warmuth, "Tracking the best expert" (1998); the
// fading is ours.
#pragma once

#include <cstring>

#include "descents.h"

namespace rpnb::forest {

// The weight of a class listed at a leaf, and of all classes.
struct ClassCounts {
  Vector<std::int32_t> classes;  // (S,) −1 where the list has ended
  Vector<double> counts;         // (S,)
  double* total;

  void clear() const {
    classes.fill(-1);
    *total = 0.0;
  }
};

// The slow counts of a leaf of the tree in slot k, and the fast counts of a grown leaf.
inline ClassCounts slow_counts(WindowForest& state, Index k, Index leaf) {
  return {state.slow_class[k][leaf], state.slow_count[k][leaf], &state.slow_total(k, leaf)};
}
inline ClassCounts fast_counts(WindowForest& state, Index k, Index leaf) {
  return {state.fast_class[k][leaf], state.fast_count[k][leaf], &state.fast_total(k, leaf)};
}

// Count the weight of a row of class y.
void add_slow(const ClassCounts& leaf, std::int64_t y, double weight);

// Halve the counts, then count a row of class y.
void add_fast(const ClassCounts& leaf, std::int64_t y);

// Record the number of a row as the last one at a leaf.
inline void remember(Vector<std::int64_t> recent, std::int64_t row) {
  std::array<std::int64_t, kRecentRows - 1> kept;
  std::memcpy(kept.data(), recent.data(), sizeof kept);
  std::memcpy(recent.data() + 1, kept.data(), sizeof kept);
  recent[0] = row;
}

// The weights w of the trees, for slow counts and for fast ones.
struct TreeWeights {
  std::array<double, kTrees> slow;
  std::array<double, kTrees> fast;
};
TreeWeights tree_weights(const WindowForest& state);

// The destination of the two scores of each class of a row.
struct RowScores {
  Vector<double> slow;  // (M,)
  Vector<double> fast;  // (M,)
};

// Score a row at its leaves, which were settled last. There are n_active classes.
//
// The leaves of row `ahead` of those found are prefetched.
void score_at_leaves(const WindowForest& state, const TreeWeights& weights, Index n_active,
                     const Leaves& leaves, Index ahead, const RowScores& scores);

// A row that is learned at its leaves.
struct Learned {
  std::int64_t y;
  double weight;
  std::int64_t number;
};

// Score a row, then learn it. Most of the time is spent on loading a leaf's counts from
// memory, so one visit does both.
//
// A tree gains or loses weight by the probability that it gave to y. `surprised` says
// whether another class was more frequent at its leaf.
void learn_at_leaves(WindowForest& state, Index n_active, const Learned& row, const Leaves& leaves,
                     Index ahead, const RowScores& scores, std::array<bool, kTrees>& surprised);

// Let the tree in slot k learn rows first … end − 1 of the window of a forest.
//
// Its leaves keep the numbers of these rows if they belong to this forest.
void learn_in_tree(WindowForest& state, Index k, const WindowForest& rows, std::int64_t first,
                   std::int64_t end);

}  // namespace rpnb::forest
