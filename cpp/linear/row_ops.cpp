#include "row_ops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../simd.h"

namespace rpnb {

namespace {

// A step leaves at least this share of the variance along x. A smaller difference would be
// only rounding error.
constexpr double kRemainder = 0x1p-40;

// Value j of four rows that are `stride` apart, and value j + 1 of them.
struct TwoColumns {
  Doubles first;
  Doubles second;
};
[[gnu::always_inline]] inline TwoColumns load_columns(const double* from, Index stride) {
  const Doubles even = load_halves(from, from + 2 * stride);
  const Doubles odd = load_halves(from + stride, from + 3 * stride);
  return {__builtin_shufflevector(even, odd, 0, 4, 2, 6),
          __builtin_shufflevector(even, odd, 1, 5, 3, 7)};
}

// The products of x (p,) with four rows of W in each of G groups; `first` are their first
// rows. Each lane adds its row's terms one by one, and many lanes do so at once. With
// kSquare, the sum of squares of x, added in the same way, is returned.
template <int G, bool kSquare>
double multiply_groups(Vector<const double> x, Matrix<const double> W, const Index* first,
                       double* scores) {
  const Index p = x.size();
  std::array<const double*, G> group;
  for (int g = 0; g < G; ++g) group[g] = W.data() + first[g] * p;
  std::array<Doubles, G> sums{};
  double square = 0.0;
  Index j = 0;
  for (; j + 2 <= p; j += 2) {
    const Doubles x0 = repeat(x[j]);
    const Doubles x1 = repeat(x[j + 1]);
    if constexpr (kSquare) square = (square + x[j] * x[j]) + x[j + 1] * x[j + 1];
    for (int g = 0; g < G; ++g) {
      const auto [w0, w1] = load_columns(group[g] + j, p);
      sums[g] = (sums[g] + x0 * w0) + x1 * w1;
    }
  }
  if (kSquare && j < p) square += x[j] * x[j];
  for (int g = 0; g < G; ++g) {
    const double* w = group[g];
    if (j < p) sums[g] += x[j] * Doubles{w[j], w[p + j], w[2 * p + j], w[3 * p + j]};
    store(scores + first[g], sums[g]);
  }
  return square;
}

// Call multiply_groups for `count` groups, 1 … G.
template <int G, bool kSquare>
double multiply_some_groups(Index count, Vector<const double> x, Matrix<const double> W,
                            const Index* first, double* scores) {
  if constexpr (G > 1) {
    if (count < G) return multiply_some_groups<G - 1, kSquare>(count, x, W, first, scores);
  }
  return multiply_groups<G, kSquare>(x, W, first, scores);
}

// Four rows of W at a time; the last four may contain some of those before.
template <bool kSquare>
double multiply_many(Vector<const double> x, Matrix<const double> W, Vector<double> scores) {
  constexpr Index kLanes = kDoubles;
  constexpr Index kGroups = 4;
  const Index M = W.size();
  double square = 0.0;
  for (Index m = 0; m < M; m += kGroups * kLanes) {
    std::array<Index, kGroups> first;
    Index count = 0;
    for (Index at = m; at < M && count < kGroups; at += kLanes) {
      first[count++] = std::min(at, M - kLanes);
    }
    if (kSquare && m == 0) {
      square = multiply_some_groups<kGroups, true>(count, x, W, first.data(), scores.data());
    } else {
      multiply_some_groups<kGroups, false>(count, x, W, first.data(), scores.data());
    }
  }
  return square;
}

// One to three rows of W.
template <int M, bool kSquare>
double multiply_few(Vector<const double> x, Matrix<const double> W, Vector<double> scores) {
  if constexpr (M > 1) {
    if (W.size() < M) return multiply_few<M - 1, kSquare>(x, W, scores);
  }
  std::array<double, M> sums{};
  double square = 0.0;
  for (Index j = 0; j < x.size(); ++j) {
    for (int m = 0; m < M; ++m) sums[m] += x[j] * W(m, j);
    if constexpr (kSquare) square += x[j] * x[j];
  }
  for (int m = 0; m < M; ++m) scores[m] = sums[m];
  return square;
}

template <bool kSquare>
double dense_products(Vector<const double> x, Matrix<const double> W, Vector<double> scores) {
  if (W.size() >= kDoubles) return multiply_many<kSquare>(x, W, scores);
  return multiply_few<kDoubles - 1, kSquare>(x, W, scores);
}

void sparse_products(const Row& row, Matrix<const double> W, Vector<double> scores) {
  const Index M = W.size();
  for (Index m = 0; m < M; m += 4) {
    const Index rows = std::min<Index>(4, M - m);
    std::array<double, 4> sums{};
    for (Index j = 0; j < row.size(); ++j) {
      for (Index r = 0; r < rows; ++r) sums[r] += row.values[j] * W(m + r, row.columns[j]);
    }
    for (Index r = 0; r < rows; ++r) scores[m + r] = sums[r];
  }
}

// Add step·values to w.
void add(Vector<double> w, Vector<const double> values, double step) {
  double* __restrict to = w.data();
  const double* __restrict from = values.data();
  for (Index j = 0; j < values.size(); ++j) to[j] += step * from[j];
}

// Whether keep·w + step·x is finite in every column.
bool dense_stays_finite(Vector<const double> w, Vector<const double> x, double keep, double step) {
  // x − x is 0 where x is finite, and else NaN.
  Doubles sums = repeat(0.0);
  Index j = 0;
  for (; j + kDoubles <= w.size(); j += kDoubles) {
    const Doubles value = keep * load(w.data() + j) + step * load(x.data() + j);
    sums += value - value;
  }
  double sum_of_all = sum(sums);
  for (; j < w.size(); ++j) {
    const double value = keep * w[j] + step * x[j];
    sum_of_all += value - value;
  }
  return sum_of_all == 0.0;
}

// g_j = Σ_k Σ_kj x_k for `kTile` vectors of columns from j on, added in the order of k.
template <int kTile>
void multiply_columns(const Row& row, Matrix<const double> S, Index j, Vector<double> g) {
  std::array<Doubles, kTile> sums{};
  for (Index i = 0; i < row.size(); ++i) {
    // Σ is symmetric to the bit, so its rows can be used as its columns.
    const double* s = S.data() + row.column(i) * S.size(1) + j;
    const Doubles x = repeat(row.values[i]);
    for (int t = 0; t < kTile; ++t) sums[t] = sums[t] + x * load(s + t * kDoubles);
  }
  for (int t = 0; t < kTile; ++t) store(g.data() + j + t * kDoubles, sums[t]);
}

}  // namespace

double dot(const Row& row, Vector<const double> w) {
  double total = 0.0;
  if (row.sparse()) {
    for (Index j = 0; j < row.size(); ++j) total += row.values[j] * w[row.columns[j]];
  } else {
    for (Index j = 0; j < row.size(); ++j) total += row.values[j] * w[j];
  }
  return total;
}

void products(const Row& row, Matrix<const double> W, Vector<double> scores) {
  if (row.size() == 0) {
    scores.fill(0.0);
  } else if (row.sparse()) {
    sparse_products(row, W, scores);
  } else {
    dense_products<false>(row.values, W, scores);
  }
}

double products_and_square(const Row& row, Matrix<const double> W, Vector<double> scores) {
  if (row.size() > 0 && !row.sparse()) return dense_products<true>(row.values, W, scores);
  products(row, W, scores);
  return square_norm(row.values);
}

double square_norm(Vector<const double> values) {
  double total = 0.0;
  for (const double value : values) total += value * value;
  return total;
}

void project_to_ball(Vector<double> w) {
  double top = 1.0;
  for (const double value : w) top = std::max(top, std::abs(value));
  double total = 0.0;
  for (const double value : w) total += (value / top) * (value / top);
  const double length = top * std::sqrt(total);
  if (length > 1.0) {
    for (double& value : w) value /= length;
  }
}

bool stays_finite(Vector<const double> w, const Row& row, double keep, double step) {
  if (!row.sparse() && row.size() > 0) return dense_stays_finite(w, row.values, keep, step);
  bool finite = true;
  // Columns that the row does not have change by `keep` alone.
  if (keep != 1.0) {
    for (const double value : w) finite &= std::isfinite(keep * value);
  }
  for (Index j = 0; j < row.size(); ++j) {
    finite &= std::isfinite(keep * w[row.columns[j]] + step * row.values[j]);
  }
  return finite;
}

void update_weights(Vector<double> w, const Row& row, double keep, double step) {
  if (!row.sparse() && row.size() > 0) {
    double* __restrict to = w.data();
    const double* __restrict from = row.values.data();
    for (Index j = 0; j < w.size(); ++j) to[j] = keep * to[j] + step * from[j];
    return;
  }
  if (keep != 1.0) {
    for (double& value : w) value *= keep;
  }
  for (Index j = 0; j < row.size(); ++j) w[row.columns[j]] += step * row.values[j];
}

Direction covariance_product(const Row& row, Matrix<const double> S, Vector<double> g) {
  if (S.size() == 1) {
    const Vector<const double> diagonal = S[0];
    const Vector<double> used = g.slice(0, row.size());
    for (Index j = 0; j < row.size(); ++j) used[j] = diagonal[row.column(j)] * row.values[j];
    return {used, row.columns, dot({row.values, {}}, used)};
  }
  const Index p = g.size();
  Index j = 0;
  for (; j + 4 * kDoubles <= p; j += 4 * kDoubles) multiply_columns<4>(row, S, j, g);
  for (; j + kDoubles <= p; j += kDoubles) multiply_columns<1>(row, S, j, g);
  for (; j < p; ++j) {
    g[j] = 0.0;
    for (Index i = 0; i < row.size(); ++i) g[j] += row.values[i] * S(row.column(i), j);
  }
  return {g, {}, dot(row, g)};
}

bool is_credible(Matrix<const double> S, const Direction& direction) {
  const double v = direction.v;
  if (!(v >= 0.0 && std::isfinite(v))) return false;
  const Index stride = S.size() == 1 ? 1 : S.size(1) + 1;
  bool credible = true;
  for (Index j = 0; j < direction.g.size(); ++j) {
    const double variance = S.data()[direction.column(j) * stride];
    credible &= direction.g[j] * direction.g[j] <= 2.0 * variance * v;
  }
  return credible;
}

void shrink_covariance(Matrix<double> S, const Direction& direction, double beta, bool libol) {
  const Vector<double> g = direction.g;
  if (!libol && beta * direction.v > 1.0 - kRemainder) beta = (1.0 - kRemainder) / direction.v;
  const double root = std::sqrt(beta);
  const Index stride = S.size() == 1 ? 1 : S.size(1) + 1;
  bool positive = true;
  for (Index j = 0; j < g.size(); ++j) {
    g[j] *= root;
    positive &= S.data()[direction.column(j) * stride] - g[j] * g[j] > 0.0;
  }
  if (!positive && !libol) return;
  if (S.size() == 1) {
    for (Index j = 0; j < g.size(); ++j) S(0, direction.column(j)) -= g[j] * g[j];
  } else {
    for (Index j = 0; j < g.size(); ++j) add(S[j], g, -g[j]);
  }
}

void divide_covariance(Matrix<double> S, double divisor) {
  for (double& value : S) value /= divisor;
}

}  // namespace rpnb
