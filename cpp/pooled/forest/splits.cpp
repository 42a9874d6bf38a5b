#include "splits.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "../../random.h"
#include "../../simd.h"

namespace rpnb::forest {

// The random numbers of a node, of 32 bits each.
class SplitChooser::Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t tree, Index node) {
    const auto number = static_cast<std::uint64_t>(tree);
    const Counter bits =
        philox({0, static_cast<std::uint32_t>(node), static_cast<std::uint32_t>(number),
                static_cast<std::uint32_t>(number >> 32)},
               seed);
    at_ = bits[0];
    mask_ = bits[1];
  }

  std::uint32_t next() {
    std::uint32_t x = at_;
    at_ += 0x9E3779B9;
    x = (x ^ (x >> 16)) * 0x85EBCA6B;
    x = (x ^ (x >> 13)) * 0xC2B2AE35;
    return x ^ (x >> 16) ^ mask_;
  }

  // A number below `end`.
  Index below(Index end) {
    return static_cast<Index>((std::uint64_t{next()} * static_cast<std::uint64_t>(end)) >> 32);
  }

 private:
  std::uint32_t at_;
  std::uint32_t mask_;
};

SplitChooser::SplitChooser(const WindowForest& state, Workspace& space)
    : window_(state.window),
      window_class_(state.window_class),
      seed_(state.seed[0]),
      features_(space.take<Index>(state.columns())),
      chosen_(space.take<Index>(state.columns())),
      local_(space.take<std::int64_t>(state.classes())) {
  std::iota(features_.begin(), features_.end(), Index{0});
  local_.fill(-1);
}

void SplitChooser::take_sample(Vector<const std::int64_t> rows, Draws& draws) {
  const Index m = rows.size();
  sample_.size = std::min(m, kSampledRows);
  sample_.classes = 0;
  std::array<std::int64_t, kSampledRows> classes;
  for (Index r = 0; r < sample_.size; ++r) {
    const std::int64_t row = rows[m > kSampledRows ? draws.below(m) : r];
    sample_.rows[r] = window_[row].data();
    const std::int64_t y = window_class_[row];
    if (local_[y] < 0) {
      classes[sample_.classes] = y;
      sample_.members[sample_.classes] = 0;
      local_[y] = sample_.classes++;
    }
    sample_.members[local_[y]] |= std::uint64_t{1} << r;
  }
  sample_.squares = 0;
  for (Index c = 0; c < sample_.classes; ++c) {
    local_[classes[c]] = -1;
    const std::int64_t size = std::popcount(sample_.members[c]);
    sample_.shifted_sizes[c] = size << 32;
    sample_.squares += size * size;
  }
}

// Σ_c n_c²/n of the rows that go left, plus that of the others; −1 if either has no rows.
//
// It grows as the Gini impurity of the parts falls.
double SplitChooser::purity(std::uint64_t left) const {
  const std::int64_t n_left = std::popcount(left);
  const std::int64_t n_right = sample_.size - n_left;
  if (n_left == 0 || n_right == 0) return -1.0;
  // Σ_c count_c², and 2³² times Σ_c count_c·size_c: neither is more than 64², so one
  // multiplication serves both.
  std::int64_t sums = 0;
  for (Index c = 0; c < sample_.classes; ++c) {
    const std::int64_t count = std::popcount(left & sample_.members[c]);
    sums += count * (count + sample_.shifted_sizes[c]);
  }
  const std::int64_t left_squares = sums & 0xFFFFFFFF;
  const std::int64_t products = sums >> 32;
  const std::int64_t right_squares = sample_.squares - 2 * products + left_squares;
  return static_cast<double>(left_squares) / static_cast<double>(n_left) +
         static_cast<double>(right_squares) / static_cast<double>(n_right);
}

Split SplitChooser::choose(const SplitNode& node, Index n_features, Index thresholds) {
  if (n_features == 0) return {};
  Draws draws(seed_, node.tree, node.node);
  take_sample(node.rows, draws);
  const Index size = sample_.size;
  const Index n_thresholds = std::min(size - 1, (thresholds + n_features - 1) / n_features);
  const std::uint64_t everything = ~std::uint64_t{0} >> (kSampledRows - size);
  const Index p = features_.size();

  Split best;
  double best_purity = -1.0;
  std::array<double, kSampledRows> values;
  Index tried = 0;
  // Two pure parts have purity `size`, which is the maximum.
  while (tried < n_features && best_purity < static_cast<double>(size)) {
    const Index at = tried + draws.below(p - tried);
    chosen_[tried] = at;
    std::swap(features_[at], features_[tried]);
    const Index feature = features_[tried];
    ++tried;
    for (Index r = 0; r < size; ++r) values[r] = sample_.rows[r][feature];
    for (Index i = 0; i < n_thresholds; ++i) {
      const Index bits = draws.next();
      const double one = values[((bits & 255) * size) >> 8];
      const double other = values[(((bits >> 8) & 255) * size) >> 8];
      const double threshold = one + (other - one) * (static_cast<double>(bits >> 16) * 0x1p-16);
      std::uint64_t left = 0;
      for (Index r = 0; r < size; r += 8) left |= eight_below(&values[r], threshold) << r;
      const double found = purity(left & everything);
      if (found > best_purity) {
        best_purity = found;
        best = {feature, threshold};
      }
    }
  }
  while (tried > 0) {
    --tried;
    std::swap(features_[chosen_[tried]], features_[tried]);
  }
  return best;
}

}  // namespace rpnb::forest
