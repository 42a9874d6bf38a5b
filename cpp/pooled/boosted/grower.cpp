#include "grower.h"

#include "../../math.h"
#include "../../random.h"
#include "../../simd.h"
#include "../../workspace.h"

namespace rpnb::boosted {

namespace {

// Addresses of the draws, where a projection has the number of a feature (features.cpp).
constexpr std::uint64_t kDirections = std::uint64_t{5} << 40;
constexpr double kMostDirection = 1.5;
// No split gains less.
constexpr double kLeastGain = 1e-6;

// A sum of g and one of h ≥ 0 in one number, 2³² g + h.
std::int64_t pack(double g, double h) {
  return (static_cast<std::int64_t>(g) << 32) + static_cast<std::int64_t>(h);
}
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
  for (double bound = most; bound > 0x1p31 - static_cast<double>(plan.rows) - 1.0; bound /= 2.0) {
    unit_ /= 2.0;
  }
  direction_.assign(static_cast<std::size_t>(C_), 0.0);
  if (C_ > 1) {
    Workspace space;
    const auto words = space.take<std::int32_t>(plan.classes);
    const auto address = kDirections + static_cast<std::uint64_t>(plan.round);
    fill_feature_words(seed, address, plan.classes, words);
    const auto normal = space.take<double>(plan.classes);
    fill_normal(words, normal);
    for (Index c = 0; c < plan.classes; ++c) {
      direction_[c] = limit(0.5 * normal[c], -kMostDirection, kMostDirection);
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

// Set the margins (C,) of row i without the trees that are replaced.
void Grower::gather(const RowWindow& window, const std::vector<Tree>& trees, Index i,
                    double* margins) {
  const std::int32_t* const F = window.margin(plan_.first + i);
  const std::uint8_t* const leaves = window.leaves(plan_.first + i);
  for (Index c = 0; c < C_; ++c) margins[c] = F[c];
  for (const Index slot : plan_.replaced) {
    const std::int32_t* const value = trees[slot].value.data() + leaves[slot] * C_;
    for (Index c = 0; c < C_; ++c) margins[c] -= value[c];
  }
}

// P, g and h of up to 256 rows, which are then counted in the histogram of the root.
Index Grower::compute_gradients(const RowWindow& window, const std::vector<Tree>& trees) {
  const Index begin = cursor_;
  const Index end = std::min(begin + kBlockRows, plan_.rows);
  const Index n = end - begin;
  const Index Q = plan_.classes;
  Workspace space;
  const auto E = space.take<double>(n, C_);
  const auto negative = space.take<bool>(n);
  for (Index i = 0; i < n; ++i) {
    const Index row = plan_.first + begin + i;
    const std::uint8_t* const bins = window.bins(row);
    std::uint8_t* const own = columns_.data() + (begin + i) * width_;
    if (width_ == window.features()) {
      std::copy_n(bins, width_, own);
    } else {
      for (Index f = 0; f < width_; ++f) own[f] = bins[plan_.features[f]];
    }
    order_[begin + i] = static_cast<std::uint32_t>(begin + i);
    double* const e = E[i].data();
    gather(window, trees, begin + i, e);
    if (C_ == 1) {
      negative[i] = e[0] < 0.0;
      e[0] = -std::abs(e[0] / kSteps);
    } else {
      double highest = e[0];
      for (Index c = 1; c < Q; ++c) highest = std::max(highest, e[c]);
      for (Index c = 0; c < Q; ++c) e[c] = (e[c] - highest) / kSteps;
      for (Index c = Q; c < C_; ++c) e[c] = 0.0;
    }
  }
  fill_exponentials(E.reshaped(n * C_));
  for (Index i = 0; i < n; ++i) {
    const Index row = plan_.first + begin + i;
    const Index y = window.label(row);
    const double weight = static_cast<double>(window.weight(row)) / kWeightSteps * unit_;
    double* const e = E[i].data();
    if (C_ == 1) {
      const double P = (negative[i] ? e[0] : 1.0) / (1.0 + e[0]);
      gradient_[begin + i] =
          pack(rounded(weight * (P - static_cast<double>(y))), rounded(weight * (P * (1.0 - P))));
      continue;
    }
    for (Index c = Q; c < C_; ++c) e[c] = 0.0;
    Doubles lanes = repeat(0.0);
    for (Index c = 0; c < C_; c += kDoubles) lanes += load(e + c);
    const double total = sum(lanes);
    Doubles mean = repeat(0.0);
    Doubles square = repeat(0.0);
    float* const P = probability_.data() + (begin + i) * C_;
    for (Index c = 0; c < C_; c += kDoubles) {
      const Doubles share = load(e + c) / repeat(total);
      const HalfSingles narrow = narrowed(share);
      std::memcpy(P + c, &narrow, sizeof narrow);
      const Doubles u = load(direction_.data() + c);
      const Doubles part = u * share;
      mean += part;
      square += u * part;
    }
    const double m = sum(mean);
    const double h = std::max(sum(square) - m * m, 0.0);
    gradient_[begin + i] = pack(rounded(weight * (m - direction_[y])), rounded(weight * h));
  }
  std::int64_t total = 0;
  for (Index i = begin; i < end; ++i) total += gradient_[i];
  parts_[0].total += total;
  add_rows(histogram(0), order_.data() + begin, n);
  cursor_ = end;
  if (end == plan_.rows) {
    phase_ = Phase::kScan;
    current_ = 0;
    other_ = 0;
  }
  return n * (10 + 5 * C_ + 2 * width_);
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
  return 100 + 2 * bins_;
}

// Choose the part that is split next.
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
  return 50 + 3 * n;
}

// Make two parts of the one whose rows have been moved.
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

// Count up to 256 rows of the smaller part; at the end the larger one is what is left.
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
  return 30 + n * (3 + (C_ == 1 ? 0 : 2 * C_));
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
