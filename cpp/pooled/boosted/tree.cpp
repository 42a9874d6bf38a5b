#include "tree.h"

namespace rpnb::boosted {

namespace {

// Descents that run side by side: a step down has to wait for the one before, and these
// waits overlap.
constexpr int kSideBySide = 16;

struct Descent {
  const Node* nodes;
  const float* x;
  Index node;
};

}  // namespace

Index Tree::split(Index node, Index at, Index feature, float threshold, Index last_bin) {
  const Index child = n_nodes;
  nodes[node] = {threshold, static_cast<std::uint16_t>(feature), static_cast<std::uint16_t>(child)};
  bin[node] = static_cast<std::uint8_t>(last_bin);
  for (Index side = 0; side < 2; ++side) {
    nodes[child + side] = Node{};
    nodes[child + side].child = static_cast<std::uint16_t>(child + side);
  }
  leaf[child] = leaf[node];
  leaf[child + 1] = static_cast<std::uint8_t>(n_leaves);
  n_nodes += 2;
  n_leaves += 1;
  depth = std::max(depth, at + 1);
  return child;
}

Index Tree::find_leaf(const std::uint8_t* bins) const {
  Index node = 0;
  while (nodes[node].child != node) {
    node = nodes[node].child + static_cast<Index>(bins[nodes[node].feature] > bin[node]);
  }
  return leaf[node];
}

void find_leaves(const std::vector<Tree>& trees, const std::vector<Index>& slots,
                 Matrix<const float> X, Matrix<std::uint8_t> leaves) {
  const Index n = X.size();
  const Index p = X.size(1);
  const Index total = n * static_cast<Index>(slots.size());
  Index r = 0;
  Index t = 0;
  for (Index done = 0; done < total; done += kSideBySide) {
    const Index count = std::min<Index>(kSideBySide, total - done);
    std::array<Descent, kSideBySide> descents;
    const Index first_row = r;
    const Index first_tree = t;
    Index depth = 0;
    for (Index i = 0; i < kSideBySide; ++i) {
      if (i < count) {
        const Tree& tree = trees[slots[t]];
        descents[i] = {tree.nodes.data(), X.data() + r * p, 0};
        depth = std::max(depth, tree.depth);
        if (++r == n) {
          r = 0;
          ++t;
        }
      } else {
        descents[i] = descents[0];  // padding, ignored
      }
    }
    for (; depth > 0; --depth) {
      for (Descent& at : descents) {
        const Node node = at.nodes[at.node];
        at.node = node.child + static_cast<Index>(at.x[node.feature] > node.threshold);
      }
    }
    r = first_row;
    t = first_tree;
    for (Index i = 0; i < count; ++i) {
      const Index slot = slots[t];
      leaves(r, slot) = trees[slot].leaf[descents[i].node];
      if (++r == n) {
        r = 0;
        ++t;
      }
    }
  }
}

}  // namespace rpnb::boosted
