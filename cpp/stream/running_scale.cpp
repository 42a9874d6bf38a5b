#include "running_scale.h"

#include <algorithm>
#include <cmath>

#include "../simd.h"

namespace rpnb {

namespace {

// A smaller variance may be the result of underflow: the column counts as constant.
constexpr double kLeastVariance = 1e-280;
constexpr double kLeastWeight = 1e-300;

// Scale one value; a missing value stays missing.
[[gnu::always_inline]] inline double scaled(double x, double mean, double scatter, double weight,
                                            double clip) {
  const double variance = scatter / weight;
  double z = (x - mean) / std::sqrt(variance);
  z = z < -clip ? -clip : z;
  z = z > clip ? clip : z;
  // This includes a weight of 0: comparisons with 0/0 are false.
  return variance > kLeastVariance ? z : x - x;
}

// Scale a dense row x (p,) by statistics of weight `total`.
void apply(const RunningScale& scale, Vector<const double> x, double total, double clip,
           Vector<double> out) {
  const double* __restrict mean = scale.mean.data();
  const double* __restrict scatter = scale.scatter.data();
  const double* __restrict missing = scale.missing.data();
  const double* __restrict from = x.data();
  double* __restrict to = out.data();
  for (Index j = 0; j < x.size(); ++j) {
    const double known = std::max(total - missing[j], 0.0);
    to[j] = scaled(from[j], mean[j], scatter[j], known, clip);
  }
}

// The statistics of a column, or of a vector of columns.
template <class V>
struct Column {
  V mean;
  V scatter;
  V missing;
};

// The statistics of a column of weight `total` after a value x of weight w. Without branches:
// a missing value has weight 0 and deviation 0.
template <class V>
[[gnu::always_inline]] inline Column<V> add_value(const Column<V>& column, V x, V total, V w) {
  const V zero{};
  const V least = zero + kLeastWeight;
  const auto absent = x != x;
  const V delta = absent ? zero : x - column.mean;
  const V added = absent ? zero : w;
  const V left = total - column.missing;
  const V before = left < zero ? zero : left;
  const V after = before + added;
  const V share = added / (after < least ? least : after);
  return {column.mean + delta * share, column.scatter + delta * delta * (before * share),
          column.missing + (w - added)};
}

// Add a dense row x (p,) of weight w to statistics of weight `total`.
void add_centred(RunningScale& scale, Vector<const double> x, double total, double w) {
  double* mean = scale.mean.data();
  double* scatter = scale.scatter.data();
  double* missing = scale.missing.data();
  Index j = 0;
  for (; j + kDoubles <= x.size(); j += kDoubles) {
    const Column<Doubles> before{load(mean + j), load(scatter + j), load(missing + j)};
    const auto after = add_value(before, load(x.data() + j), repeat(total), repeat(w));
    store(mean + j, after.mean);
    store(scatter + j, after.scatter);
    store(missing + j, after.missing);
  }
  for (; j < x.size(); ++j) {
    const Column<double> before{mean[j], scatter[j], missing[j]};
    const auto after = add_value(before, x[j], total, w);
    mean[j] = after.mean;
    scatter[j] = after.scatter;
    missing[j] = after.missing;
  }
}

// Add a dense row x (p,) of weight w, not centred.
void add_raw(RunningScale& scale, Vector<const double> x, double w) {
  double* __restrict scatter = scale.scatter.data();
  double* __restrict missing = scale.missing.data();
  const double* __restrict from = x.data();
  for (Index j = 0; j < x.size(); ++j) {
    const bool absent = std::isnan(from[j]);
    const double value = absent ? 0.0 : from[j];
    scatter[j] += w * (value * value);
    missing[j] += absent ? w : 0.0;
  }
}

void add(RunningScale& scale, Vector<const double> x, double total, double w) {
  if (scale.centred[0]) {
    add_centred(scale, x, total, w);
  } else {
    add_raw(scale, x, w);
  }
}

// Add a sparse row of weight w.
void add_sparse(RunningScale& scale, const Row& row, double w) {
  for (Index e = 0; e < row.size(); ++e) {
    const Index j = row.columns[e];
    const double x = row.values[e];
    if (std::isnan(x)) {
      scale.missing[j] += w;
    } else {
      scale.scatter[j] += w * (x * x);
    }
  }
}

// Call `apply_batch` with the bounds of each mini-batch, then `add_row` with each row that is
// to be added and its weight, which is counted here.
template <class Apply, class Add>
void for_each_batch(RunningScale& scale, Index n, const ScaleJob& job, Apply&& apply_batch,
                    Add&& add_row) {
  for (Index start = 0; start < n; start += job.size) {
    const Index stop = std::min(start + job.size, n);
    apply_batch(start, stop);
    for (Index i = start; i < stop; ++i) {
      if (job.y[i] < 0) continue;
      const double w = job.weight_of(i);
      add_row(i, w);
      scale.weight[0] += w;
      scale.seen[0] += 1;
    }
  }
}

}  // namespace

void scale_rows(RunningScale& scale, Matrix<const double> X, const ScaleJob& job,
                Matrix<double> out) {
  for_each_batch(
      scale, X.size(), job,
      [&](Index start, Index stop) {
        for (Index i = start; i < stop; ++i) {
          apply(scale, X[i], scale.weight[0], job.clip, out[i]);
        }
      },
      [&](Index i, double w) { add(scale, X[i], scale.weight[0], w); });
}

void scale_sparse_rows(RunningScale& scale, const RowBlock& rows, const ScaleJob& job,
                       Vector<double> out) {
  for_each_batch(
      scale, rows.size(), job,
      [&](Index start, Index stop) {
        for (Index e = rows.start(start); e < rows.start(stop); ++e) {
          const Index j = rows.columns()[e];
          const double known = std::max(scale.weight[0] - scale.missing[j], 0.0);
          out[e] = scaled(rows.values()[e], 0.0, scale.scatter[j], known, job.clip);
        }
      },
      [&](Index i, double w) { add_sparse(scale, rows[i], w); });
}

}  // namespace rpnb
