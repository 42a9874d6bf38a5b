#include "descents.h"

namespace rpnb::forest {

namespace {

// Descents that run side by side. A step down has to wait for the one before, and these
// waits overlap. The number of descents, rows times trees, is a multiple of this.
constexpr int kSideBySide = 16;
static_assert(kTrees % kSideBySide == 0);

// A row descending a tree.
struct Descent {
  const double* x;
  Index root;  // of the tree, counted over the nodes of all trees, as is
  Index node;  // where the row is
  Index depth;
};

// Continue from row r in tree j to the next of n rows, and then to the next tree.
void next_row(Index n, Index& r, Index& j) {
  if (++r == n) {
    r = 0;
    ++j;
  }
}

}  // namespace

Index find_leaf(const WindowForest& state, Index k, Vector<const double> x) {
  const auto child = state.child[k];
  const auto feature = state.feature[k];
  const auto threshold = state.threshold[k];
  Index node = 0;
  for (Index step = child[0]; step >= 0; step = child[node]) {
    node = step + (x[feature[node]] <= threshold[node] ? 0 : 1);
  }
  return node;
}

void find_leaves(const WindowForest& state, Matrix<const double> X, Leaves& leaves) {
  const Index n = X.size();
  const Index p = X.size(1);
  const Index N = state.child.size(1);
  const Index L = state.origin.size(1);
  const std::int32_t* const child = state.child.data();
  const std::int32_t* const feature = state.feature.data();
  const double* const threshold = state.threshold.data();
  const std::int32_t* const origin = state.origin.data();
  Index r = 0;
  Index j = 0;
  for (Index done = 0; done < n * kTrees; done += kSideBySide) {
    std::array<Descent, kSideBySide> descents;
    const Index first_row = r;
    const Index first_tree = j;
    Index all_steps = -1;
    for (Descent& at : descents) {
      const Index root = state.place[j] * N;
      at = {X.data() + r * p, root, root, 0};
      all_steps &= child[root];
      next_row(n, r, j);
    }
    // Each descent waits at its leaf for the others. No branch depends on which way a row
    // goes or on which rows wait: nobody could predict it.
    while (all_steps >= 0) {
      all_steps = -1;
      for (Descent& at : descents) {
        const Index step = child[at.node];
        const Index waits = step >> 63;  // all bits set at a leaf
        const auto right = static_cast<Index>(!(at.x[feature[at.node]] <= threshold[at.node]));
        at.node += ~waits & (at.root + step + right - at.node);
        at.depth += 1 + waits;
        all_steps &= step;
      }
    }
    r = first_row;
    j = first_tree;
    for (const Descent& at : descents) {
      leaves.nodes[r][j] = static_cast<std::int32_t>(at.node - at.root);
      leaves.depths[r][j] = static_cast<std::int32_t>(at.depth);
      __builtin_prefetch(origin + state.place[j] * L - 1 - child[at.node], 1);
      next_row(n, r, j);
    }
  }
}

void settle(const WindowForest& state, Vector<const double> x, Index r, Leaves& leaves) {
  for (Index j = 0; j < kTrees; ++j) {
    const Index k = state.place[j];
    const auto child = state.child[k];
    Index node = leaves.nodes[r][j];
    Index step = child[node];
    while (step >= 0) {
      node = step + (x[state.feature(k, node)] <= state.threshold(k, node) ? 0 : 1);
      step = child[node];
      leaves.nodes[r][j] = static_cast<std::int32_t>(node);
      ++leaves.depths[r][j];
    }
    leaves.numbers[j] = static_cast<std::int32_t>(-1 - step);
  }
}

}  // namespace rpnb::forest
