#include "hadamard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "../simd.h"
#include "../workspace.h"
#include "projection_matrix.h"

namespace rpnb {

namespace {

// Changes of the seed that make D, Π and E independent.
constexpr std::uint64_t kPermutation = 0x7065726D75746174;
constexpr std::uint64_t kSecond = 0x7365636F6E647369;

// One stage of a transform of N numbers: sums of neighbours, then their differences.
void one_stage(const double* v, double* w, Index N) {
  const Index half = N / 2;
  for (Index i = 0; i < half; ++i) {
    w[i] = v[2 * i] + v[2 * i + 1];
    w[half + i] = v[2 * i] - v[2 * i + 1];
  }
}

// Two stages at once.
void two_stages(const double* v, double* w, Index N) {
  const Index quarter = N / 4;
  for (Index i = 0; i < quarter; ++i) {
    const double sum0 = v[4 * i] + v[4 * i + 1];
    const double sum1 = v[4 * i + 2] + v[4 * i + 3];
    const double difference0 = v[4 * i] - v[4 * i + 1];
    const double difference1 = v[4 * i + 2] - v[4 * i + 3];
    w[i] = sum0 + sum1;
    w[quarter + i] = difference0 + difference1;
    w[2 * quarter + i] = sum0 - sum1;
    w[3 * quarter + i] = difference0 - difference1;
  }
}

// Transform T vectors of length `order`, stored in v one after the other: N numbers.
//
// A stage adds and subtracts neighbours, the sums to the lower half of the other array, the
// differences to its upper half: every stage is the same loop over contiguous numbers,
// whatever the order. Entry i = Σ b_l·2ˡ of vector t moves from t·order + i, bit by bit of
// i, to i·T + t. Afterwards v holds the result; w is overwritten.
void transform(double*& v, double*& w, Index N, Index order) {
  Index left = order;
  for (; left >= 4; left /= 4) {
    two_stages(v, w, N);
    std::swap(v, w);
  }
  if (left == 2) {
    one_stage(v, w, N);
    std::swap(v, w);
  }
}

// Write a scaled row with its signs to v (p₂,), padded by zeros.
void load_row(const Row& row, double scale, Vector<const float> signs, double* v, Index order) {
  if (row.sparse() || row.size() == 0) {
    std::fill_n(v, order, 0.0);
  } else {
    std::fill(v + row.size(), v + order, 0.0);
  }
  for (Index j = 0; j < row.size(); ++j) {
    const Index i = row.column(j);
    v[i] = row.values[j] * scale * static_cast<double>(signs[i]) + 0.0;
  }
}

}  // namespace

Hadamard Hadamard::draw(std::uint64_t seed, Vector<const std::uint64_t> features, Index F) {
  const Index p = features.size();
  const auto order = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(p)));
  const Index T = (F + order - 1) / order;
  Hadamard drawn;
  drawn.F_ = F;
  drawn.signs_ = Array<float, 1>({p});
  draw_matrix(Distribution::kBernoulli, seed, features, 1, drawn.signs_.reshaped(p, 1));

  Workspace space;
  const auto numbers = space.take<std::uint64_t>(order);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  const auto keys = space.take<float>(order, T);
  const auto second = space.take<float>(order, T);
  draw_matrix(Distribution::kGaussian, seed ^ kPermutation, numbers, T, keys);
  draw_matrix(Distribution::kBernoulli, seed ^ kSecond, numbers, T, second);
  drawn.places_ = Array<std::int64_t, 2>({T, order});
  drawn.weights_ = Array<double, 2>({T, order});
  const double root = std::sqrt(static_cast<double>(order));
  for (Index t = 0; t < T; ++t) {
    const auto places = drawn.places_[t];
    std::iota(places.begin(), places.end(), std::int64_t{0});
    // Sort by key; equal keys, which single precision may give, keep their order.
    std::sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
      return keys(a, t) < keys(b, t) || (keys(a, t) == keys(b, t) && a < b);
    });
    for (Index i = 0; i < order; ++i) {
      drawn.weights_(t, i) = static_cast<double>(second(i, t)) / root;
    }
  }
  return drawn;
}

void Hadamard::project(const RowBlock& rows, double scale, Matrix<double> Z) const {
  const Index T = weights_.size(0);
  const Index order = weights_.size(1);
  const Index N = T * order;
  Workspace space;
  double* v = space.take<double>(order).data();
  double* w = space.take<double>(order).data();
  double* many_v = space.take<double>(N).data();
  double* many_w = space.take<double>(N).data();
  const std::int64_t* const places = places_.data();
  const double* const weights = weights_.data();
  for (Index b = 0; b < rows.size(); ++b) {
    load_row(rows[b], scale, signs_, v, order);
    transform(v, w, order, order);
    for (Index i = 0; i < N; ++i) many_v[i] = weights[i] * v[places[i]];
    transform(many_v, many_w, N, order);
    double* const z = Z[b].data();
    for (Index t = 0; t < T; ++t) {
      const Index first = t * order;
      const Index size = std::min(order, F_ - first);
      for (Index i = 0; i < size; ++i) z[first + i] = many_v[i * T + t];
    }
  }
}

}  // namespace rpnb
