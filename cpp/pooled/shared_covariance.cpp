#include "shared_covariance.h"

#include <algorithm>
#include <stdexcept>

#include "../math.h"
#include "algebra/blocks.h"
#include "algebra/row_products.h"
#include "discriminant.h"
#include "row_discriminants.h"

namespace rpnb {

namespace {

// V may be recomputed after multiples of these rows, before and after row kEarly.
constexpr Index kEarlyGroup = 64;
constexpr Index kGroup = 128;
constexpr Index kEarly = 1024;
// Most rows between recomputations of V.
constexpr Index kLongest = 4096;

Index group_of(Index seen) { return seen < kEarly ? kEarlyGroup : kGroup; }

}  // namespace

Index next_refresh(Index seen) {
  if (seen < SharedCovariance::kFirst) return seen + std::max<Index>(1, seen / 8);
  return seen + std::min(seen / 5, kLongest);
}

SharedCovariance SharedCovariance::begin(const Shape& shape, Vector<const bool> active) {
  const Index M = active.size();
  const Index E = shape.E;
  const Index C = padded(std::max<Index>(M, 1), 8);
  SharedCovariance state;
  state.active = Array<bool, 1>({M});
  copy_into(state.active, active);
  state.class_weight = Array<double, 1>({M});
  state.log_count = Array<double, 1>({M});
  state.log_count.fill(log_of_no_rows());
  state.B = Array<double, 2>({M, E});
  state.A = Array<double, 1>({matrix_entries(E)});
  state.V = Array<float, 2>({E, C});
  state.offset = Array<float, 1>({C});
  state.kept = Array<float, 1>({E * kFirst});
  state.labels = Array<std::int64_t, 1>({kFirst});
  state.weight = Array<double, 1>({kFirst});
  state.gram = Array<float, 2>({kFirst, kFirst});
  state.done = Array<std::int64_t, 1>({1});
  state.pending = Array<std::int64_t, 1>({1});
  state.seen = Array<std::int64_t, 1>({1});
  state.next = Array<std::int64_t, 1>({1});
  state.next[0] = 1;
  state.dimension = Array<std::int64_t, 1>({1});
  state.dimension[0] = shape.dimension;
  return state;
}

void SharedCovariance::score_rows(const Rows& rows, const Scores& scores) const {
  check_rows(rows.phi);
  score_linear(rows.phi, V, offset, log_count, scores, 0);
}

void SharedCovariance::learn_rows(const Rows& rows, const Labels& known, const Scores& scores) {
  const Index n = known.y.size();
  check_rows(rows.phi);
  if (seen[0] < kFirst && (pending[0] > seen[0] || next[0] <= seen[0])) {
    throw std::invalid_argument("counters of shared_covariance contradict each other");
  }
  Index i = 0;
  while (i < n) {
    // Process rows up to the one after which something is due.
    Index left = 0;
    if (seen[0] < kFirst) {
      left = std::min(scores.wanted() ? next[0] - seen[0] : n, kFirst - seen[0]);
    } else {
      // Rows summed by `sum_rows` count in `seen` but are not kept.
      const Index group = group_of(seen[0]);
      left = std::min(group - seen[0] % group, kFirst - pending[0]);
    }
    Index stop = i;
    for (; stop < n && left > 0; ++stop) left -= static_cast<Index>(known.known(stop));
    const Labels part{known.y.slice(i, stop), known.weight.slice(i, stop)};
    score_and_count(rows.phi.slice(i, stop), V, offset, part, class_weight, log_count, scores, i);
    for (Index k = i; k < stop; ++k) {
      if (known.known(k)) keep(rows.phi[k], known.y[k], known.weight[k]);
    }
    if (left == 0) {
      if (seen[0] < kFirst) {
        refresh();
      } else if (seen[0] >= next[0]) {
        add_pending();
        if (seen[0] >= next[0]) refresh();
      } else if (pending[0] + group_of(seen[0]) > kFirst) {
        add_pending();
      }
    }
    i = stop;
  }
}

void SharedCovariance::check() const {
  const Index E = V.size(0);
  require_length("rows of shared_covariance.V", E, padded(E));
  require_length("axis 1 of shared_covariance.V", V.size(1),
                 padded(std::max<Index>(classes(), 1), 8));
  require_length("shared_covariance.A", A.size(), matrix_entries(E));
  require_length("shared_covariance.kept", kept.size(), E * kFirst);
  for (const std::int64_t c : labels) {
    if (c < 0 || c >= std::max<Index>(classes(), 1)) {
      throw std::invalid_argument("shared_covariance.labels holds a number that is no class");
    }
  }
  check_counters();
}

void SharedCovariance::check_shape(const Shape& shape) const {
  require_length("axis 0 of shared_covariance.V", V.size(0), shape.E);
  require_length("shared_covariance.dimension", dimension[0], shape.dimension);
  check();
}

std::shared_ptr<Member> SharedCovariance::begin_again(const Shape& shape,
                                                      Vector<const bool> active_classes,
                                                      std::uint64_t /*seed*/) const {
  return std::make_shared<SharedCovariance>(begin(shape, active_classes));
}

void SharedCovariance::settle() {
  check_counters();
  add_rows(A, packed(), weight, pending[0]);
  pending[0] = 0;
}

void SharedCovariance::refresh_all() {
  check_counters();
  for (Index c = 0; c < classes(); ++c) log_count[c] = log(class_weight[c] + 0.5);
  refresh();
}

void SharedCovariance::sum_rows(Matrix<const float> phi, const Labels& known) {
  const Index n = known.y.size();
  check_rows(phi);
  for (Index i = 0; i < n; ++i) {
    class_weight[known.y[i]] += known.weight[i];
    keep(phi[i], known.y[i], known.weight[i]);
    if (pending[0] == kGroup || i == n - 1) {
      add_rows(A, packed(), weight, pending[0]);
      pending[0] = 0;
    }
  }
}

PackedRows<float> SharedCovariance::packed() const {
  return kept.reshaped(V.size(0) / kSide, kFirst, kSide);
}

void SharedCovariance::check_counters() const {
  if (pending[0] < 0 || pending[0] > kFirst || done[0] < 0 || seen[0] < 0) {
    throw std::invalid_argument("counters of shared_covariance are out of range");
  }
}

void SharedCovariance::check_rows(Matrix<const float> phi) const {
  require_length("axis 1 of phi", phi.size(1), V.size(0));
  check_counters();
}

void SharedCovariance::keep(Vector<const float> phi, std::int64_t y, double w) {
  const Index r = pending[0];
  pack_row(phi, packed(), r);
  labels[r] = y;
  weight[r] = w;
  active[y] = true;
  const auto sum = B[y];
  for (Index f = 0; f < phi.size(); ++f) sum[f] += w * static_cast<double>(phi[f]);
  ++pending[0];
  ++seen[0];
}

// Add the rows kept to A.
void SharedCovariance::add_pending() {
  if (seen[0] <= kFirst) {
    // The last time that V is computed from inner products.
    refresh_from_rows();
    next[0] = next_refresh(seen[0]);
  }
  add_rows(A, packed(), weight, pending[0]);
  pending[0] = 0;
}

void SharedCovariance::refresh() {
  if (seen[0] < kFirst) {
    refresh_from_rows();
  } else {
    discriminants(class_weight, B, A, dimension[0], V, offset);
  }
  next[0] = next_refresh(seen[0]);
}

// Compute V from the inner products of the rows kept, which are all rows so far.
void SharedCovariance::refresh_from_rows() {
  const Index t = pending[0];
  if (t == 0) return;
  inner_products(packed(), done[0], t, gram);
  done[0] = t;
  const RowSample sample{packed(), labels.slice(0, t), weight.slice(0, t), gram};
  discriminants_from_rows(sample, class_weight, B, dimension[0], V, offset);
}

}  // namespace rpnb
