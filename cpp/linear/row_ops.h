// Operations of the linear learners on rows: products, weight and covariance updates.
//
// Sums are taken over the columns in ascending order, so that a dense row and the same row
// without its zeros give the same bits.
#pragma once

#include "../rows.h"

namespace rpnb {

// The product of a row with w (p,).
double dot(const Row& row, Vector<const double> w);

// Write the products of a row with the rows of W (M, p) to `scores` (M,).
void products(const Row& row, Matrix<const double> W, Vector<double> scores);

// Do the same, and return the sum of squares of the row.
double products_and_square(const Row& row, Matrix<const double> W, Vector<double> scores);

// The sum of squares.
double square_norm(Vector<const double> values);

// Write the sum of squares of each row of W (M, p) to `norms` (M,).
void square_norms(Matrix<const double> W, Vector<double> norms);

// Scale w (p,) to length 1 if it is longer, without intermediate overflow.
void project_to_ball(Vector<double> w);

// Whether keep·w + step·row is finite in every column.
bool stays_finite(Vector<const double> w, const Row& row, double keep, double step);

// Set w (p,) to keep·w + step·row.
void update_weights(Vector<double> w, const Row& row, double keep, double step);

// Σx of a row x, and v = xᵀΣx.
struct Direction {
  Vector<double> g;
  Vector<const std::int64_t> columns;  // of g; empty if these are all columns in order
  double v;

  [[nodiscard]] Row row() const { return {g, columns}; }
  [[nodiscard]] Index column(Index j) const { return columns.size() > 0 ? columns[j] : j; }
};

// Return Σx of a row x, stored in g (p,), and v = xᵀΣx.
//
// S is Σ (p, p), or its diagonal (1, p). With a diagonal, Σx has the columns of x;
// otherwise it is dense.
Direction covariance_product(const Row& row, Matrix<const double> S, Vector<double> g);

// Whether g and v can be Σx and xᵀΣx: g_j² ≤ Σ_jj·v by Cauchy and Schwarz.
//
// Where Σ has nearly vanished along x, both are differences of large numbers and may be
// rounding error only. A factor of two is tolerated.
bool is_credible(Matrix<const double> S, const Direction& direction);

// Subtract β·g·gᵀ from Σ, with g = Σx and v = xᵀΣx; g is overwritten.
//
// Σ stays symmetric to the bit. In exact arithmetic β·v < 1 and every variance stays
// positive. Departures, not made if `libol`: β·v is at most 1 − 2⁻⁴⁰, and a step that
// would leave a variance ≤ 0 by rounding is not taken.
void shrink_covariance(Matrix<double> S, const Direction& direction, double beta, bool libol);

// Divide Σ, or its diagonal, by `divisor`.
void divide_covariance(Matrix<double> S, double divisor);

}  // namespace rpnb
