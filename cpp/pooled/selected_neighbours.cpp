#include "selected_neighbours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "../math.h"
#include "../workspace.h"
#include "nearest.h"

namespace rpnb {

static_assert(SelectedNeighbours::kSlots % kSlotBlock == 0 &&
              SelectedNeighbours::kSlots >= SelectedNeighbours::kRows);

namespace {

using State = SelectedNeighbours;

// Standard deviations by which 2NI must exceed its expectation.
constexpr double kSignificant = 5.0;
// Most values of the rows kept, if that leaves at least 250 rows.
constexpr Index kMostValues = Index{1} << 20;
constexpr Index kLeastRows = 250;
// Rows before the first selection.
constexpr std::int64_t kFirst = 32;
// The normal quantiles i/8, rounded to single precision.
constexpr std::array kEdges{-1.1503493785858154F, -0.6744897365570068F, -0.3186393678188324F, 0.0F,
                            0.3186393678188324F,  0.6744897365570068F,  1.1503493785858154F};

// The bin of a scaled value, 0 to 7.
Index find_bin(float value) {
  Index bin = 0;
  for (const float edge : kEdges) bin += static_cast<Index>(value > edge);
  return bin;
}

// Set x to the selected features of z (p,), times their relevance; return their number.
Index pick_features(const State& state, Vector<const float> z, std::array<float, State::kMost>& x) {
  if (state.rows.size(1) == 0) return 0;
  Index k = 0;
  for (; k < State::kMost && state.chosen[k] >= 0; ++k) {
    x[k] = z[state.chosen[k]] * state.relevance[k];
  }
  return k;
}

// `distance` is working memory.
void score(const State& state, Vector<const float> z, Vector<float> distance,
           Vector<double> scores) {
  std::array<float, State::kMost> x;
  const Index k = pick_features(state, z, x);
  Nearest nearest;
  if (k > 0) {
    const Index filled = std::min<Index>(state.clock[0], state.rows.size());
    nearest = find_nearest(state.near, {x.data(), {k}}, filled, distance);
  }
  vote({state.active, state.class_weight, state.labels, state.weight}, nearest, scores);
}

// Count a row, and keep it in place of the oldest.
void observe(State& state, Vector<const float> z, std::int64_t y, double weight) {
  const Index slot = state.clock[0] % state.rows.size();
  for (Index j = 0; j < state.rows.size(1); ++j) {
    state.counts(j, find_bin(z[j]), y) += weight;
    state.rows(slot, j) = z[j];
  }
  std::array<float, State::kMost> x;
  const Index count = pick_features(state, z, x);
  for (Index k = 0; k < count; ++k) state.near(k, slot) = x[k];
  state.labels[slot] = y;
  state.weight[slot] = weight;
  state.class_weight[y] += weight;
  state.active[y] = true;
  state.clock[0] += 1;
}

// Σ C log C over bins and classes, minus that over bins.
double pair_sum(Matrix<const double> counts) {
  double result = 0.0;
  for (Index v = 0; v < counts.size(0); ++v) {
    double total = 0.0;
    for (const double count : counts[v]) {
      if (count > 0.0) {
        total += count;
        result += count * log(count);
      }
    }
    if (total > 0.0) result -= total * log(total);
  }
  return result;
}

// The best features in descending order; of equals, the first comes first.
struct Ranking {
  std::array<double, State::kMost> value;
  std::array<Index, State::kMost> feature;  // −1 where there are fewer

  Ranking() {
    value.fill(-std::numeric_limits<double>::infinity());
    feature.fill(-1);
  }

  void insert(double candidate, Index j) {
    Index at = State::kMost - 1;
    if (!(candidate > value[at])) return;
    for (; at > 0 && candidate > value[at - 1]; --at) {
      value[at] = value[at - 1];
      feature[at] = feature[at - 1];
    }
    value[at] = candidate;
    feature[at] = j;
  }
};

// Reject a block that does not have n rows, or not as many features as are kept.
void check_rows(const State& state, const Rows& given, Index n) {
  require_length("z", given.z.size(0), n);
  if (state.rows.size(1) > 0) require_length("a row of z", given.z.size(1), state.rows.size(1));
}

}  // namespace

void SelectedNeighbours::check() const {
  if (rows.size() < 1 || rows.size() > kSlots) {
    throw std::invalid_argument("selected_neighbours.rows holds too few rows or too many");
  }
  check_labels_kept(labels, clock[0], rows.size(), active.size());
  for (const std::int64_t j : chosen) {
    if (j < -1 || (j >= rows.size(1) && rows.size(1) > 0)) {
      throw std::invalid_argument("selected_neighbours.chosen holds a number of no feature");
    }
  }
}

Index SelectedNeighbours::rows_kept(Index p) {
  return std::max(kLeastRows, std::min(kRows, kMostValues / std::max<Index>(p, 1)));
}

SelectedNeighbours SelectedNeighbours::begin(const Shape& shape, Vector<const bool> active) {
  const Index M = active.size();
  const Index p = shape.p * M <= kMostPairs ? shape.p : 0;
  const Index R = rows_kept(shape.p);
  SelectedNeighbours state;
  state.active = Array<bool, 1>({M});
  copy_into(state.active, active);
  state.class_weight = Array<double, 1>({M});
  state.counts = Array<double, 3>({p, kBins, M});
  state.rows = Array<float, 2>({R, p});
  state.labels = Array<std::int64_t, 1>({R});
  state.weight = Array<double, 1>({R});
  state.chosen = Array<std::int64_t, 1>({kMost});
  state.chosen.fill(-1);
  state.relevance = Array<float, 1>({kMost});
  state.near = Array<float, 2>({kMost, kSlots});
  state.clock = Array<std::int64_t, 1>({2});
  state.clock[1] = kFirst;
  return state;
}

void SelectedNeighbours::select() {
  const std::int64_t seen = clock[0];
  clock[1] = seen + std::max<std::int64_t>(seen / 4, 1);
  const Index p = rows.size(1);
  double total = 0.0;
  double by_class = 0.0;
  Index seen_classes = 0;
  for (const double n : class_weight) {
    if (n > 0.0) {
      ++seen_classes;
      total += n;
      by_class += n * log(n);
    }
  }
  if (p == 0 || seen_classes < 2) return;
  const double f = (static_cast<double>(kBins) - 1.0) * (static_cast<double>(seen_classes) - 1.0);
  Ranking best;
  Index significant = 0;
  for (Index j = 0; j < p; ++j) {
    const double information = (pair_sum(counts[j]) - by_class) / total + log(total);
    significant +=
        static_cast<Index>(2.0 * total * information > f + kSignificant * std::sqrt(2.0 * f));
    best.insert(information - f / (2.0 * total), j);
  }
  const Index count = std::min({std::max(significant, kLeast), kMost, p});
  const double top = std::max(best.value[0], 1e-12);
  const Index filled = std::min<Index>(seen, rows.size());
  chosen.fill(-1);
  for (Index k = 0; k < count; ++k) {
    if (best.feature[k] < 0) break;  // weights so large that their sums are infinite
    chosen[k] = best.feature[k];
    relevance[k] = static_cast<float>(std::sqrt(std::max(best.value[k], 0.0) / top));
    for (Index slot = 0; slot < filled; ++slot) {
      near(k, slot) = rows(slot, chosen[k]) * relevance[k];
    }
  }
}

void SelectedNeighbours::score_rows(const Rows& given, const Scores& scores) const {
  check_rows(*this, given, scores.rows());
  Workspace space;
  const auto distance = space.take<float>(kSlots);
  for (Index i = 0; i < scores.rows(); ++i) score(*this, given.z[i], distance, scores(i));
}

void SelectedNeighbours::learn_rows(const Rows& given, const Labels& known, const Scores& scores) {
  check_rows(*this, given, known.y.size());
  Workspace space;
  const auto distance = space.take<float>(kSlots);
  for (Index i = 0; i < known.y.size(); ++i) {
    if (scores.wanted()) score(*this, given.z[i], distance, scores(i));
    if (known.known(i)) {
      observe(*this, given.z[i], known.y[i], known.weight[i]);
      if (clock[0] >= clock[1]) select();
    }
  }
}

void SelectedNeighbours::check_shape(const Shape& shape) const {
  require_length("selected_neighbours.rows", rows.size(0), rows_kept(shape.p));
  if (rows.size(1) > 0) {
    require_length("a row of selected_neighbours", rows.size(1), shape.p);
  }
}

std::shared_ptr<Member> SelectedNeighbours::begin_again(const Shape& shape,
                                                        Vector<const bool> active_classes,
                                                        std::uint64_t /*seed*/) const {
  return std::make_shared<SelectedNeighbours>(begin(shape, active_classes));
}

}  // namespace rpnb
