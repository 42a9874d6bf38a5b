// Linear discriminants from sums of products, with a shrunken shared covariance.
//
// From the weight n_c and the sum B_c of each class, and A = Σφφᵀ:
//
//   N = Σ n_c,   m = Σ B_c/N,   S = A − Σ_c B_c·B_cᵀ/n_c,
//   u_c = (B_c + 0.1 m)/(n_c + 0.1) − m
//
//   V = N_eff (S + λI)⁻¹ U,   score_c = (φ − m)ᵀV_c − ½ u_cᵀV_c + log π_c
//
// This is linear discriminant analysis (Fisher 1936; Hastie, Tibshirani & Friedman, "The
// elements of statistical learning", section 4.3). The amount of shrinkage follows the
// oracle approximating shrinkage estimator (Chen, Wiesel, Eldar & Hero, "Shrinkage
// algorithms for MMSE covariance estimation", 2010, equation 23): with df the degrees of
// freedom of S and the moments T₁ = tr S/df, T₂ = |S|²/df² of the covariance S/df,
//
//   ρ = min(0.999, ((1 − 2/E) T₂ + T₁²)/((df + 1 − 2/E)(T₂ − T₁²/E))),
//   N_eff = df/(1 − ρ),   λ = max(1, ρ T₁/E · N_eff)
//
// Departures: λ is at least 1, ρ = 0.999 where S is zero up to rounding, and class means are
// shrunk towards the common mean, which counts as 0.1 rows.
#pragma once

#include "algebra/outer_products.h"
#include "member.h"

namespace rpnb {

// Weight of the common mean in the mean of each class.
inline constexpr double kMeanWeight = 0.1;

struct Shrinkage {
  double ridge;      // λ
  double effective;  // N_eff, the effective number of rows
};

// The shrinkage that follows from the moments T₁ and T₂ of S/df in E dimensions.
//
// `total` is the trace of A/df; relative to it, S may be zero up to rounding.
Shrinkage shrinkage(double T1, double T2, double df, Index E, double total);

// The degrees of freedom of S, for rows of this total weight.
double degrees(Vector<const double> count, double total);

// Set m (E,) to the mean of all rows; return their weight.
double common_mean(Vector<const double> count, Matrix<const double> B, Vector<double> m);

// Set U (E, C) to the columns u_c; 0 for classes without rows.
void class_offsets(Vector<const double> count, Matrix<const double> B, Vector<const double> m,
                   Matrix<double> U);

// Set V (E, C) to factor · directions, and the constants of the classes accordingly.
void store_directions(Vector<const double> m, Matrix<const double> U,
                      Matrix<const double> directions, double factor, Matrix<float> V,
                      Vector<float> offset);

// Compute V (E, C) and the constants (C,) from the sums; `dimension` columns of φ are not
// padding. V is not changed if there are no rows, or if A is not a sum of products.
void discriminants(Vector<const double> count, Matrix<const double> B, Vector<const double> A,
                   Index dimension, Matrix<float> V, Vector<float> offset);

// Add the products of the first n packed rows, times their weights, to A.
//
// If weights differ from 1, products are summed in groups of up to 128 rows.
void add_rows(Vector<double> A, PackedRows<const float> packed, Vector<const double> weight,
              Index n);

// Write the scores of rows (n, E) as scores `first` and following.
//
// `log_count` (M,) is log(n_c + ½).
void score_linear(Matrix<const float> rows, Matrix<const float> V, Vector<const float> offset,
                  Vector<const double> log_count, const Scores& scores, Index first);

// The same, if scores are requested; also count each labelled row before scoring the
// next.
void score_and_count(Matrix<const float> rows, Matrix<const float> V, Vector<const float> offset,
                     const Labels& labels, Vector<double> count, Vector<double> log_count,
                     const Scores& scores, Index first);

// The initial `log_count` of a class: log(0 + ½).
double log_of_no_rows();

}  // namespace rpnb
