// How the trees of a window forest grow: a few nodes with each row.
//
// A tree grows breadth first from the last n rows, as they are when it starts. A node of
// more than one class is split, unless it is at the greatest depth or the tree has the
// greatest number of nodes; splits.h says how.
//
// Each row that is learned pays for a fixed number of units of this work. A tree therefore
// takes at most W/32 + 2 rows to grow; it then learns the rows that came in the meantime,
// replaces the tree with the least weight, and starts with the mean weight of all. If that
// tree was one of the two newest, older trees are better, as on a stream without drift,
// and the next tree waits twice as long.
//
// A leaf remembers its last eight rows. When a row arrives whose class is not the leaf's
// most frequent one, the leaf is split by the same rule on those of them that the window
// still has, if these are four or more, with fewer features tried. Slow counts begin again
// in the two parts; fast counts stay those of the leaf as it was grown.
#pragma once

#include "leaves.h"
#include "splits.h"

namespace rpnb::forest {

// Grows the trees of a forest while rows are learned.
class Grower {
 public:
  // The forest and the working memory must stay in use as long as the grower is.
  Grower(WindowForest& state, Workspace& space);

  // Split the leaves that a row surprised by their recent rows, where that can be.
  //
  // It is row r of those found, settled last and learned since.
  void refine(const Leaves& leaves, Index r, const std::array<bool, kTrees>& surprised);

  // Do what one row pays for, if a tree is growing or due, and the rest of a node.
  //
  // Says whether a tree was replaced, so that leaves must be found again.
  bool grow();

 private:
  void start_tree();
  void grow_nodes();
  void divide(Index k, Index node, Vector<std::int64_t> rows, const Split& split);
  void make_leaf(Index k, Index node, Vector<const std::int64_t> rows);
  void finish_tree();
  void refine_leaf(Index k, Index node, Index leaf);

  // Whether the tree at place k may have another two nodes.
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
