// The choice of a node's split: random candidates, evaluated on a few rows.
//
// A node draws max(16, √p) features without replacement, or all if there are fewer, and
// for each a few thresholds, each uniform between the values of two of the node's rows.
// The split is the one whose parts have the least Gini impurity on a sample of at most 64
// rows of the node: random cut points as in Geurts, Ernst & Wehenkel, "Extremely
// randomized trees" (2006), drawn within the range of its values. All rows count the same
// here, whatever their weight.
//
// For up to 64 sampled rows, one 64-bit word marks those that go left and another those
// of a class: counting bits gives the class counts of a split.
//
// Draws are functions of (seed, tree, node, draw): Philox gives each node a key of 64
// bits, and draw i is the finaliser of MurmurHash3 (Appleby, 2011) of the key plus i steps
// of 2³² divided by the golden ratio.
#pragma once

#include "window_forest.h"

namespace rpnb::forest {

struct Split {
  Index feature = -1;  // −1 if there is none
  double threshold = 0.0;

  explicit operator bool() const { return feature >= 0; }
};

// A node to split. Its rows (m,), m ≥ 2, are given by their positions in the window.
struct SplitNode {
  std::int64_t tree;  // the number of the tree
  Index node;
  Vector<const std::int64_t> rows;
};

class SplitChooser {
 public:
  // Chooses splits of nodes of `state`, whose arrays, like `space`, must outlive the
  // chooser.
  SplitChooser(const WindowForest& state, Workspace& space);

  // The best split of a node, among n_features features and about as many thresholds.
  Split choose(const SplitNode& node, Index n_features, Index thresholds);

 private:
  // The rows on which splits are evaluated, and their classes as sets of rows.
  struct Sample {
    Index size;
    std::array<const double*, kSampledRows> rows;
    Index classes;
    std::array<std::uint64_t, kSampledRows> members;
    std::array<std::int64_t, kSampledRows> shifted_sizes;  // 2³² times their sizes
    std::int64_t squares;                                  // Σ_c size_c²
  };

  class Draws;

  void take_sample(Vector<const std::int64_t> rows, Draws& draws);
  [[nodiscard]] double purity(std::uint64_t left) const;

  Matrix<const double> window_;
  Vector<const std::int64_t> window_class_;
  std::uint64_t seed_;
  Sample sample_;
  Vector<Index> features_;      // (p,) 0 … p − 1 whenever no split is being chosen
  Vector<Index> chosen_;        // (p,) with which features the first ones were swapped
  Vector<std::int64_t> local_;  // (M,) −1 whenever no sample is being taken
};

}  // namespace rpnb::forest
