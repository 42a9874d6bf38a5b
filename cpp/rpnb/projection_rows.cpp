#include "projection_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../simd.h"
#include "../workspace.h"

namespace rpnb {

namespace {

// Entries of a matrix that are applied to all rows before the next ones: they stay in the
// second-level cache.
constexpr Index kEntries = Index{1} << 16;
// Rows drawn at a time of a matrix that is not stored.
constexpr Index kPanel = 256;
// Features added at a time, so that a sum is loaded and stored once for all of them.
constexpr int kTogether = 4;

// Add x times a row of the matrix to the sums z, rounding once.
void add_one(double x, const float* r, Vector<double> z) {
  const Index F = z.size();
  double* const sums = z.data();
  Index f = 0;
  for (; f + kDoubles <= F; f += kDoubles) {
    store(sums + f, fused(repeat(x), load_widened(r + f), load(sums + f)));
  }
  for (; f < F; ++f) sums[f] = std::fma(x, static_cast<double>(r[f]), sums[f]);
}

// Do what `add_one` does for each of several features, one after the other.
void add_several(const std::array<double, kTogether>& x,
                 const std::array<const float*, kTogether>& r, Vector<double> z) {
  const Index F = z.size();
  double* const sums = z.data();
  // Copies that cannot alias z.
  const std::array<double, kTogether> value = x;
  const std::array<const float*, kTogether> row = r;
  Index f = 0;
  for (; f + kDoubles <= F; f += kDoubles) {
    Doubles sum = load(sums + f);
    for (int t = 0; t < kTogether; ++t) {
      sum = fused(repeat(value[t]), load_widened(row[t] + f), sum);
    }
    store(sums + f, sum);
  }
  for (; f < F; ++f) {
    for (int t = 0; t < kTogether; ++t) {
      sums[f] = std::fma(value[t], static_cast<double>(row[t][f]), sums[f]);
    }
  }
}

// Add to z the contributions of a row's values `first` to `last`, the latter excluded;
// row_of(column) points to the row of the matrix that belongs to a feature.
template <class RowOf>
void add_contributions(const Row& row, Index first, Index last, double scale, RowOf row_of,
                       Vector<double> z) {
  std::array<double, kTogether> x;
  std::array<const float*, kTogether> r;
  int count = 0;
  for (Index j = first; j < last; ++j) {
    if (row.values[j] == 0.0) continue;
    x[count] = row.values[j] * scale;
    r[count] = row_of(row.column(j));
    if (++count == kTogether) {
      add_several(x, r, z);
      count = 0;
    }
  }
  for (int t = 0; t < count; ++t) add_one(x[t], r[t], z);
}

// The position in each row up to which values are added.
class Cursors {
 public:
  Cursors(const RowBlock& rows, Workspace& space)
      : rows_(rows), next_(space.take_zeros<Index>(rows.size())) {}

  // Add the contributions of the next values, up to feature `last`, to Z.
  template <class RowOf>
  void add_up_to(Index last, double scale, RowOf row_of, Matrix<double> Z) const {
    for (Index b = 0; b < rows_.size(); ++b) {
      const Row row = rows_[b];
      const Index first = next_[b];
      Index stop = first;
      if (row.sparse()) {
        while (stop < row.size() && row.columns[stop] <= last) ++stop;
      } else {
        stop = std::min(last + 1, row.size());
      }
      add_contributions(row, first, stop, scale, row_of, Z[b]);
      next_[b] = stop;
    }
  }

 private:
  const RowBlock& rows_;
  Vector<Index> next_;
};

// List the features that occur in any row in `met` (p,), ascending; return their number.
Index list_features(const RowBlock& rows, Vector<Index> met) {
  if (!rows.sparse()) {
    for (Index i = 0; i < met.size(); ++i) met[i] = i;
    return rows.values().size() > 0 ? met.size() : 0;
  }
  Workspace space;
  const auto has = space.take_zeros<bool>(met.size());
  for (const std::int64_t column : rows.columns()) has[column] = true;
  Index count = 0;
  for (Index i = 0; i < met.size(); ++i) {
    met[count] = i;
    count += static_cast<Index>(has[i]);
  }
  return count;
}

}  // namespace

void project_rows(const RowBlock& rows, double scale, Matrix<const float> R, Matrix<double> Z) {
  const Index p = R.size(0);
  const Index F = R.size(1);
  // Dense rows need the whole matrix; sparse rows have few features in common.
  const Index together = rows.sparse() ? p : std::max(kEntries / std::max(F, Index{1}), Index{8});
  const auto row_of = [&](Index i) { return R.data() + i * F; };
  Workspace space;
  const Cursors cursors(rows, space);
  Z.fill(0.0);
  for (Index first = 0; first < p; first += together) {
    cursors.add_up_to(std::min(first + together, p) - 1, scale, row_of, Z);
  }
}

void project_rows(const RowBlock& rows, double scale, const DrawnMatrix& matrix, Matrix<double> Z) {
  const Index p = matrix.features.size();
  const Index F = Z.size(1);
  Workspace space;
  const Cursors cursors(rows, space);
  const auto met = space.take<Index>(p);
  const Index count = list_features(rows, met);
  const auto place = space.take<Index>(p);  // of a feature in the panel
  const auto features = space.take<std::uint64_t>(kPanel);
  const auto R = space.take<float>(kPanel, F);
  const auto row_of = [&](Index i) { return R.data() + place[i] * F; };
  Z.fill(0.0);
  for (Index first = 0; first < count; first += kPanel) {
    const Index size = std::min(kPanel, count - first);
    for (Index i = 0; i < size; ++i) {
      const Index feature = met[first + i];
      features[i] = matrix.features[feature];
      place[feature] = i;
    }
    draw_matrix(matrix.distribution, matrix.seed, features.slice(0, size), matrix.q,
                R.slice(0, size));
    cursors.add_up_to(met[first + size - 1], scale, row_of, Z);
  }
}

}  // namespace rpnb
