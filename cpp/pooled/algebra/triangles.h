// Symmetric matrices as lower triangles: quadratic forms, products, inverses.
//
// A triangle is kept row by row: entry (j, k), k ≤ j, has the number j(j + 1)/2 + k. The
// matrices of four classes are interleaved, entry by entry, as the lanes of a vector.
#pragma once

#include "../../array.h"
#include "../../simd.h"

namespace rpnb {

// Entries of the triangle of a matrix with d rows.
constexpr Index triangle_size(Index d) { return d * (d + 1) / 2; }

// The number of entry (j, j).
constexpr Index diagonal_entry(Index j) { return j * (j + 3) / 2; }

// Quadratic forms of 4G classes: their centres and factors.
struct FormTerms {
  Vector<const double> share;   // (4G,) weight of a class's mean in its centre
  Vector<const double> rest;    // (4G,) weight of the common mean in it
  Vector<const double> factor;  // (4G,)
};

// Set forms (4G,) to 1 + factor·δᵀAδ, with δ = x − share·mean − rest·m0 of each class.
//
// `inverses` (G, P, 4) holds the matrices A, `means` (G, d, 4) the means. The forms of groups
// that are not `chosen` (G,) are not changed; a form that is negative by rounding counts as
// 0. `delta` (4d,) is working memory.
void fill_forms(const View<const double, 3>& inverses, const View<const double, 3>& means,
                Vector<const bool> chosen, Vector<const double> x, Vector<const double> m0,
                const FormTerms& terms, Vector<double> delta, Vector<double> forms);

// Set v to matrix·delta; return ⟨delta, v⟩. Entry i of the triangle is entries[Stride·i].
template <Index Stride>
double form(const double* entries, Vector<const double> delta, Vector<double> v);

// Invert a positive definite matrix, or one per lane of V, by its Cholesky factor; return the
// logarithm of its determinant.
//
// Where the matrix is singular up to rounding, pivots are raised to 2⁻⁵² of the diagonal, so
// that the result is finite for any weights. `matrix` and `inverse` are triangles
// (P,) of matrices with d rows.
template <class V>
V invert(Vector<const V> matrix, Index d, Vector<V> inverse);

}  // namespace rpnb
