#include "splits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../math.h"
#include "../workspace.h"
#include "leaves.h"

namespace rpnb::trees {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Both sides of a split hold more than this share of the weight.
constexpr double kSmallestShare = 0.01;
constexpr double kRootHalf = 0.7071067811865476;
constexpr double kLogTwo = 0.6931471805599453;

// w·log w, 0 at 0.
double times_log(double weight) { return weight > 0.0 ? weight * log(weight) : 0.0; }

// The entropy, in bits, of classes with these weights.
double entropy(Vector<const double> weights, double total) {
  double value = times_log(total);
  for (const double weight : weights) value -= times_log(weight);
  return value / (total * kLogTwo);
}

// σ of attribute j in class m; rounding may leave S below 0.
double deviation_of(const LeafMoments& observed, Index leaf, Index m, Index j) {
  return std::sqrt(std::max(variance_of(observed, leaf, m, j), 0.0));
}

// What is computed once for all thresholds of an attribute, or once for all attributes.
struct Candidates {
  double before;              // entropy at the leaf
  Vector<double> whole;       // W·log W of each class that has a slot
  Vector<double> deviations;  // σ of the attribute in each of these classes
};

// The entropy left after a split of attribute j at z: the mean of the two sides' entropies,
// weighted, in bits; ∞ if one of the sides is too small.
double remaining_entropy(const LeafMoments& observed, Index leaf, Index j, double z,
                         const Candidates& candidates) {
  double left = 0.0;
  double right = 0.0;
  double value = 0.0;
  for (Index m = 0; m < candidates.whole.size(); ++m) {
    const double weight = observed.weight(leaf, m);
    const double below = weight_below(observed, leaf, m, j, z, candidates.deviations[m]);
    left += below;
    right += weight - below;
    if (below == 0.0 || below == weight) {
      value -= candidates.whole[m];
    } else {
      value -= times_log(below) + times_log(weight - below);
    }
  }
  const double total = left + right;
  if (!(std::min(left, right) > kSmallestShare * total)) return kInfinity;
  return (value + times_log(left) + times_log(right)) / (total * kLogTwo);
}

struct Threshold {
  double merit;
  double place;  // NaN if none lies strictly inside the range of the attribute
};

// The highest merit on attribute j and its threshold, the first of equals.
Threshold best_threshold(const LeafMoments& observed, Index leaf, Index j, Index bins,
                         const Candidates& candidates) {
  double low = kInfinity;
  double high = -kInfinity;
  for (Index m = 0; m < candidates.whole.size(); ++m) {
    candidates.deviations[m] = deviation_of(observed, leaf, m, j);
    if (observed.weight(leaf, m) > 0.0) {
      low = std::min(low, observed.low(leaf, m, j));
      high = std::max(high, observed.high(leaf, m, j));
    }
  }
  Threshold best{-kInfinity, std::numeric_limits<double>::quiet_NaN()};
  for (Index i = 1; i <= bins; ++i) {
    const double z =
        (high - low) / (static_cast<double>(bins) + 1.0) * static_cast<double>(i) + low;
    const bool is_inside = low < z && z < high;
    if (!is_inside) continue;
    const double merit = candidates.before - remaining_entropy(observed, leaf, j, z, candidates);
    if (std::isnan(best.place) || merit > best.merit) best = {merit, z};
  }
  return best;
}

// The number of slots on either side of a split.
struct Slots {
  Index left;
  Index right;
};

// Set `left` and `right` (M,) to the class weights where attribute j ≤ z and > z.
//
// A class has a slot on a side unless its range lies entirely on the other.
Slots divide_classes(const LeafMoments& observed, Index leaf, Index j, double z,
                     Vector<double> left, Vector<double> right) {
  Slots slots{0, 0};
  for (Index m = 0; m < left.size(); ++m) {
    const double weight = observed.weight(leaf, m);
    left[m] = weight_below(observed, leaf, m, j, z, deviation_of(observed, leaf, m, j));
    right[m] = weight - left[m];
    if (weight > 0.0) {
      if (z >= observed.low(leaf, m, j)) slots.left = m + 1;
      if (z < observed.high(leaf, m, j)) slots.right = m + 1;
    }
  }
  return slots;
}

}  // namespace

Split attempt_split(const Leaves& leaves, Index leaf, const TreeParameters& rules) {
  const LeafCounts& counts = *leaves.counts;
  const LeafMoments& observed = *leaves.observed;
  const Vector<const double> class_weight = counts.class_weight[leaf];
  const auto is_seen = [](double weight) { return weight != 0.0; };
  if (std::count_if(class_weight.begin(), class_weight.end(), is_seen) < 2) return {};
  const Index slots = counts.slots[leaf];
  const double weight = total_weight(counts, leaf);
  Workspace space;
  const Candidates candidates{entropy(class_weight, weight), space.take<double>(slots),
                              space.take<double>(slots)};
  for (Index m = 0; m < slots; ++m) candidates.whole[m] = times_log(observed.weight(leaf, m));
  double best = -kInfinity;
  double second = -kInfinity;
  Split split;
  for (Index j = 0; j < observed.mean.size(2); ++j) {
    const auto [merit, place] = best_threshold(observed, leaf, j, rules.bins, candidates);
    if (std::isnan(place)) continue;
    if (merit >= best) {
      second = best;
      best = merit;
      split = {j, place, false};
    } else if (merit > second) {
      second = merit;
    }
  }
  if (split.attribute < 0) return {-1, 0.0, true};
  const double width = log(static_cast<double>(std::max(slots, Index{2}))) / kLogTwo;
  const double bound = std::sqrt(width * width * log(1.0 / rules.confidence) / (2.0 * weight));
  // Two merits of −∞ are equal, though their difference is not a number.
  const bool leads = best > second && best - second > bound;
  return leads || bound < rules.tie ? split : Split{};
}

double weight_below(const LeafMoments& observed, Index leaf, Index m, Index j, double z,
                    double deviation) {
  const double weight = observed.weight(leaf, m);
  if (z < observed.low(leaf, m, j)) return 0.0;
  if (z >= observed.high(leaf, m, j)) return weight;
  const double delta = z - observed.mean(leaf, m, j);
  if (deviation > 0.0) return weight * (0.5 * erfc(-delta / deviation * kRootHalf));
  return delta >= 0.0 ? weight : 0.0;
}

Index split_leaf(Forest& forest, Index k, Index leaf, const Split& split) {
  Nodes& nodes = *forest.nodes();
  const Leaves& leaves = forest.leaves();
  const Index first = k * forest.places();
  Workspace space;
  const auto left = space.take<double>(leaves.classes());
  const auto right = space.take<double>(leaves.classes());
  const Slots slots =
      divide_classes(*leaves.observed, first + leaf, split.attribute, split.threshold, left, right);
  const Index node = forest.splits()[k];
  ++forest.splits()[k];
  nodes.attribute[first + node] = split.attribute;
  nodes.threshold[first + node] = split.threshold;
  nodes.left[first + node] = -1 - leaf;
  nodes.right[first + node] = -1 - (node + 1);
  reset_leaf(leaves, first + leaf, left, slots.left);
  reset_leaf(leaves, first + node + 1, right, slots.right);
  return node;
}

}  // namespace rpnb::trees
