#include "grower.h"

#include "../../random.h"
#include "../../simd.h"
#include "../../workspace.h"
#include "exponentials.h"

namespace rpnb::boosted {

namespace {

// Addresses of the draws, in place of the numbers of features of a projection
// (features.cpp).
constexpr std::uint64_t kDirections = std::uint64_t{5} << 40;
constexpr double kMostDirection = 1.5;
// Smallest gain of a split.
constexpr double kLeastGain = 1e-6;

// Sums of g and of h ≥ 0 are one number, 2³² Σ g + Σ h.
double second(std::int64_t packed) { return static_cast<double>(packed & 0xFFFFFFFF); }
double first(std::int64_t packed) {
  return static_cast<double>((packed - (packed & 0xFFFFFFFF)) >> 32);
}

double rounded(double x) { return std::floor(x + 0.5); }

}  // namespace

void Grower::begin(const Plan& plan, const RowWindow& window, const Cuts& cuts,
                   std::uint64_t seed) {
  plan_ = plan;
  phase_ = Phase::kGradient;
  cursor_ = 0;
  C_ = window.margins();
  width_ = static_cast<Index>(plan.features.size());
  offset_.assign(1, 0);
  for (const std::int32_t j : plan.features) offset_.push_back(offset_.back() + cuts.count(j) + 2);
  bins_ = offset_.back();
  // The sums of g, |g| ≤ 3ω, must fit into 31 bits, with half a unit more for each row.
  const double most =
      3.0 * kGradientSteps * (static_cast<double>(window.total_weight()) / kWeightSteps);
  unit_ = kGradientSteps;
  const double largest = 0x1p31 - static_cast<double>(plan.rows) - 1.0;
  while (most * (unit_ / kGradientSteps) > largest) unit_ /= 2.0;
  direction_.assign(static_cast<std::size_t>(C_), 0.0F);
  if (C_ > 1) {
    Workspace space;
    const auto words = space.take<std::int32_t>(plan.classes);
    const auto address = kDirections + static_cast<std::uint64_t>(plan.round);
    fill_feature_words(seed, address, plan.classes, words);
    const auto normal = space.take<double>(plan.classes);
    fill_normal(words, normal);
    for (Index c = 0; c < plan.classes; ++c) {
      direction_[c] = static_cast<float>(limit(0.5 * normal[c], -kMostDirection, kMostDirection));
    }
  }
  tree_ = Tree{};
  tree_.born = plan.round;
  tree_.value.assign(static_cast<std::size_t>(plan.leaves * C_), 0);
  parts_.clear();
  parts_.reserve(static_cast<std::size_t>(plan.leaves));
  parts_.push_back({.end = plan.rows});
  const Index room =
      plan.rows > columns_.size() / std::max(width_, Index{1}) || plan.rows > gradient_.size()
          ? plan.rows + plan.rows / 2
          : plan.rows;
  columns_.make_room(room * width_);
  gradient_.make_room(room);
  if (C_ > 1) probability_.make_room(room * C_);
  order_.make_room(room);
  moved_.make_room(room);
  row_leaf_.make_room(room);
  histograms_.make_room(plan.leaves * bins_);
  std::fill_n(histogram(0), bins_, 0);
}

Index Grower::step(const RowWindow& window, const Cuts& cuts, const std::vector<Tree>& trees) {
  switch (phase_) {
    case Phase::kGradient:
      return compute_gradients(window, trees);
    case Phase::kScan:
      return scan();
    case Phase::kPick:
      return pick();
    case Phase::kPartition:
      return partition(cuts);
    case Phase::kHistogram:
      return add_histogram();
    case Phase::kValues:
      return sum_values(window);
    default:
      return 0;
  }
}

// Set F (C, n), the margins of n rows of a block without the trees that are replaced.
void Grower::find_margins(const Block& block, const std::vector<Tree>& trees, Index at,
                          Matrix<std::int32_t> F) const {
  const Index n = F.size(1);
  for (Index c = 0; c < C_; ++c) {
    std::copy_n(block.margin.data() + c * kBlockRows + at, n, F[c].data());
  }
  const std::uint8_t* const leaves = block.leaf.data() + at * kMostTrees;
  std::array<std::int32_t, kBlockRows> places;
  const auto size = static_cast<std::int32_t>(C_);
  for (const Index slot : plan_.replaced) {
    for (Index i = 0; i < n; ++i) places[i] = size * leaves[i * kMostTrees + slot];
    for (Index c = 0; c < plan_.classes && c < C_; ++c) {
      const std::int32_t* const value = trees[slot].value.data() + c;
      std::int32_t* const own = F[c].data();
      for (Index i = 0; i < n; ++i) own[i] -= value[places[i]];
    }
  }
}

// P, g and h of the rows of a block, which are then counted in the histogram of the root.
Index Grower::compute_gradients(const RowWindow& window, const std::vector<Tree>& trees) {
  const Index row = plan_.first + cursor_;
  const Index at = RowWindow::at(row);
  const Index n = std::min(kBlockRows - at, plan_.rows - cursor_);
  const Index Q = plan_.classes;
  const Block& block = window.block(row);
  Workspace space;
  const auto F = space.take<std::int32_t>(C_, n);
  find_margins(block, trees, at, F);
  const auto E = space.take<float>(C_ == 1 ? Index{1} : Q, n);
  const auto g = space.take<float>(n);
  const auto h = space.take<float>(n);
  const auto* const y = block.label.data() + at;
  constexpr auto kStep = static_cast<float>(1.0 / boosted::kSteps);
  if (C_ == 1) {
    for (Index i = 0; i < n; ++i) E(0, i) = -std::abs(static_cast<float>(F(0, i)) * kStep);
    fill_exponentials(E[0]);
    for (Index i = 0; i < n; ++i) {
      const float e = E(0, i);
      const float P = (F(0, i) < 0 ? e : 1.0F) / (1.0F + e);
      g[i] = P - static_cast<float>(y[i]);
      h[i] = P * (1.0F - P);
    }
  } else {
    const auto highest = space.take<std::int32_t>(n);
    const auto total = space.take_zeros<float>(n);
    std::copy_n(F[0].data(), n, highest.data());
    for (Index c = 1; c < Q; ++c) {
      for (Index i = 0; i < n; ++i) highest[i] = std::max(highest[i], F(c, i));
    }
    for (Index c = 0; c < Q; ++c) {
      const auto e = E[c];
      for (Index i = 0; i < n; ++i) e[i] = static_cast<float>(F(c, i) - highest[i]) * kStep;
      fill_exponentials(e);
      for (Index i = 0; i < n; ++i) total[i] += e[i];
    }
    g.fill(0.0F);
    h.fill(0.0F);
    for (Index c = 0; c < Q; ++c) {
      const float u = direction_[c];
      const auto e = E[c];
      for (Index i = 0; i < n; ++i) {
        e[i] /= total[i];
        const float part = u * e[i];
        g[i] += part;
        h[i] += u * part;
      }
    }
    float* const P = probability_.data() + cursor_ * C_;
    for (Index i = 0; i < n; ++i) {
      for (Index c = 0; c < Q; ++c) P[i * C_ + c] = E(c, i);
      for (Index c = Q; c < C_; ++c) P[i * C_ + c] = 0.0F;
    }
    for (Index i = 0; i < n; ++i) {
      h[i] = std::max(h[i] - g[i] * g[i], 0.0F);
      g[i] -= direction_[y[i]];
    }
  }
  std::int64_t total = 0;
  const auto unit = static_cast<float>(unit_ / kWeightSteps);
  for (Index i = 0; i < n; ++i) {
    const float weight = static_cast<float>(block.weight[at + i]) * unit;
    const auto slope = static_cast<std::int64_t>(std::floor(weight * g[i] + 0.5F));
    const auto spread = static_cast<std::int64_t>(std::floor(weight * h[i] + 0.5F));
    gradient_[cursor_ + i] = (slope << 32) + spread;
    total += gradient_[cursor_ + i];
  }
  parts_[0].total += total;
  // The bins that the tree may read, and the rows in their order.
  const std::uint8_t* const bins = block.bins.data() + at * window.features();
  std::uint8_t* const own = columns_.data() + cursor_ * width_;
  if (width_ == window.features()) {
    std::copy_n(bins, n * width_, own);
  } else {
    for (Index i = 0; i < n; ++i) {
      for (Index f = 0; f < width_; ++f) {
        own[i * width_ + f] = bins[i * window.features() + plan_.features[f]];
      }
    }
  }
  for (Index i = 0; i < n; ++i) order_[cursor_ + i] = static_cast<std::uint32_t>(cursor_ + i);
  add_rows(histogram(0), order_.data() + cursor_, n);
  cursor_ += n;
  if (cursor_ == plan_.rows) {
    phase_ = Phase::kScan;
    current_ = 0;
    other_ = 0;
  }
  return 50 + n * (2 + C_ + 2 * width_);
}

void Grower::add_rows(std::int64_t* histogram, const std::uint32_t* rows, Index count) {
  const Index* const offset = offset_.data();
  for (Index i = 0; i < count; ++i) {
    const Index row = rows[i];
    const std::uint8_t* const bins = columns_.data() + row * width_;
    const std::int64_t packed = gradient_[row];
    for (Index f = 0; f < width_; ++f) histogram[offset[f] + bins[f]] += packed;
  }
}

bool Grower::may_split(const Part& part) const {
  return part.depth < kMostDepth && second(part.total) >= 2.0 * kLeastCurvature * unit_;
}

// Find the best split of a part by its histogram.
Index Grower::scan() {
  Part& part = parts_[current_];
  const double ridge = kRidge * unit_;
  const double least = kLeastCurvature * unit_;
  const double G = first(part.total);
  const double H = second(part.total);
  const double whole = G * G / (H + ridge);
  double best = whole + kLeastGain * unit_;
  const std::int64_t* const counts = histogram(part.histogram);
  for (Index f = 0; f < width_; ++f) {
    std::int64_t left = 0;
    for (Index b = offset_[f]; b + 1 < offset_[f + 1]; ++b) {
      if (counts[b] == 0) continue;  // the same split as before
      left += counts[b];
      const double H_left = second(left);
      const double H_right = H - H_left;
      if (H_left < least) continue;
      if (H_right < least) break;
      const double G_left = first(left);
      const double G_right = G - G_left;
      const double gain =
          G_left * G_left / (H_left + ridge) + G_right * G_right / (H_right + ridge);
      if (gain > best) {
        best = gain;
        part.gain = gain - whole;
        part.feature = f;
        part.bin = b - offset_[f];
        part.left = left;
      }
    }
  }
  if (current_ != other_ && may_split(parts_[other_])) {
    current_ = other_;
  } else {
    phase_ = Phase::kPick;
  }
  return 300 + 2 * bins_;
}

// Choose the part to split next.
Index Grower::pick() {
  const auto count = static_cast<Index>(parts_.size());
  Index best = -1;
  if (count < plan_.leaves) {
    for (Index l = 0; l < count; ++l) {
      if (parts_[l].gain > (best < 0 ? 0.0 : parts_[best].gain)) best = l;
    }
  }
  if (best < 0) {
    phase_ = Phase::kValues;
    current_ = 0;
    cursor_ = 0;
    slope_.assign(static_cast<std::size_t>(C_), 0.0);
    curvature_.assign(static_cast<std::size_t>(C_), 0.0);
  } else {
    phase_ = Phase::kPartition;
    current_ = best;
    cursor_ = parts_[best].first;
    lefts_ = 0;
    rights_ = 0;
  }
  return 20 + count;
}

// Move up to 1,024 rows of the part to the left or to the right, in their order.
Index Grower::partition(const Cuts& cuts) {
  const Part& part = parts_[current_];
  const Index stop = std::min(cursor_ + 4 * kBlockRows, part.end);
  const Index n = stop - cursor_;
  std::uint32_t* const order = order_.data();
  std::uint32_t* const moved = moved_.data();
  const std::uint8_t* const column = columns_.data() + part.feature;
  const auto last = static_cast<std::uint8_t>(part.bin);
  Index left = part.first + lefts_;
  Index right = rights_;
  for (Index i = cursor_; i < stop; ++i) {
    const std::uint32_t row = order[i];
    const bool goes_right = column[static_cast<Index>(row) * width_] > last;
    order[left] = row;
    moved[right] = row;
    left += static_cast<Index>(!goes_right);
    right += static_cast<Index>(goes_right);
  }
  lefts_ = left - part.first;
  rights_ = right;
  cursor_ = stop;
  if (stop == part.end) {
    std::copy_n(moved, rights_, order + left);
    divide(cuts);
  }
  return 50 + 2 * n;
}

// Split the part whose rows have been moved into two.
void Grower::divide(const Cuts& cuts) {
  Part& part = parts_[current_];
  const std::int32_t j = plan_.features[part.feature];
  const Index child = tree_.split(part.node, part.depth, j, cuts.threshold(j, part.bin), part.bin);
  other_ = static_cast<Index>(parts_.size());
  const Index middle = part.first + lefts_;
  const Part right{.first = middle,
                   .end = part.end,
                   .node = child + 1,
                   .depth = part.depth + 1,
                   .histogram = other_,
                   .total = part.total - part.left};
  part = {.first = part.first,
          .end = middle,
          .node = child,
          .depth = part.depth + 1,
          .histogram = part.histogram,
          .total = part.left};
  parts_.push_back(right);
  const bool last = static_cast<Index>(parts_.size()) == plan_.leaves;
  if (last || (!may_split(parts_[current_]) && !may_split(parts_[other_]))) {
    phase_ = Phase::kPick;
    return;
  }
  // The histogram of the parent becomes that of the larger part.
  phase_ = Phase::kHistogram;
  if (lefts_ < rights_) std::swap(parts_[current_].histogram, parts_[other_].histogram);
  const Part& smaller = parts_[lefts_ < rights_ ? current_ : other_];
  cursor_ = smaller.first;
  std::fill_n(histogram(smaller.histogram), bins_, 0);
}

// Count up to 256 rows of the smaller part; at the end, subtract it to get the larger
// one.
Index Grower::add_histogram() {
  const bool left = lefts_ < rights_;
  const Part& smaller = parts_[left ? current_ : other_];
  const Part& larger = parts_[left ? other_ : current_];
  const Index stop = std::min(cursor_ + kBlockRows, smaller.end);
  const Index n = stop - cursor_;
  add_rows(histogram(smaller.histogram), order_.data() + cursor_, n);
  cursor_ = stop;
  if (stop < smaller.end) return n * (2 + width_);
  const std::int64_t* const counted = histogram(smaller.histogram);
  std::int64_t* const rest = histogram(larger.histogram);
  for (Index b = 0; b < bins_; ++b) rest[b] -= counted[b];
  phase_ = Phase::kScan;
  if (!may_split(parts_[current_])) std::swap(current_, other_);
  return n * (2 + width_) + bins_;
}

// Add up to 256 rows to the sums of their leaf's values.
Index Grower::sum_values(const RowWindow& window) {
  const Part& part = parts_[current_];
  const Index stop = std::min(part.first + cursor_ + kBlockRows, part.end);
  const Index n = stop - part.first - cursor_;
  for (Index i = part.first + cursor_; i < stop; ++i) {
    const Index row = order_[i];
    row_leaf_[row] = static_cast<std::uint8_t>(tree_.leaf[part.node]);
    if (C_ == 1) continue;
    const double weight = static_cast<double>(window.weight(plan_.first + row)) / kWeightSteps;
    const Doubles w = repeat(weight);
    const float* const P = probability_.data() + row * C_;
    for (Index c = 0; c < C_; c += kDoubles) {
      const Doubles share = load_widened(P + c);
      const Doubles part_of = w * share;
      store(slope_.data() + c, load(slope_.data() + c) + part_of);
      store(curvature_.data() + c, load(curvature_.data() + c) + part_of * (repeat(1.0) - share));
    }
    slope_[window.label(plan_.first + row)] -= weight;
  }
  cursor_ += n;
  if (stop == part.end) {
    set_value(current_);
    cursor_ = 0;
    ++current_;
    if (current_ == static_cast<Index>(parts_.size())) {
      tree_.value.resize(static_cast<std::size_t>(tree_.n_leaves * C_));
      phase_ = Phase::kDone;
    }
  }
  return 30 + n * (C_ == 1 ? 2 : 8 + C_);
}

void Grower::set_value(Index l) {
  const Part& part = parts_[l];
  const double rate = shrinkage_for(plan_.classes);
  std::int32_t* const value = tree_.value.data() + tree_.leaf[part.node] * C_;
  const auto as_steps = [](double v) {
    return static_cast<std::int32_t>(rounded(limit(v, -kMostValue, kMostValue) * kSteps));
  };
  if (C_ == 1) {
    value[0] = as_steps(-rate * first(part.total) / (second(part.total) + kRidge * unit_));
    return;
  }
  const auto Q = static_cast<double>(plan_.classes);
  for (Index c = 0; c < plan_.classes; ++c) {
    value[c] = as_steps(-rate * slope_[c] / (curvature_[c] * (Q / (Q - 1.0)) + kRidge));
    slope_[c] = 0.0;
    curvature_[c] = 0.0;
  }
}

}  // namespace rpnb::boosted
