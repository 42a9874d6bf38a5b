#include "sizes.h"

#include <algorithm>

namespace rpnb::forest {

Index read_columns(const Shape& shape) { return shape.p <= kWidest ? shape.p : shape.d; }

Index window_rows(Index p, Index window) {
  const Index wanted = window > 0 ? window : *std::max_element(kSpans.begin(), kSpans.end());
  const Index most = std::max(kLeastWindow, kWindowValues / std::max(p, Index{1}));
  return std::max(Index{1}, std::min(wanted, most));
}

Index kept_rows(Index W) { return W + W / 32 + 3; }

Index most_leaves(Index W) { return std::min(kMostLeaves, W); }

Index listed_classes(Index M) { return std::max(Index{1}, std::min(M, kListedClasses)); }

Index tried_features(Index p) {
  Index root = kLeastFeatures;
  while (root * root < p) ++root;
  return std::min(p, root);
}

Index units_per_row(Index p, Index W) {
  const Index features = tried_features(p);
  const Index thresholds = kThresholds + features;
  const Index per_level = W * (2 + features);
  const Index per_node = 256 + 16 * thresholds;
  const Index most = (kMostDepth + 1) * per_level + 2 * most_leaves(W) * per_node;
  return most / (W / 32 + 1) + 1;
}

}  // namespace rpnb::forest
