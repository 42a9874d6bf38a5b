#include "neighbours.h"

#include <algorithm>

#include "../workspace.h"
#include "nearest.h"

namespace rpnb {

static_assert(Neighbours::kSlots % kSlotBlock == 0 && Neighbours::kSlots >= Neighbours::kRows);

namespace {

// `distance` is working memory.
void score(const Neighbours& state, Vector<const float> x, Vector<float> distance,
           Vector<double> scores) {
  const Index filled = std::min<Index>(state.seen[0], Neighbours::kRows);
  const Nearest nearest = find_nearest(state.rows, x, filled, distance);
  vote({state.active, state.class_weight, state.labels, state.weight}, nearest, scores);
}

// Keep a row in place of the oldest.
void observe(Neighbours& state, Vector<const float> x, std::int64_t y, double weight) {
  const Index slot = state.seen[0] % Neighbours::kRows;
  for (Index j = 0; j < x.size(); ++j) state.rows(j, slot) = x[j];
  state.labels[slot] = y;
  state.weight[slot] = weight;
  state.class_weight[y] += weight;
  state.active[y] = true;
  state.seen[0] += 1;
}

// Reject a block that does not have n rows of d values.
void check_rows(const Neighbours& state, const Rows& given, Index n) {
  require_length("low", given.low.size(0), n);
  require_length("a row of low", given.low.size(1), state.rows.size(0));
}

}  // namespace

void Neighbours::check() const { check_labels_kept(labels, seen[0], kRows, active.size()); }

Neighbours Neighbours::begin(const Shape& shape, Vector<const bool> active) {
  Neighbours state;
  state.active = Array<bool, 1>({active.size()});
  copy_into(state.active, active);
  state.class_weight = Array<double, 1>({active.size()});
  state.rows = Array<float, 2>({shape.d, kSlots});
  state.labels = Array<std::int64_t, 1>({kSlots});
  state.weight = Array<double, 1>({kSlots});
  state.seen = Array<std::int64_t, 1>({1});
  return state;
}

void Neighbours::score_rows(const Rows& given, const Scores& scores) const {
  check_rows(*this, given, scores.rows());
  Workspace space;
  const auto distance = space.take<float>(kSlots);
  for (Index i = 0; i < scores.rows(); ++i) score(*this, given.low[i], distance, scores(i));
}

void Neighbours::learn_rows(const Rows& given, const Labels& known, const Scores& scores) {
  check_rows(*this, given, known.y.size());
  Workspace space;
  const auto distance = space.take<float>(kSlots);
  for (Index i = 0; i < known.y.size(); ++i) {
    if (scores.wanted()) score(*this, given.low[i], distance, scores(i));
    if (known.known(i)) observe(*this, given.low[i], known.y[i], known.weight[i]);
  }
}

void Neighbours::check_shape(const Shape& shape) const {
  require_length("neighbours.rows", rows.size(0), shape.d);
}

std::shared_ptr<Member> Neighbours::begin_again(const Shape& shape,
                                                Vector<const bool> active_classes,
                                                std::uint64_t /*seed*/) const {
  return std::make_shared<Neighbours>(begin(shape, active_classes));
}

}  // namespace rpnb
