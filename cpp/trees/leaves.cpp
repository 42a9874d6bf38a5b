#include "leaves.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../math.h"
#include "../simd.h"

namespace rpnb::trees {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRootTwoPi = 2.5066282746310002;
constexpr double kHalfLogTwoPi = 0.9189385332046727;
// Variances outside this range are left to `score_by_factors`: the inverse, or its product
// with a square, might overflow or underflow.
constexpr double kSmallest = 1e-290;
constexpr double kLargest = 1e290;
// |log ΣN| is below this; it is part of every prior.
constexpr double kLogTotal = 64.0;

template <class R>
void clear(R& record, Index leaf) {
  for_each_field<R>([&](const auto& entry) {
    using Value = std::remove_cvref_t<decltype(entry)>::Value;
    auto& array = record.*(entry.member);
    array.slice(leaf, leaf + 1).fill(Value{});
  });
}

// Write the distances Σ (x − μ)²/(2σ²) to `scores`, for the classes that have a slot.
void fill_distances(const LeafDensities& densities, Index leaf, Index slots, Vector<const double> x,
                    double* scores) {
  const Index p = x.size();
  const Index M = densities.centre.size(2);
  const double* const value = x.data();
  const double* const centre = densities.centre.data() + leaf * p * M;
  const double* const precision = densities.precision.data() + leaf * p * M;
  Index m = 0;
  for (; m + kDoubles <= slots; m += kDoubles) {
    Doubles distance = repeat(0.0);
    for (Index j = 0; j < p; ++j) {
      const Doubles delta = repeat(value[j]) - load(centre + j * M + m);
      distance += delta * delta * load(precision + j * M + m);
    }
    store(scores + m, distance);
  }
  for (; m < slots; ++m) {
    double distance = 0.0;
    for (Index j = 0; j < p; ++j) {
      const double delta = value[j] - centre[j * M + m];
      distance += delta * delta * precision[j * M + m];
    }
    scores[m] = distance;
  }
}

// Whether x differs from the only value of an attribute in class m.
bool differs(const LeafDensities& densities, Index leaf, Index m, Vector<const double> x) {
  for (Index j = 0; j < x.size(); ++j) {
    if (densities.precision(leaf, j, m) == 0.0 && x[j] != densities.centre(leaf, j, m)) {
      return true;
    }
  }
  return false;
}

// The normal density at `delta` from the mean, rounded as in MOA.
double normal_density(double variance, double delta) {
  if (!(variance > 0.0)) return delta == 0.0 ? 1.0 : 0.0;
  const double deviation = std::sqrt(variance);
  const double spread = 2.0 * deviation * deviation;
  return 1.0 / (kRootTwoPi * deviation) * exp(-(delta * delta / spread));
}

// `score` plus the log densities of x under class m.
double sum_of_logs(const LeafDensities& densities, const LeafMoments& observed, Index leaf, Index m,
                   Vector<const double> x, double score) {
  for (Index j = 0; j < x.size(); ++j) {
    const double delta = x[j] - observed.mean(leaf, m, j);
    const double precision = densities.precision(leaf, j, m);
    if (precision > 0.0) {
      score += densities.normaliser(leaf, m, j) - delta * delta * precision;
      continue;
    }
    const double variance = variance_of(observed, leaf, m, j);
    if (variance > 0.0) {
      const double distance = delta / std::sqrt(variance);
      score -= kHalfLogTwoPi + 0.5 * log(variance) + 0.5 * distance * distance;
    } else if (delta != 0.0) {
      return -kInfinity;
    }
  }
  return score;
}

// The log of e^score times the densities of x, multiplied in doubles.
//
// While the product and the next density are well within the range of doubles, adding
// logarithms gives the product's logarithm to about 1e-13. Near the ends of the range, where
// products lose digits, become 0 or overflow, or stay at the smallest double after factors
// above ½, the doubles themselves are multiplied.
double log_of_product(const LeafDensities& densities, const LeafMoments& observed, Index leaf,
                      Index m, Vector<const double> x, double score) {
  double product = 1.0;
  bool in_doubles = false;
  for (Index j = 0; j < x.size(); ++j) {
    const double delta = x[j] - observed.mean(leaf, m, j);
    const double precision = densities.precision(leaf, j, m);
    if (!in_doubles && precision > 0.0) {
      const double distance = delta * delta * precision;
      const double factor = densities.normaliser(leaf, m, j) - distance;
      if (distance < kSafe && std::abs(factor) < kSafe && std::abs(score + factor) < kSafe) {
        score += factor;
        continue;
      }
    }
    const double factor = normal_density(variance_of(observed, leaf, m, j), delta);
    if (factor == 1.0) continue;
    product = (in_doubles ? product : exp(score)) * factor;
    if (product == 0.0) return -kInfinity;
    score = log(product);
    in_doubles = !(std::abs(score) < kSafe);
  }
  return score;
}

// Turn distances into scores where an attribute is flat or a distance beyond its limit.
void finish_scores(const Leaves& leaves, Index leaf, Vector<const double> x, Density density,
                   Vector<double> scores) {
  const LeafDensities& densities = *leaves.densities;
  const Index slots = leaves.counts->slots[leaf];
  bool fresh = true;
  for (Index m = 0; m < slots; ++m) fresh = fresh && leaves.observed->weight(leaf, m) == 0.0;
  for (Index m = 0; m < slots; ++m) {
    // Before a leaf has observed anything, every density is 1.
    if (fresh || scores[m] <= densities.limit(leaf, m)) {
      const bool is_zero = densities.flat(leaf, m) > 0 && differs(densities, leaf, m, x);
      scores[m] = is_zero ? -kInfinity : densities.peak(leaf, m) - scores[m];
    } else {
      scores[m] = score_by_factors(leaves, leaf, m, x, density);
    }
  }
}

}  // namespace

void reset_leaf(const Leaves& leaves, Index leaf, Vector<const double> class_weight, Index slots) {
  LeafCounts& counts = *leaves.counts;
  LeafDensities& densities = *leaves.densities;
  clear(counts, leaf);
  clear(*leaves.observed, leaf);
  clear(densities, leaf);
  counts.slots[leaf] = slots;
  for (Index m = 0; m < class_weight.size(); ++m) {
    const double weight = class_weight[m];
    counts.class_weight(leaf, m) = weight;
    densities.limit(leaf, m) = -kInfinity;
    densities.peak(leaf, m) = weight > 0.0 ? log(weight) : -kInfinity;
  }
  counts.checked[leaf] = total_weight(counts, leaf);
}

double total_weight(const LeafCounts& counts, Index leaf) {
  const Vector<double> weights = counts.class_weight[leaf];
  double total = 0.0;
  for (Index m = 0; m < counts.slots[leaf]; ++m) total += weights[m];
  return total;
}

void count_class(LeafCounts& counts, Index leaf, Index y, double weight) {
  counts.class_weight(leaf, y) += weight;
  counts.slots[leaf] = std::max<std::int64_t>(counts.slots[leaf], y + 1);
}

void observe_row(LeafMoments& observed, Index leaf, Index y, Vector<const double> x,
                 double weight) {
  const Index p = x.size();
  const Index first = (leaf * observed.weight.size(1) + y) * p;
  const double* const value = x.data();
  double* const mean = observed.mean.data() + first;
  double* const scatter = observed.scatter.data() + first;
  double* const low = observed.low.data() + first;
  double* const high = observed.high.data() + first;
  const double before = observed.weight(leaf, y);
  const double total = before + weight;
  observed.weight(leaf, y) = total;
  if (before == 0.0) {
    for (Index j = 0; j < p; ++j) mean[j] = low[j] = high[j] = value[j];
    return;
  }
  for (Index j = 0; j < p; ++j) {
    const double delta = value[j] - mean[j];
    const double moved = mean[j] + weight * delta / total;
    mean[j] = moved;
    scatter[j] += weight * delta * (value[j] - moved);
    low[j] = std::min(low[j], value[j]);
    high[j] = std::max(high[j], value[j]);
  }
}

double variance_of(const LeafMoments& observed, Index leaf, Index m, Index j) {
  const double weight = observed.weight(leaf, m);
  return weight > 1.0 ? observed.scatter(leaf, m, j) / (weight - 1.0) : 0.0;
}

void refresh_densities(LeafDensities& densities, const LeafMoments& observed, Index leaf, Index m,
                       double class_weight, Density density) {
  const double log_weight = log(class_weight);
  double peak = log_weight;
  double spread = std::abs(log_weight) + kLogTotal;
  Index flat = 0;
  bool extreme = false;
  for (Index j = 0; j < observed.mean.size(2); ++j) {
    const double variance = variance_of(observed, leaf, m, j);
    double precision = 0.0;
    double normaliser = 0.0;
    if (kSmallest < variance && variance < kLargest) {
      precision = 0.5 / variance;
      normaliser = -kHalfLogTwoPi - 0.5 * log(variance);
    } else if (variance > 0.0) {
      extreme = true;
    } else {
      ++flat;
    }
    peak += normaliser;
    spread += std::abs(normaliser);
    densities.centre(leaf, j, m) = observed.mean(leaf, m, j);
    densities.precision(leaf, j, m) = precision;
    densities.normaliser(leaf, m, j) = normaliser;
  }
  densities.peak(leaf, m) = peak;
  densities.flat(leaf, m) = flat;
  if (extreme) {
    densities.limit(leaf, m) = -kInfinity;
  } else if (density == Density::kLog) {
    densities.limit(leaf, m) = kInfinity;
  } else {
    // No partial product lies further from 1 than e^(spread + distance).
    densities.limit(leaf, m) = kSafe - spread;
  }
}

void score_classes(const Leaves& leaves, Index leaf, Vector<const double> x, Density density,
                   Vector<double> scores) {
  const LeafDensities& densities = *leaves.densities;
  const Index slots = leaves.counts->slots[leaf];
  fill_distances(densities, leaf, slots, x, scores.data());
  const Vector<double> limit = densities.limit[leaf];
  const Vector<std::int64_t> flat = densities.flat[leaf];
  std::int64_t odd = 0;
  for (Index m = 0; m < slots; ++m) {
    odd += static_cast<std::int64_t>(!(scores[m] <= limit[m])) + flat[m];
  }
  if (odd != 0) {
    finish_scores(leaves, leaf, x, density, scores);
    return;
  }
  const Vector<double> peak = densities.peak[leaf];
  for (Index m = 0; m < slots; ++m) scores[m] = peak[m] - scores[m];
}

double score_by_factors(const Leaves& leaves, Index leaf, Index m, Vector<const double> x,
                        Density density) {
  const LeafMoments& observed = *leaves.observed;
  const LeafDensities& densities = *leaves.densities;
  if (observed.weight(leaf, m) == 0.0) return -kInfinity;
  const double log_weight = log(leaves.counts->class_weight(leaf, m));
  if (density == Density::kLog) return sum_of_logs(densities, observed, leaf, m, x, log_weight);
  const double log_total = log(total_weight(*leaves.counts, leaf));
  const double log_prior = log_weight - log_total;
  return log_of_product(densities, observed, leaf, m, x, log_prior) + log_total;
}

}  // namespace rpnb::trees
