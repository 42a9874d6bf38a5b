#include "fading_covariance.h"

#include <algorithm>
#include <stdexcept>

#include "../math.h"
#include "../workspace.h"
#include "algebra/blocks.h"
#include "discriminant.h"
#include "shared_covariance.h"

namespace rpnb {

namespace {

// Factor of the sums per kGroup rows: (1 − 1/300)⁶⁴, an exponential window of 300 rows.
constexpr double kKeep = 0x1.9d7d9c5e3ba9cp-1;
// Rows after which the sums begin to fade.
constexpr Index kFirst = 256;
// Projections used of each kind, dense and sparse, if φ includes the features and if not.
constexpr Index kFewProjections = 16;
constexpr Index kManyProjections = 64;

// Call `function(k, column)` with the columns of φ that are used, in order: features, some
// dense projections, some sparse ones. Return their number.
template <class Function>
Index for_each_column(const Shape& shape, Function&& function) {
  const Index raw = shape.dimension - shape.D;
  const Index some =
      std::min({shape.dense, shape.D - shape.dense, raw > 0 ? kFewProjections : kManyProjections});
  Index k = 0;
  for (Index f = 0; f < raw; ++f) function(k++, f);
  for (Index f = 0; f < some; ++f) function(k++, raw + f);
  for (Index f = 0; f < some; ++f) function(k++, raw + shape.dense + f);
  return k;
}

}  // namespace

FadingCovariance FadingCovariance::begin(const Shape& shape, Vector<const bool> active) {
  const Index M = active.size();
  const Index used = for_each_column(shape, [](Index, Index) {});
  const Index E = padded(used);
  const Index C = padded(std::max<Index>(M, 1), 8);
  FadingCovariance state;
  state.active = Array<bool, 1>({M});
  copy_into(state.active, active);
  state.class_weight = Array<double, 1>({M});
  state.log_count = Array<double, 1>({M});
  state.log_count.fill(log_of_no_rows());
  state.B = Array<double, 2>({M, E});
  state.A = Array<double, 1>({matrix_entries(E)});
  state.V = Array<float, 2>({E, C});
  state.offset = Array<float, 1>({C});
  state.kept = Array<float, 1>({E * kGroup});
  state.weight = Array<double, 1>({kGroup});
  state.pending = Array<std::int64_t, 1>({1});
  state.seen = Array<std::int64_t, 1>({1});
  state.next = Array<std::int64_t, 1>({1});
  state.next[0] = 1;
  state.columns = Array<std::int64_t, 1>({used});
  for_each_column(shape, [&](Index k, Index column) { state.columns[k] = column; });
  return state;
}

void FadingCovariance::score_rows(const Rows& rows, const Scores& scores) const {
  check_counters();
  Workspace workspace;
  const auto used = workspace.take_zeros<float>(rows.phi.size(0), V.size(0));
  gather(rows.phi, used);
  score_linear(used, V, offset, log_count, scores, 0);
}

void FadingCovariance::learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) {
  const Index n = labels.y.size();
  check_counters();
  if (scores.wanted() && next[0] <= seen[0]) {
    throw std::invalid_argument("counters of fading_covariance contradict each other");
  }
  Workspace workspace;
  const auto used = workspace.take_zeros<float>(n, V.size(0));
  gather(rows.phi, used);
  Index i = 0;
  while (i < n) {
    // Process rows up to the one after which something is due.
    const Index due = scores.wanted() ? next[0] - seen[0] : n - i;
    Index left = std::min(due, kGroup - pending[0]);
    Index stop = i;
    for (; stop < n && left > 0; ++stop) left -= static_cast<Index>(labels.known(stop));
    const Labels part{labels.y.slice(i, stop), labels.weight.slice(i, stop)};
    score_and_count(used.slice(i, stop), V, offset, part, class_weight, log_count, scores, i);
    for (Index k = i; k < stop; ++k) {
      if (labels.known(k)) keep(used[k], labels.y[k], labels.weight[k]);
    }
    if (left == 0) {
      settle();
      // No group ends before discriminants are due.
      if (scores.wanted()) {
        if (seen[0] > kFirst) forget();
        refresh();
      }
    }
    i = stop;
  }
  if (!scores.wanted()) refresh();
}

void FadingCovariance::check() const {
  const Index E = V.size(0);
  require_length("axis 0 of fading_covariance.V", E, padded(columns.size()));
  require_length("axis 1 of fading_covariance.V", V.size(1),
                 padded(std::max<Index>(classes(), 1), 8));
  require_length("fading_covariance.A", A.size(), matrix_entries(E));
  require_length("fading_covariance.kept", kept.size(), E * kGroup);
  check_counters();
}

void FadingCovariance::check_shape(const Shape& shape) const {
  bool fits = true;
  const Index used = for_each_column(shape, [&](Index k, Index column) {
    fits = fits && k < columns.size() && columns[k] == column;
  });
  if (!fits || used != columns.size()) {
    throw std::invalid_argument("fading_covariance.columns are not those of this shape");
  }
  check();
}

std::shared_ptr<Member> FadingCovariance::begin_again(const Shape& shape,
                                                      Vector<const bool> active_classes,
                                                      std::uint64_t /*seed*/) const {
  return std::make_shared<FadingCovariance>(begin(shape, active_classes));
}

void FadingCovariance::settle() {
  check_counters();
  add_rows(A, packed(), weight, pending[0]);
  pending[0] = 0;
}

void FadingCovariance::refresh() {
  check_counters();
  discriminants(class_weight, B, A, columns.size(), V, offset);
  next[0] = seen[0] < kFirst ? std::min(next_refresh(seen[0]), kFirst) : seen[0] + kGroup;
}

PackedRows<float> FadingCovariance::packed() const {
  return kept.reshaped(V.size(0) / kSide, kGroup, kSide);
}

void FadingCovariance::check_counters() const {
  if (pending[0] < 0 || pending[0] > kGroup) {
    throw std::invalid_argument("fading_covariance.pending is out of range");
  }
}

// Set rows (n, E), which are zeros, to the columns of φ that are used.
void FadingCovariance::gather(Matrix<const float> phi, Matrix<float> rows) const {
  for (const std::int64_t column : columns) {
    if (column < 0 || column >= phi.size(1)) {
      throw std::invalid_argument("fading_covariance.columns are not columns of phi");
    }
  }
  for (Index i = 0; i < phi.size(); ++i) {
    for (Index f = 0; f < columns.size(); ++f) rows(i, f) = phi(i, columns[f]);
  }
}

void FadingCovariance::keep(Vector<const float> row, std::int64_t y, double w) {
  const Index r = pending[0];
  pack_row(row, packed(), r);
  weight[r] = w;
  active[y] = true;
  const auto sum = B[y];
  for (Index f = 0; f < row.size(); ++f) sum[f] += w * static_cast<double>(row[f]);
  ++pending[0];
  ++seen[0];
}

void FadingCovariance::forget() {
  for (double& sum : A) sum *= kKeep;
  for (double& sum : B) sum *= kKeep;
  for (Index c = 0; c < classes(); ++c) {
    class_weight[c] *= kKeep;
    log_count[c] = log(class_weight[c] + 0.5);
  }
}

}  // namespace rpnb
