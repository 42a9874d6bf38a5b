// Growth of the trees of a window forest: a few nodes with each row.
//
// A tree grows breadth first from the last n rows at its start. A node of more than one
// class is split (splits.h), unless the tree has reached its largest depth or number of
// nodes.
//
// Each row that is learned pays for a fixed number of units of this work. A tree
// therefore takes at most W/32 + 2 rows to grow; it then learns the rows that arrived in
// the meantime, replaces the tree with the least weight, and starts with the mean weight
// of all. If that tree was one of the two newest, older trees are better, as on a stream
// without drift, and the next tree waits twice as long.
//
// A leaf keeps the numbers of its last eight rows. When a row arrives whose class is not
// the leaf's most frequent one, the leaf is split by the same rule, with fewer features,
// on those of its rows that are still in the window, if there are at least four. Slow
// counts start again in the two parts; fast counts remain those of the original leaf.
#pragma once

#include "leaves.h"
#include "splits.h"

namespace rpnb::forest {

// Grows the trees of a forest while rows are learned.
class Grower {
 public:
  // The forest and the working memory must outlive the grower.
  Grower(WindowForest& state, Workspace& space);

  // Split the leaves that a row surprised, on their recent rows, where possible.
  //
  // The row is the r-th one found, settled last and learned since.
  void refine(const Leaves& leaves, Index r, const std::array<bool, kTrees>& surprised);

  // Do the work that one row pays for, if a tree is growing or due, and finish its node.
  //
  // Returns whether a tree was replaced, so that leaves must be found again.
  bool grow();

 private:
  void start_tree();
  void grow_nodes();
  void divide(Index k, Index node, Vector<std::int64_t> rows, const Split& split);
  void make_leaf(Index k, Index node, Vector<const std::int64_t> rows);
  void finish_tree();
  void refine_leaf(Index k, Index node, Index leaf);

  // Whether the tree in slot k may get another two nodes.
  [[nodiscard]] bool has_room(Index k) const {
    return state_.n_nodes[k] + 2 <= state_.child.size(1);
  }
  [[nodiscard]] bool is_pure(Vector<const std::int64_t> rows) const;
  Index split_rows(Vector<std::int64_t> rows, const Split& split);
  Index add_children(Index k, Index node, const Split& split);

  WindowForest& state_;
  SplitChooser splits_;
  Vector<std::int64_t> moved_;  // (W + 8,)
  Index units_;
  Index n_features_;
};

}  // namespace rpnb::forest
