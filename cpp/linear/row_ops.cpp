#include "row_ops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../simd.h"

namespace rpnb {

namespace {

// A step leaves at least this share of the variance along x: a smaller remainder would be
// rounding error.
constexpr double kRemainder = 0x1p-40;

// Terms that are summed over the columns of rows of W: the products with a row x …
struct Products {
  const double* x;

  void begin_column(Index /*j*/) {}
  template <class T>
  T term(Index j, T w) const {
    return x[j] * w;
  }
};

// … these, and also the squares of x …
struct ProductsAndSquare {
  const double* x;
  double square = 0.0;

  void begin_column(Index j) { square += x[j] * x[j]; }
  template <class T>
  T term(Index j, T w) const {
    return x[j] * w;
  }
};

// … or the squares of the rows of W.
struct Squares {
  void begin_column(Index /*j*/) {}
  template <class T>
  T term(Index /*j*/, T w) const {
    return w * w;
  }
};

// The sums of four rows of W in each of G groups; `first` are their first rows. Each lane
// adds the terms of its row in order.
template <int G, class Terms>
void sum_groups(Terms& terms, Matrix<const double> W, const Index* first, double* sums_of_rows) {
  const Index p = W.size(1);
  std::array<const double*, G> group;
  for (int g = 0; g < G; ++g) group[g] = W.data() + first[g] * p;
  std::array<Doubles, G> sums{};
  Index j = 0;
  for (; j + 2 <= p; j += 2) {
    terms.begin_column(j);
    terms.begin_column(j + 1);
    for (int g = 0; g < G; ++g) {
      const auto [w0, w1] = load_columns(group[g] + j, p);
      sums[g] = (sums[g] + terms.term(j, w0)) + terms.term(j + 1, w1);
    }
  }
  if (j < p) {
    terms.begin_column(j);
    for (int g = 0; g < G; ++g) {
      const double* w = group[g] + j;
      sums[g] = sums[g] + terms.term(j, Doubles{w[0], w[p], w[2 * p], w[3 * p]});
    }
  }
  for (int g = 0; g < G; ++g) store(sums_of_rows + first[g], sums[g]);
}

// Call sum_groups for `count` groups, 1 … G.
template <int G, class Terms>
void sum_some_groups(Index count, Terms& terms, Matrix<const double> W, const Index* first,
                     double* sums) {
  if constexpr (G > 1) {
    if (count < G) return sum_some_groups<G - 1>(count, terms, W, first, sums);
  }
  sum_groups<G>(terms, W, first, sums);
}

// The sums of all rows of W, which are 1 … M.
template <int M, class Terms>
void sum_few(Terms& terms, Matrix<const double> W, double* sums_of_rows) {
  if constexpr (M > 1) {
    if (W.size() < M) return sum_few<M - 1>(terms, W, sums_of_rows);
  }
  std::array<double, M> sums{};
  for (Index j = 0; j < W.size(1); ++j) {
    terms.begin_column(j);
    for (int m = 0; m < M; ++m) sums[m] += terms.term(j, W(m, j));
  }
  std::copy(sums.begin(), sums.end(), sums_of_rows);
}

// The sums of all rows of W, in groups of four rows. The last group may contain rows of
// the one before. `first_terms` are summed for the first groups, `terms` for the others.
template <class FirstTerms, class Terms>
void sum_rows(FirstTerms& first_terms, Terms terms, Matrix<const double> W, double* sums) {
  constexpr Index kRows = kDoubles;
  constexpr Index kGroups = 4;
  const Index M = W.size();
  if (M == 0) return;
  if (M < kRows) return sum_few<kRows - 1>(first_terms, W, sums);
  for (Index m = 0; m < M; m += kGroups * kRows) {
    std::array<Index, kGroups> first;
    Index count = 0;
    for (Index at = m; at < M && count < kGroups; at += kRows) {
      first[count++] = std::min(at, M - kRows);
    }
    if (m == 0) {
      sum_some_groups<kGroups>(count, first_terms, W, first.data(), sums);
    } else {
      sum_some_groups<kGroups>(count, terms, W, first.data(), sums);
    }
  }
}

// Four rows of W at a time, to hide the latency of the additions.
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
    // Σ is symmetric to the bit: its rows serve as columns.
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
    Products terms{row.values.data()};
    sum_rows(terms, terms, W, scores.data());
  }
}

double products_and_square(const Row& row, Matrix<const double> W, Vector<double> scores) {
  if (row.size() == 0 || row.sparse()) {
    products(row, W, scores);
    return square_norm(row.values);
  }
  const Products terms{row.values.data()};
  ProductsAndSquare first_terms{row.values.data()};
  sum_rows(first_terms, terms, W, scores.data());
  return first_terms.square;
}

void square_norms(Matrix<const double> W, Vector<double> norms) {
  Squares terms;
  sum_rows(terms, terms, W, norms.data());
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
  // Columns that the row lacks are only multiplied by `keep`.
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
  const bool possible = v >= 0.0 && std::isfinite(v);
  if (!possible) return false;
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
