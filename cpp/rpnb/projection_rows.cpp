#include "projection_rows.h"

#include <algorithm>
#include <cmath>

#include "../simd.h"
#include "../workspace.h"

namespace rpnb {

namespace {

// Rows of a matrix that is not kept which are drawn and used together.
constexpr Index kPanel = 256;
// Features that are added together, so that a sum is loaded and stored once for all.
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
void add_several(const double* x, const float* const* r, Vector<double> z) {
  const Index F = z.size();
  double* const sums = z.data();
  Index f = 0;
  for (; f + kDoubles <= F; f += kDoubles) {
    Doubles sum = load(sums + f);
    for (int t = 0; t < kTogether; ++t) {
      sum = fused(repeat(x[t]), load_widened(r[t] + f), sum);
    }
    store(sums + f, sum);
  }
  for (; f < F; ++f) {
    for (int t = 0; t < kTogether; ++t) {
      sums[f] = std::fma(x[t], static_cast<double>(r[t][f]), sums[f]);
    }
  }
}

// Add to z the contributions of a row's values `first` to `last`, the latter excluded;
// row_of(column) points to the row of the matrix that belongs to a feature.
template <class RowOf>
void add_contributions(const Row& row, Index first, Index last, double scale, RowOf row_of,
                       Vector<double> z) {
  double x[kTogether];
  const float* r[kTogether];
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

// Write the features that any of the rows has to `met`, ascending; return their number.
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
  const Index F = R.size(1);
  const auto row_of = [&](Index i) { return R.data() + i * F; };
  for (Index b = 0; b < rows.size(); ++b) {
    const Row row = rows[b];
    Z[b].fill(0.0);
    add_contributions(row, 0, row.size(), scale, row_of, Z[b]);
  }
}

void project_rows(const RowBlock& rows, double scale, const DrawnMatrix& matrix,
                  Matrix<double> Z) {
  const Index n = rows.size();
  const Index F = Z.size(1);
  Workspace space;
  const auto met = space.take<Index>(matrix.features.size());
  const Index count = list_features(rows, met);
  const auto place = space.take<Index>(matrix.features.size());  // of a feature in the panel
  const auto next = space.take_zeros<Index>(n);                  // value of each row
  const auto features = space.take<std::uint64_t>(kPanel);
  const auto R = space.take<float>(kPanel, F);
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
    const Index last_feature = met[first + size - 1];
    const auto row_of = [&](Index i) { return R.data() + place[i] * F; };
    for (Index b = 0; b < n; ++b) {
      const Row row = rows[b];
      Index stop = next[b];
      while (stop < row.size() && row.column(stop) <= last_feature) ++stop;
      add_contributions(row, next[b], stop, scale, row_of, Z[b]);
      next[b] = stop;
    }
  }
}

}  // namespace rpnb
