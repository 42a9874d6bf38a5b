// Trees of up to 127 leaves with a value for each margin, and the descent of rows in
// them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sizes.h"

namespace rpnb::boosted {

// A row goes to the right child, child + 1, if its feature is greater than the threshold,
// and otherwise to child, so missing values go left. A leaf is its own left child, and no
// value is greater than its threshold, so a row stays there.
struct Node {
  float threshold = std::numeric_limits<float>::max();
  std::uint16_t feature = 0;
  std::uint16_t child = 0;
};

struct Tree {
  std::array<Node, kMostNodes> nodes;
  std::array<std::uint8_t, kMostNodes> bin{};   // the last bin that goes left
  std::array<std::uint8_t, kMostNodes> leaf{};  // number of a leaf
  Index n_nodes = 1;
  Index n_leaves = 1;
  Index depth = 0;
  std::int64_t born = -1;           // the round that grew it; −1 for no tree
  std::vector<std::int32_t> value;  // (n_leaves, C) in units of 1/kSteps

  [[nodiscard]] bool in_use() const { return born >= 0; }

  // Split the node, which is leaf `number`, at depth `at`; the right part is a new leaf.
  Index split(Index node, Index at, Index feature, float threshold, Index last_bin);
  // The leaf of a row by its bins.
  [[nodiscard]] Index find_leaf(const std::uint8_t* bins) const;
};

// Set leaves (n, kMostTrees) of rows X (n, p) in the trees in these slots.
void find_leaves(const std::vector<Tree>& trees, const std::vector<Index>& slots,
                 Matrix<const float> X, Matrix<std::uint8_t> leaves);

}  // namespace rpnb::boosted
