#include "transitions.h"

#include <algorithm>

#include "../math.h"

namespace rpnb {

namespace {

// Weight of the prior, in rows.
constexpr double kPrior = 2.0;
// Below 1, so that no class is impossible.
constexpr double kMostKappa = 1.0 - 1e-9;

// The scores of a row that follows one of class a, or none if a < 0.
void score(const Transitions& state, std::int64_t a, Vector<double> scores) {
  const Index M = state.class_weight.size();
  Index active = 0;
  double total = 0.0;
  for (Index c = 0; c < M; ++c) {
    active += static_cast<Index>(state.active[c]);
    total += state.class_weight[c];
  }
  const double below = std::max(total + 0.5 * static_cast<double>(active), 0.5);
  double stays = 0.0;
  double by_chance = 0.0;
  for (Index c = 0; c < M; ++c) {
    if (state.active[c]) {
      stays += state.pairs(c, c);
      by_chance += state.class_weight[c] * (state.class_weight[c] + 0.5) / below;
    }
  }
  double kappa = (stays - by_chance) / (total - by_chance + kPrior);
  kappa = std::min(std::max(kappa, 0.0), kMostKappa);
  for (Index c = 0; c < M; ++c) {
    if (!state.active[c]) continue;
    const double share = (state.class_weight[c] + 0.5) / below;
    if (a >= 0) {
      const double value = kPrior * ((1.0 - kappa) * share + kappa * static_cast<double>(c == a));
      scores[c] = log(value + state.pairs(a, c));
    } else {
      scores[c] = log(share);
    }
  }
}

void observe(Transitions& state, std::int64_t y, double weight) {
  const Index delay = state.last.size() - 1;
  const std::int64_t before = state.last[delay];
  if (before >= 0) state.pairs(before, y) += weight;
  state.class_weight[y] += weight;
  state.active[y] = true;
  for (Index j = delay; j > 0; --j) state.last[j] = state.last[j - 1];
  state.last[0] = y;
}

}  // namespace

Transitions Transitions::begin(const Shape& shape, Vector<const bool> active) {
  const Index M = active.size();
  Transitions state;
  state.active = Array<bool, 1>({M});
  copy_into(state.active, active);
  state.class_weight = Array<double, 1>({M});
  state.pairs = Array<double, 2>({M, M});
  state.last = Array<std::int64_t, 1>({shape.delay + 1});
  state.last.fill(-1);
  return state;
}

void Transitions::score_rows(const Rows& /*rows*/, const Scores& scores) const {
  for (Index i = 0; i < scores.rows(); ++i) score(*this, last[0], scores(i));
}

void Transitions::score_unordered(const Rows& /*rows*/, const Scores& scores) const {
  for (Index i = 0; i < scores.rows(); ++i) score(*this, -1, scores(i));
}

void Transitions::learn_rows(const Rows& /*rows*/, const Labels& labels, const Scores& scores) {
  for (Index i = 0; i < labels.y.size(); ++i) {
    if (scores.wanted()) score(*this, last[0], scores(i));
    if (labels.known(i)) observe(*this, labels.y[i], labels.weight[i]);
  }
}

void Transitions::check_shape(const Shape& shape) const {
  require_length("transitions.last", last.size(), shape.delay + 1);
}

std::shared_ptr<Member> Transitions::begin_again(const Shape& shape,
                                                 Vector<const bool> active_classes,
                                                 std::uint64_t /*seed*/) const {
  return std::make_shared<Transitions>(begin(shape, active_classes));
}

}  // namespace rpnb
