#include "discriminant.h"

#include <algorithm>

#include "../math.h"
#include "../simd.h"
#include "../tile.h"
#include "../workspace.h"
#include "algebra/blocks.h"
#include "algebra/row_products.h"

namespace rpnb {

namespace {

constexpr double kMostShrunk = 0.999;
constexpr double kLeastRidge = 1.0;
constexpr double kRounding = 1e-5;
constexpr int kMostAttempts = 30;
constexpr Index kSummed = 128;

void add_ridge(Vector<double> matrix, Index E, double ridge) {
  for (Index f = 0; f < E; ++f) matrix[place(f, f)] += ridge;
}

double trace_of(Vector<const double> matrix, Index E) {
  double trace = 0.0;
  for (Index f = 0; f < E; ++f) trace += matrix[place(f, f)];
  return trace;
}

// The sum of squares of all entries of the symmetric matrix.
double squared_norm(Vector<const double> matrix, Index E) {
  constexpr int kVectors = kSide / kWideDoubles;
  alignas(kAlignment) double lanes[kSide];
  double total = 0.0;
  for (Index H = 0; H < E / kSide; ++H) {
    for (Index J = 0; J <= H; ++J) {
      const double* block = matrix.data() + block_place(H, J);
      Tile<WideDoubles, 1, kVectors> squares;
      for (Index k = 0; k < kBlockEntries; k += kSide) {
        squares.for_each([&](int, int v, WideDoubles& square) {
          const auto x = load<WideDoubles>(block + k + kWideDoubles * v);
          square += x * x;
        });
      }
      squares.for_each([&](int, int v, const WideDoubles& square) {
        store_lanes(lanes + kWideDoubles * v, square);
      });
      double part = 0.0;
      for (const double lane : lanes) part += lane;
      total += H == J ? part : 2.0 * part;
    }
  }
  return total;
}

void count_row(std::int64_t y, double weight, Vector<double> count, Vector<double> log_count) {
  count[y] += weight;
  log_count[y] = log(count[y] + 0.5);
}

void add_constants(Vector<const float> products, Vector<const double> log_count,
                   Vector<double> scores) {
  for (Index c = 0; c < log_count.size(); ++c) {
    scores[c] = static_cast<double>(products[c]) + log_count[c];
  }
}

}  // namespace

Shrinkage shrinkage(double T1, double T2, double df, Index E, double total) {
  const auto dimension = static_cast<double>(E);
  const double below = (df + 1.0 - 2.0 / dimension) * (T2 - T1 * T1 / dimension);
  double rho = kMostShrunk;
  if (below > 0.0 && kRounding * total < T1) {
    const double found = ((1.0 - 2.0 / dimension) * T2 + T1 * T1) / below;
    if (!(rho < found)) rho = found;
  }
  const double effective = df / (1.0 - rho);
  const double ridge = rho * T1 / dimension * effective;
  return {kLeastRidge > ridge ? kLeastRidge : ridge, effective};
}

double degrees(Vector<const double> count, double total) {
  Index seen = 0;
  for (const double n : count) seen += static_cast<Index>(n > 0.0);
  const double left = total - static_cast<double>(seen);
  return 1.0 > left ? 1.0 : left;
}

double common_mean(Vector<const double> count, Matrix<const double> B, Vector<double> m) {
  double total = 0.0;
  m.fill(0.0);
  for (Index c = 0; c < count.size(); ++c) {
    if (!(count[c] > 0.0)) continue;
    total += count[c];
    const auto sum = B[c];
    for (Index f = 0; f < m.size(); ++f) m[f] += sum[f];
  }
  if (total > 0.0) {
    for (double& value : m) value /= total;
  }
  return total;
}

void class_offsets(Vector<const double> count, Matrix<const double> B, Vector<const double> m,
                   Matrix<double> U) {
  U.fill(0.0);
  for (Index c = 0; c < count.size(); ++c) {
    if (!(count[c] > 0.0)) continue;
    const double n = count[c] + kMeanWeight;
    const auto sum = B[c];
    for (Index f = 0; f < m.size(); ++f) U(f, c) = (sum[f] + kMeanWeight * m[f]) / n - m[f];
  }
}

void store_directions(Vector<const double> m, Matrix<const double> U,
                      Matrix<const double> directions, double factor, Matrix<float> V,
                      Vector<float> offset) {
  const Index E = V.size(0);
  const Index C = V.size(1);
  for (Index c = 0; c < C; c += kWideDoubles) {
    WideDoubles constant{};
    for (Index f = 0; f < E; ++f) {
      const WideDoubles v = factor * load<WideDoubles>(directions.data() + f * C + c);
      store_narrowed(V.data() + f * C + c, v);
      constant -= (m[f] + 0.5 * load<WideDoubles>(U.data() + f * C + c)) * v;
    }
    store_narrowed(offset.data() + c, constant);
  }
}

void discriminants(Vector<const double> count, Matrix<const double> B, Vector<const double> A,
                   Index dimension, Matrix<float> V, Vector<float> offset) {
  const Index E = V.size(0);
  const Index C = V.size(1);
  Workspace workspace;
  const auto m = workspace.take<double>(E);
  const double total = common_mean(count, B, m);
  if (total <= 0.0) return;
  // The sums B_c, and B_c/n_c, of the classes that have rows.
  const Index K = std::count_if(count.begin(), count.end(), [](double n) { return n > 0.0; });
  const auto left = workspace.take<double>(E / kSide, K, kSide);
  const auto right = workspace.take<double>(E / kSide, K, kSide);
  Index k = 0;
  for (Index c = 0; c < count.size(); ++c) {
    if (!(count[c] > 0.0)) continue;
    for (Index b = 0; b < E / kSide; ++b) {
      for (Index i = 0; i < kSide; ++i) {
        const double sum = B(c, kSide * b + i);
        left(b, k, i) = sum;
        right(b, k, i) = sum / count[c];
      }
    }
    ++k;
  }
  const auto S = workspace.take<double>(A.size());
  subtract_outer(A, left, right, S);
  const double df = degrees(count, total);
  auto [ridge, effective] = shrinkage(trace_of(S, E) / df, squared_norm(S, E) / (df * df), df,
                                      dimension, trace_of(A, E) / df);
  add_ridge(S, E, ridge);
  for (int attempts = 1; !cholesky(S, E); ++attempts) {
    // Rounding left S with a negative eigenvalue. If A is not a sum of products, no ridge helps.
    if (attempts > kMostAttempts) return;
    ridge *= 10.0;
    subtract_outer(A, left, right, S);
    add_ridge(S, E, ridge);
  }
  const auto U = workspace.take<double>(E, C);
  class_offsets(count, B, m, U);
  const auto X = workspace.take<double>(E, C);
  std::copy(U.begin(), U.end(), X.begin());
  solve(S, X);
  store_directions(m, U, X, effective, V, offset);
}

void add_rows(Vector<double> A, PackedRows<const float> packed, Vector<const double> weight,
              Index n) {
  if (std::all_of(weight.begin(), weight.begin() + n, [](double w) { return w == 1.0; })) {
    add_exact_products(A, packed, 0, n);
    return;
  }
  Workspace workspace;
  const auto weighted = workspace.take<float>(packed.size(0), packed.size(1), kSide);
  for (Index b = 0; b < packed.size(0); ++b) {
    for (Index r = 0; r < n; ++r) {
      for (Index i = 0; i < kSide; ++i) {
        weighted(b, r, i) = static_cast<float>(static_cast<double>(packed(b, r, i)) * weight[r]);
      }
    }
  }
  for (Index first = 0; first < n; first += kSummed) {
    add_products(A, packed, weighted, first, std::min(first + kSummed, n));
  }
}

void score_linear(Matrix<const float> rows, Matrix<const float> V, Vector<const float> offset,
                  Vector<const double> log_count, const Scores& scores, Index first) {
  Workspace workspace;
  const auto products = workspace.take<float>(rows.size(), V.size(1));
  multiply_rows(rows, V, offset, products);
  for (Index i = 0; i < rows.size(); ++i) {
    add_constants(products[i], log_count, scores(first + i));
  }
}

void score_and_count(Matrix<const float> rows, Matrix<const float> V, Vector<const float> offset,
                     const Labels& labels, Vector<double> count, Vector<double> log_count,
                     const Scores& scores, Index first) {
  Workspace workspace;
  const auto products = workspace.take<float>(scores.wanted() ? rows.size() : 0, V.size(1));
  if (scores.wanted()) multiply_rows(rows, V, offset, products);
  for (Index i = 0; i < rows.size(); ++i) {
    if (scores.wanted()) add_constants(products[i], log_count, scores(first + i));
    if (labels.known(i)) count_row(labels.y[i], labels.weight[i], count, log_count);
  }
}

double log_of_no_rows() { return log(0.5); }

}  // namespace rpnb
