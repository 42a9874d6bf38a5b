// A window forest: decision trees grown from the last rows; the worst tree is replaced.
//
// Trees with random splits are grown from the last 250, 1,000 and 4,000 rows in turn.
// After a drift, trees of long windows lose their weight and are replaced first; on a
// stationary stream they stay. Leaves keep counting while a tree is in use. There are two
// outputs: one from all rows counted since a tree was grown (slow counts), and one from
// the last few rows at each leaf (fast counts).
//
// descents.h finds the leaves of rows; leaves.h has the counts and scores, trees.h the
// growth of trees, splits.h the choice of splits.
//
// The forest has T trees and a spare slot in which the next tree grows. All T + 1 share
// the same arrays; `place` holds the slot of tree j, and in its last entry that of the
// growing tree. Node 0 of a tree is its root. `child` of a node is the number of its left
// child, the right one being the next, or −1 − l if the node is leaf l. A row goes left
// where its feature is ≤ the threshold, so a missing value goes right.
//
// A leaf lists at most S = min(M, 8) of the classes that it has seen, so memory does not
// grow with the number of classes beyond that. If the list is full, a new class replaces
// the one with the smallest count.
//
// Rows are numbered in the order in which they are learned; the window holds the last R.
// Row weights count in slow counts and in class frequencies; in the choice of splits, in
// fast counts and in the weights of trees every row counts the same. Where p > 8,192 a
// window of rows would be too large, and the forest reads `low`, their random projection
// to 32 dimensions, instead of `raw`.
#pragma once

#include "../../record.h"
#include "../../workspace.h"
#include "../member.h"
#include "sizes.h"

namespace rpnb {

struct WindowForest final : Member {
  // Entries of `clock`.
  enum Clock : Index {
    kLearned,  // rows learned, which is also the number of the next row in the window
    kDue,      // value of kLearned at which the next tree starts to grow
    kGrown,    // trees that have started to grow
    kStart,    // value of kLearned when the growing tree started, −1 if none is growing
    kNext,     // the growing tree's first node that is neither split nor a leaf yet
    kClocks
  };

  Array<std::uint64_t, 1> seed;
  Array<std::int64_t, 1> clock;
  Array<bool, 1> active;                // classes declared or learned
  Array<double, 1> class_weight;        // n_c
  Array<double, 1> total_weight;        // Σ n_c
  Array<double, 2> window;              // the last rows; row i is at i mod R
  Array<std::int64_t, 1> window_class;  // −1 where there is no row yet
  Array<double, 1> window_weight;
  Array<std::int64_t, 1> place;        // slot of each tree, and of the growing one
  Array<double, 2> log_weight;         // of the trees, for slow counts and for fast ones
  Array<std::int64_t, 1> tree_number;  // kGrown when the tree started, for its draws
  Array<std::int64_t, 1> n_nodes;
  Array<std::int64_t, 1> n_leaves;
  Array<std::int32_t, 2> feature;
  Array<double, 2> threshold;
  Array<std::int32_t, 2> child;
  Array<std::int32_t, 3> slow_class;  // classes listed at a leaf, −1 where the list has ended
  Array<double, 3> slow_count;        // their weights since the leaf began
  Array<double, 2> slow_total;        // weight of all classes since the leaf began
  Array<std::int64_t, 3> recent;      // the last rows at a leaf, newest first, −1 for none
  Array<std::int32_t, 2> origin;      // leaf of the grown tree that contains this leaf
  Array<std::int32_t, 3> fast_class;  // classes listed at a grown leaf
  Array<double, 3> fast_count;        // their fading counts
  Array<double, 2> fast_total;        // fading count of all classes
  Array<std::int64_t, 1> order;       // window positions of the growing tree's rows, by node
  Array<std::int64_t, 1> node_first;  // where in `order` the rows of a node begin
  Array<std::int64_t, 1> node_end;    // where they end
  Array<std::int64_t, 1> node_depth;

  static constexpr auto fields() {
    static_assert(kClocks == 5 && forest::kTrees == 16 && forest::kRecentRows == 8);
    return std::tuple{field("seed", &WindowForest::seed, "1"),
                      field("clock", &WindowForest::clock, "5"),
                      field("active", &WindowForest::active, "M"),
                      field("class_weight", &WindowForest::class_weight, "M"),
                      field("total_weight", &WindowForest::total_weight, "1"),
                      field("window", &WindowForest::window, "R p"),
                      field("window_class", &WindowForest::window_class, "R"),
                      field("window_weight", &WindowForest::window_weight, "R"),
                      field("place", &WindowForest::place, "17"),
                      field("log_weight", &WindowForest::log_weight, "2 16"),
                      field("tree_number", &WindowForest::tree_number, "17"),
                      field("n_nodes", &WindowForest::n_nodes, "17"),
                      field("n_leaves", &WindowForest::n_leaves, "17"),
                      field("feature", &WindowForest::feature, "17 N"),
                      field("threshold", &WindowForest::threshold, "17 N"),
                      field("child", &WindowForest::child, "17 N"),
                      field("slow_class", &WindowForest::slow_class, "17 L S"),
                      field("slow_count", &WindowForest::slow_count, "17 L S"),
                      field("slow_total", &WindowForest::slow_total, "17 L"),
                      field("recent", &WindowForest::recent, "17 L 8"),
                      field("origin", &WindowForest::origin, "17 L"),
                      field("fast_class", &WindowForest::fast_class, "17 L S"),
                      field("fast_count", &WindowForest::fast_count, "17 L S"),
                      field("fast_total", &WindowForest::fast_total, "17 L"),
                      field("order", &WindowForest::order, "W"),
                      field("node_first", &WindowForest::node_first, "N"),
                      field("node_end", &WindowForest::node_end, "N"),
                      field("node_depth", &WindowForest::node_depth, "N")};
  }

  // An initial forest, whose trees have one empty leaf each.
  static WindowForest begin(const Shape& shape, Vector<const bool> active, std::uint64_t seed);
  // Throw std::invalid_argument unless the sizes follow from W and M.
  void check() const;

  void score_rows(const Rows& rows, const Scores& scores) const override;
  // Uses slow counts in place of fast ones.
  void score_unordered(const Rows& rows, const Scores& scores) const override;
  void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) override;
  [[nodiscard]] Index outputs() const override { return 2; }
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return false; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;

  // The number of features p that trees read.
  [[nodiscard]] Index columns() const { return window.size(1); }
  // The slot of the growing tree.
  [[nodiscard]] Index growing() const { return place[forest::kTrees]; }
};

}  // namespace rpnb
