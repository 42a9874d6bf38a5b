#include "triangles.h"

#include <cmath>

#include "../../math.h"
#include "../../tile.h"
#include "../../workspace.h"

namespace rpnb {

namespace {

// Smallest ratio of a pivot to its diagonal entry. Less is rounding error, which after a row
// of huge weight exceeds the contributions of all other rows.
constexpr double kLeastPivot = 0x1p-52;

// Rows of a triangle that are handled together.
constexpr int kTile = 4;

// Add the terms of rows j to j + Rows − 1 of a group's triangles to δᵀAδ: those of the
// diagonal to `squares`, those below it, which count twice, to `products`.
template <int Rows>
[[gnu::always_inline]] inline void add_form_rows(const double* triangle, const double* delta,
                                                 Index j, Doubles& squares, Doubles& products) {
  const auto entry = [&](int r, Index k) {
    return load(triangle + kDoubles * (triangle_size(j + r) + k));
  };
  Tile<Doubles, Rows, 1> sums;
  for (Index k = 0; k < j; ++k) {
    const Doubles there = load(delta + kDoubles * k);
    sums.for_each([&](int r, int, Doubles& sum) { sum = fused(entry(r, k), there, sum); });
  }
  sums.for_each([&](int r, int, Doubles& sum) {
    for (Index k = j; k < j + r; ++k) {
      sum = fused(entry(r, k), load(delta + kDoubles * k), sum);
    }
    const Doubles here = load(delta + kDoubles * (j + r));
    products = fused(sum, here, products);
    squares = fused(entry(r, j + r) * here, here, squares);
  });
}

// δᵀAδ of the four classes of a group.
Doubles group_form(const double* triangle, const double* delta, Index d) {
  Doubles squares{};
  Doubles products{};
  Index j = 0;
  for (; j + kTile <= d; j += kTile) {
    add_form_rows<kTile>(triangle, delta, j, squares, products);
  }
  for (; j < d; ++j) add_form_rows<1>(triangle, delta, j, squares, products);
  return squares + products * 2.0;
}

// Add the terms of rows j to j + Rows − 1 of a triangle to v = A·delta.
//
// Each v[j] is the sum of A[j, k]·delta[k] in the order of k.
template <Index Stride, int Rows>
[[gnu::always_inline]] inline void multiply_rows(const double* entries, const double* delta,
                                                 Index j, double* v) {
  const auto entry = [&](int r, Index k) { return entries[Stride * (triangle_size(j + r) + k)]; };
  Tile<double, Rows, 1> sums;
  for (Index k = 0; k < j; ++k) {
    double above = v[k];
    sums.for_each([&](int r, int, double& sum) {
      sum += entry(r, k) * delta[k];
      above += entry(r, k) * delta[j + r];
    });
    v[k] = above;
  }
  sums.for_each([&](int r, int, double& sum) {
    for (Index k = j; k < j + r; ++k) {
      sum += entry(r, k) * delta[k];
      v[k] += entry(r, k) * delta[j + r];
    }
    v[j + r] = sum + entry(r, j + r) * delta[j + r];
  });
}

double square_root(double x) { return std::sqrt(x); }
Doubles square_root(Doubles x) {
  for (int lane = 0; lane < kDoubles; ++lane) x[lane] = std::sqrt(x[lane]);
  return x;
}
double logarithm(double x) { return log(x); }
Doubles logarithm(Doubles x) {
  for (int lane = 0; lane < kDoubles; ++lane) x[lane] = log(x[lane]);
  return x;
}

}  // namespace

void fill_forms(const View<const double, 3>& inverses, const View<const double, 3>& means,
                Vector<const bool> chosen, Vector<const double> x, Vector<const double> m0,
                const FormTerms& terms, Vector<double> delta, Vector<double> forms) {
  const Index d = x.size();
  for (Index group = 0; group < chosen.size(); ++group) {
    if (!chosen[group]) continue;
    const Index first = kDoubles * group;
    const Doubles share = load(terms.share.data() + first);
    const Doubles rest = load(terms.rest.data() + first);
    const double* mean = means[group].data();
    for (Index j = 0; j < d; ++j) {
      const Doubles centre = share * load(mean + kDoubles * j) + rest * repeat(m0[j]);
      store(delta.data() + kDoubles * j, repeat(x[j]) - centre);
    }
    Doubles value = group_form(inverses[group].data(), delta.data(), d);
    value = value * load(terms.factor.data() + first);
    store(forms.data() + first, 1.0 + greater(value, Doubles{}));
  }
}

template <Index Stride>
double form(const double* entries, Vector<const double> delta, Vector<double> v) {
  const Index d = delta.size();
  Index j = 0;
  for (; j + kTile <= d; j += kTile) {
    multiply_rows<Stride, kTile>(entries, delta.data(), j, v.data());
  }
  for (; j < d; ++j) multiply_rows<Stride, 1>(entries, delta.data(), j, v.data());
  double product = 0.0;
  for (j = 0; j < d; ++j) product += delta[j] * v[j];
  return product;
}

template double form<1>(const double* entries, Vector<const double> delta, Vector<double> v);
template double form<4>(const double* entries, Vector<const double> delta, Vector<double> v);

template <class V>
V invert(Vector<const V> matrix, Index d, Vector<V> inverse) {
  Workspace space;
  // Row k of U, from the diagonal on, is column k of the factor L.
  const auto U = space.take<V>(d, d);
  const auto inverse_L = space.take<V>(d, d);
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j <= i; ++j) U(j, i) = matrix[triangle_size(i) + j];
  }
  V volume{};
  for (Index k = 0; k < d; ++k) {
    V* const row = U[k].data();
    const V least = kLeastPivot * matrix[diagonal_entry(k)];
    row[k] = row[k] >= least ? row[k] : least;
    const V root = square_root(row[k]);
    volume += 2.0 * logarithm(root);
    for (Index i = k; i < d; ++i) row[i] /= root;
    for (Index i = k + 1; i < d; ++i) {
      const V factor = row[i];
      V* const below = U[i].data();
      for (Index j = i; j < d; ++j) below[j] -= factor * row[j];
    }
  }
  inverse_L.fill(V{});
  for (Index i = 0; i < d; ++i) inverse_L(i, i) = V{} + 1.0;
  for (Index k = 0; k < d; ++k) {
    V* const row = inverse_L[k].data();
    for (Index j = 0; j <= k; ++j) row[j] /= U(k, k);
    for (Index i = k + 1; i < d; ++i) {
      const V factor = U(k, i);
      V* const below = inverse_L[i].data();
      for (Index j = 0; j <= k; ++j) below[j] -= factor * row[j];
    }
  }
  // (L Lᵀ)⁻¹ = L⁻ᵀ L⁻¹
  inverse.fill(V{});
  for (Index k = 0; k < d; ++k) {
    const V* const row = inverse_L[k].data();
    for (Index i = 0; i <= k; ++i) {
      const V factor = row[i];
      V* const sums = inverse.data() + triangle_size(i);
      for (Index j = 0; j <= i; ++j) sums[j] += factor * row[j];
    }
  }
  return volume;
}

template double invert(Vector<const double> matrix, Index d, Vector<double> inverse);
template Doubles invert(Vector<const Doubles> matrix, Index d, Vector<Doubles> inverse);

}  // namespace rpnb
