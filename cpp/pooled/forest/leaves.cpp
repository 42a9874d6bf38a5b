#include "leaves.h"

#include <algorithm>
#include <limits>

#include "../../math.h"

namespace rpnb::forest {

namespace {

constexpr double kSmoothing = 1e-4;
constexpr double kMemory = 0.98;
constexpr double kRate = 0.1;
constexpr double kHalf = 0.5;
// A fast count below this is 0: no arithmetic with subnormal numbers.
constexpr double kForgotten = 1e-30;

double halved(double count) {
  const double half = kHalf * count;
  return half > kForgotten ? half : 0.0;
}

// Count a row of class y, which is entry `at` of a leaf's list if that is not −1.
//
// A class that is not listed is added to the list, if there is room, or replaces the
// class with the smallest count.
[[gnu::always_inline]] inline void count_listed(const ClassCounts& leaf, Index at, Index end,
                                                Index least, std::int64_t y, double weight) {
  if (at < 0) {
    at = end < leaf.classes.size() ? end : least;
    leaf.classes[at] = static_cast<std::int32_t>(y);
    leaf.counts[at] = 0.0;
  }
  leaf.counts[at] += weight;
}

// Partial scores of a row: Σ_j w_j C_jc/(C_j + 1), and Σ_j w_j/(C_j + 1).
class Mixture {
 public:
  explicit Mixture(Vector<double> scores) : scores_(scores) { scores.fill(0.0); }

  // The share of a tree of this weight whose leaf has counted `total`.
  double share(double weight, double total) {
    const double value = weight / (total + 1.0);
    shares_ += value;
    return value;
  }

  [[gnu::always_inline]] void add(std::int32_t c, double share, double count) {
    scores_[c] += share * count;
  }

  void add_list(Vector<const std::int32_t> classes, Vector<const double> counts, double share) {
    for (Index entry = 0; entry < classes.size() && classes[entry] >= 0; ++entry) {
      add(classes[entry], share, counts[entry]);
    }
  }

  // Add the classes' frequencies π, and take logarithms.
  void finish(Vector<const double> class_weight, double evidence) {
    const double prior = shares_ / evidence;
    for (Index c = 0; c < scores_.size(); ++c) {
      scores_[c] = scores_[c] + prior * (class_weight[c] + 0.5) + kSmoothing;
    }
    fill_logs(scores_);
  }

 private:
  Vector<double> scores_;
  double shares_ = 0.0;
};

// Σn + M'/2
double evidence(const WindowForest& state, Index n_active) {
  return state.total_weight[0] + 0.5 * static_cast<double>(std::max(n_active, Index{1}));
}

// Prefetch the counts at the leaf of a row in tree j.
[[gnu::always_inline]] inline void prefetch_leaf(const WindowForest& state, Index j, Index node) {
  const Index k = state.place[j];
  const Index L = state.origin.size(1);
  const Index S = state.slow_class.size(2);
  // If the leaf has been split, another address is prefetched, which is harmless.
  const Index leaf = std::max(Index{0}, -1 - Index{state.child(k, node)});
  const Index slow = k * L + leaf;
  __builtin_prefetch(state.slow_class.data() + S * slow, 1);
  __builtin_prefetch(state.slow_count.data() + S * slow, 1);
  __builtin_prefetch(state.slow_total.data() + slow, 1);
  __builtin_prefetch(state.recent.data() + kRecentRows * slow, 1);
  const Index fast = k * L + state.origin(k, leaf);
  __builtin_prefetch(state.fast_class.data() + S * fast, 1);
  __builtin_prefetch(state.fast_count.data() + S * fast, 1);
  __builtin_prefetch(state.fast_total.data() + fast, 1);
}

// The position and count of class y in a leaf's list of classes.
struct Listed {
  Index end = 0;         // classes listed
  Index at = -1;         // index of y, −1 if it is not listed
  double counted = 0.0;  // its count, 0 if it is not listed
  Index top = 0;         // index of the largest count, the first of several
  Index least = 0;       // index of the smallest count, the first of several
};

// Add the counts at a leaf to the scores, and find class y among them.
[[gnu::always_inline]] inline Listed read_slow(const ClassCounts& leaf, std::int64_t y,
                                               double share, Mixture& mixture) {
  Listed found;
  double most = -1.0;
  double least = std::numeric_limits<double>::infinity();
  for (; found.end < leaf.classes.size(); ++found.end) {
    const std::int32_t c = leaf.classes[found.end];
    if (c < 0) break;
    const double n = leaf.counts[found.end];
    mixture.add(c, share, n);
    found.at = c == y ? found.end : found.at;
    found.counted = c == y ? n : found.counted;
    found.top = n > most ? found.end : found.top;
    most = n > most ? n : most;
    found.least = n < least ? found.end : found.least;
    least = n < least ? n : least;
  }
  return found;
}

// Add the counts at a grown leaf to the scores, then do what `add_fast` does.
//
// Returns the count of y before.
[[gnu::always_inline]] inline double read_and_add_fast(const ClassCounts& leaf, std::int64_t y,
                                                       double share, Mixture& mixture) {
  Index end = 0;
  Index at = -1;
  double counted = 0.0;
  Index least = 0;
  double least_count = std::numeric_limits<double>::infinity();
  for (; end < leaf.classes.size(); ++end) {
    const std::int32_t c = leaf.classes[end];
    if (c < 0) break;
    const double n = leaf.counts[end];
    mixture.add(c, share, n);
    const double half = halved(n);
    leaf.counts[end] = half;
    at = c == y ? end : at;
    counted = c == y ? n : counted;
    least = half < least_count ? end : least;
    least_count = half < least_count ? half : least_count;
  }
  count_listed(leaf, at, end, least, y, 1.0);
  *leaf.total = kHalf * *leaf.total + 1.0;
  return counted;
}

}  // namespace

void add_slow(const ClassCounts& leaf, std::int64_t y, double weight) {
  Index end = 0;
  Index at = -1;
  Index least = 0;
  for (; end < leaf.classes.size() && leaf.classes[end] >= 0; ++end) {
    if (leaf.classes[end] == y) {
      at = end;
      break;
    }
    if (leaf.counts[end] < leaf.counts[least]) least = end;
  }
  count_listed(leaf, at, end, least, y, weight);
  *leaf.total += weight;
}

void add_fast(const ClassCounts& leaf, std::int64_t y) {
  Index end = 0;
  Index at = -1;
  Index least = 0;
  for (; end < leaf.classes.size() && leaf.classes[end] >= 0; ++end) {
    leaf.counts[end] = halved(leaf.counts[end]);
    if (leaf.classes[end] == y) at = end;
    if (leaf.counts[end] < leaf.counts[least]) least = end;
  }
  count_listed(leaf, at, end, least, y, 1.0);
  *leaf.total = kHalf * *leaf.total + 1.0;
}

TreeWeights tree_weights(const WindowForest& state) {
  std::array<double, 2 * kTrees> weights;
  for (Index kind = 0; kind < 2; ++kind) {
    const auto logs = state.log_weight[kind];
    const double top = *std::max_element(logs.begin(), logs.end());
    for (Index j = 0; j < kTrees; ++j) weights[kind * kTrees + j] = logs[j] - top;
  }
  fill_exponentials(Vector<double>(weights.data(), {2 * kTrees}), kLeastExponent);
  double slow = 0.0;
  double fast = 0.0;
  for (Index j = 0; j < kTrees; ++j) {
    slow += weights[j];
    fast += weights[kTrees + j];
  }
  TreeWeights shares;
  for (Index j = 0; j < kTrees; ++j) {
    shares.slow[j] = weights[j] / slow;
    shares.fast[j] = weights[kTrees + j] / fast;
  }
  return shares;
}

void score_at_leaves(const WindowForest& state, const TreeWeights& weights, Index n_active,
                     const Leaves& leaves, Index ahead, const RowScores& scores) {
  Mixture slow(scores.slow);
  Mixture fast(scores.fast);
  for (Index j = 0; j < kTrees; ++j) {
    prefetch_leaf(state, j, leaves.nodes[ahead][j]);
    const Index k = state.place[j];
    const Index leaf = leaves.numbers[j];
    const Index grown = state.origin(k, leaf);
    slow.add_list(state.slow_class[k][leaf], state.slow_count[k][leaf],
                  slow.share(weights.slow[j], state.slow_total(k, leaf)));
    fast.add_list(state.fast_class[k][grown], state.fast_count[k][grown],
                  fast.share(weights.fast[j], state.fast_total(k, grown)));
  }
  slow.finish(state.class_weight, evidence(state, n_active));
  fast.finish(state.class_weight, evidence(state, n_active));
}

void learn_at_leaves(WindowForest& state, Index n_active, const Learned& row, const Leaves& leaves,
                     Index ahead, const RowScores& scores, std::array<bool, kTrees>& surprised) {
  const TreeWeights weights = tree_weights(state);
  const Index n_learned = n_active + (state.active[row.y] ? 0 : 1);
  const double prior = (state.class_weight[row.y] + 0.5) / evidence(state, n_learned);
  Mixture slow(scores.slow);
  Mixture fast(scores.fast);
  // P_j(y) for slow counts, then for fast ones, and later their logarithms.
  std::array<double, 2 * kTrees> given;
  for (Index j = 0; j < kTrees; ++j) {
    prefetch_leaf(state, j, leaves.nodes[ahead][j]);
    const Index k = state.place[j];
    const Index leaf = leaves.numbers[j];
    const ClassCounts counts = slow_counts(state, k, leaf);
    const double total = *counts.total;
    const Listed found = read_slow(counts, row.y, slow.share(weights.slow[j], total), slow);

    const ClassCounts fading = fast_counts(state, k, state.origin(k, leaf));
    const double fast_total = *fading.total;
    const double fast_count =
        read_and_add_fast(fading, row.y, fast.share(weights.fast[j], fast_total), fast);

    given[j] = (found.counted + prior) / (total + 1.0);
    given[kTrees + j] = (fast_count + prior) / (fast_total + 1.0);
    surprised[j] = found.end > 0 && found.at != found.top;
    count_listed(counts, found.at, found.end, found.least, row.y, row.weight);
    *counts.total = total + row.weight;
    remember(state.recent[k][leaf], row.number);
  }
  slow.finish(state.class_weight, evidence(state, n_active));
  fast.finish(state.class_weight, evidence(state, n_active));
  fill_logs(Vector<double>(given.data(), {2 * kTrees}));
  double* const logs = state.log_weight.data();
  for (Index i = 0; i < 2 * kTrees; ++i) logs[i] = kMemory * logs[i] + kRate * given[i];
}

void learn_in_tree(WindowForest& state, Index k, const WindowForest& rows, std::int64_t first,
                   std::int64_t end) {
  const Index R = rows.window.size();
  for (std::int64_t number = first; number < end; ++number) {
    const Index at = number % R;
    const std::int64_t y = rows.window_class[at];
    const Index leaf = -1 - state.child(k, find_leaf(state, k, rows.window[at]));
    add_slow(slow_counts(state, k, leaf), y, rows.window_weight[at]);
    if (&rows == &state) remember(state.recent[k][leaf], number);
    add_fast(fast_counts(state, k, state.origin(k, leaf)), y);
  }
}

}  // namespace rpnb::forest
