#include "row_discriminants.h"

#include <cmath>

#include "../workspace.h"
#include "algebra/blocks.h"
#include "algebra/row_products.h"
#include "discriminant.h"

namespace rpnb {

namespace {

// Inner products of rows with class sums, and of class sums with each other.
struct ClassProducts {
  Matrix<double> P;           // (t, M) ⟨φ_r, B_c⟩
  Matrix<double> transposed;  // (M, t) the same
  Matrix<double> R;           // (M, M) ⟨B_a, B_c⟩/n_a
};

void fill_class_products(const RowSample& rows, Vector<const double> count,
                         const ClassProducts& out) {
  const Index t = rows.size();
  const Index M = count.size();
  Workspace workspace;
  // Both triangles, so that the products of a row with all others are contiguous.
  const auto products = workspace.take<float>(t, t);
  for (Index r = 0; r < t; ++r) {
    for (Index s = 0; s <= r; ++s) products(r, s) = products(s, r) = rows.gram(r, s);
  }
  out.transposed.fill(0.0);
  for (Index s = 0; s < t; ++s) {
    const auto sums = out.transposed[rows.labels[s]];
    const auto with_s = products[s];
    const double w = rows.weight[s];
    for (Index r = 0; r < t; ++r) sums[r] += w * static_cast<double>(with_s[r]);
  }
  for (Index r = 0; r < t; ++r) {
    for (Index c = 0; c < M; ++c) out.P(r, c) = out.transposed(c, r);
  }
  out.R.fill(0.0);
  for (Index r = 0; r < t; ++r) {
    const Index a = rows.labels[r];
    const auto sums = out.R[a];
    for (Index c = 0; c < M; ++c) sums[c] += rows.weight[r] * out.P(r, c) / count[a];
  }
}

// Traces of G and of A, and the squared norm of G.
struct Moments {
  double trace = 0.0;
  double whole = 0.0;
  double square = 0.0;
};

// Fill the lower triangle of G = Φ·Φᵀ, in blocks.
Moments fill_gram(const RowSample& rows, Vector<const double> count, const ClassProducts& with,
                  Vector<const double> root, Vector<double> G) {
  const Index t = rows.size();
  const Index M = count.size();
  Workspace workspace;
  // ⟨mean of class c, φ_r⟩ and ⟨mean of class a, mean of class c⟩.
  const auto to_mean = workspace.take_zeros<double>(M, t);
  const auto between = workspace.take_zeros<double>(M, M);
  for (Index c = 0; c < M; ++c) {
    if (!(count[c] > 0.0)) continue;
    for (Index r = 0; r < t; ++r) to_mean(c, r) = with.transposed(c, r) / count[c];
    for (Index a = 0; a < M; ++a) between(a, c) = with.R(a, c) / count[c];
  }
  const auto row = workspace.take<double>(t);
  const auto r_to_mean = workspace.take<double>(M);
  Moments moments;
  for (Index r = 0; r < t; ++r) {
    const Index a = rows.labels[r];
    for (Index c = 0; c < M; ++c) r_to_mean[c] = to_mean(c, r);
    const auto to_mean_of_a = to_mean[a];
    const auto between_a = between[a];
    for (Index s = 0; s <= r; ++s) {
      const Index c = rows.labels[s];
      const double g =
          static_cast<double>(rows.gram(r, s)) - r_to_mean[c] - to_mean_of_a[s] + between_a[c];
      row[s] = g * (root[r] * root[s]);
    }
    for (Index s = 0; s <= r; ++s) {
      const double g = row[s];
      G[place(r, s)] = g;
      moments.square += s == r ? g * g : 2.0 * g * g;
    }
    moments.trace += row[r];
    moments.whole += rows.weight[r] * static_cast<double>(rows.gram(r, r));
  }
  return moments;
}

// Set rows of X (t or more, C), which are zeros, to ΦU.
void fill_offsets(const RowSample& rows, Vector<const double> count, double total,
                  const ClassProducts& with, Vector<const double> root, Matrix<double> X) {
  const Index M = count.size();
  for (Index r = 0; r < rows.size(); ++r) {
    const auto of_class = with.R[rows.labels[r]];
    double to_mean = 0.0;
    for (Index c = 0; c < M; ++c) to_mean += (with.P(r, c) - of_class[c]) / total;
    for (Index c = 0; c < M; ++c) {
      if (!(count[c] > 0.0)) continue;
      const double to_class = with.P(r, c) - of_class[c] + kMeanWeight * to_mean;
      X(r, c) = root[r] * (to_class / (count[c] + kMeanWeight) - to_mean);
    }
  }
}

// Replace X by the coefficients of the rows φ_r in ΦᵀX.
void fill_coefficients(const RowSample& rows, Vector<const double> count, Vector<const double> root,
                       Matrix<double> X) {
  const Index C = X.size(1);
  Workspace workspace;
  const auto sums = workspace.take_zeros<double>(count.size(), C);
  for (Index r = 0; r < rows.size(); ++r) {
    const auto of_class = sums[rows.labels[r]];
    for (Index c = 0; c < C; ++c) of_class[c] += root[r] * X(r, c);
  }
  for (Index r = 0; r < rows.size(); ++r) {
    const Index a = rows.labels[r];
    const auto of_class = sums[a];
    const double share = rows.weight[r] / count[a];
    for (Index c = 0; c < C; ++c) X(r, c) = root[r] * X(r, c) - share * of_class[c];
  }
}

}  // namespace

void discriminants_from_rows(const RowSample& rows, Vector<const double> count,
                             Matrix<const double> B, Index dimension, Matrix<float> V,
                             Vector<float> offset) {
  const Index t = rows.size();
  const Index M = count.size();
  const Index E = V.size(0);
  const Index C = V.size(1);
  Workspace workspace;
  const auto m = workspace.take<double>(E);
  const double total = common_mean(count, B, m);
  const ClassProducts with{workspace.take<double>(t, M), workspace.take<double>(M, t),
                           workspace.take<double>(M, M)};
  fill_class_products(rows, count, with);
  const auto root = workspace.take<double>(t);
  for (Index r = 0; r < t; ++r) root[r] = std::sqrt(rows.weight[r]);
  const Index side = padded(t);
  const auto G = workspace.take_zeros<double>(matrix_entries(side));
  const auto [trace, whole, square] = fill_gram(rows, count, with, root, G);
  const double df = degrees(count, total);
  const auto [ridge, effective] =
      shrinkage(trace / df, square / (df * df), df, dimension, whole / df);
  for (Index r = 0; r < side; ++r) G[place(r, r)] += ridge;
  // With a ridge of at least 1 this fails only if sums are not finite.
  static_cast<void>(cholesky(G, side));
  const auto X = workspace.take_zeros<double>(side, C);
  fill_offsets(rows, count, total, with, root, X);
  solve(G, X);
  fill_coefficients(rows, count, root, X);
  const auto combined = workspace.take<double>(C, E);
  combine_rows(rows.packed, X.slice(0, t), combined);
  const auto U = workspace.take<double>(E, C);
  class_offsets(count, B, m, U);
  const auto directions = workspace.take<double>(E, C);
  for (Index f = 0; f < E; ++f) {
    for (Index c = 0; c < C; ++c) directions(f, c) = (U(f, c) - combined(c, f)) / ridge;
  }
  store_directions(m, U, directions, effective, V, offset);
}

}  // namespace rpnb
