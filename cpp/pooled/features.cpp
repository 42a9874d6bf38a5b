#include "features.h"

#include <algorithm>
#include <cmath>

#include "../random.h"
#include "../workspace.h"
#include "algebra/row_products.h"

namespace rpnb {

namespace {

// Up to this many features, φ includes z itself.
constexpr Index kMostRaw = 64;
// Largest value of φ, in multiples of 1/128 (outer_products.h).
constexpr float kMostSteps = 2047.0F;
// Up to this many features, `low` is z itself; beyond, it has this many columns.
constexpr Index kMostLow = 32;
// Most features that a sparse column reads.
constexpr Index kMostRead = 4;
// Up to this many features, sparse columns are stored as dense ones, which gives the same bits
// since their entries are in the order of the features.
constexpr Index kMostDense = 64;

// Addresses of the draws, beyond the numbers of features.
constexpr std::uint64_t kBiases = std::uint64_t{1} << 40;
constexpr std::uint64_t kChoices = std::uint64_t{2} << 40;
constexpr std::uint64_t kEntries = std::uint64_t{3} << 40;
constexpr std::uint64_t kLowRows = std::uint64_t{4} << 40;

// 32 random bits for each of `count` columns at an address.
Vector<std::int32_t> draw_words(Workspace& space, std::uint64_t seed, std::uint64_t address,
                                Index count) {
  const auto words = space.take<std::int32_t>(count);
  if (count > 0) fill_feature_words(seed, address, count, words);
  return words;
}

Vector<double> draw_normal(Workspace& space, std::uint64_t seed, std::uint64_t address,
                           Index count) {
  const auto words = draw_words(space, seed, address, count);
  const auto normal = space.take<double>(count);
  fill_normal(words, normal);
  return normal;
}

void draw_dense(std::uint64_t seed, Matrix<float> dense, Index n_dense) {
  const Index p = dense.size();
  const double root = std::sqrt(static_cast<double>(p));
  for (Index i = 0; i < p; ++i) {
    Workspace space;
    const auto normal = draw_normal(space, seed, static_cast<std::uint64_t>(i), n_dense);
    for (Index f = 0; f < n_dense; ++f) dense(i, f) = static_cast<float>(normal[f] / root);
  }
}

// Draw the features that each sparse column reads, in increasing order and none twice,
// and its entries.
void draw_sparse(std::uint64_t seed, Index p, Matrix<std::int64_t> reads, Matrix<float> entry) {
  const Index columns = reads.size(1);
  constexpr Index kSlots = kMostRead + 1;
  Workspace space;
  const auto words = draw_words(space, seed, kChoices, kSlots * columns);
  const auto normal = draw_normal(space, seed, kEntries, kMostRead * columns);
  const auto uniform = [&](Index place) { return (words[place] + (0x1p31 + 0.5)) * 0x1p-32; };
  for (Index f = 0; f < columns; ++f) {
    const Index k = std::min(1 + static_cast<Index>(kMostRead * uniform(kSlots * f)), p);
    std::array<Index, kMostRead> chosen{};
    for (Index slot = 0; slot < k; ++slot) {
      // Draw without replacement: skip the features already drawn.
      auto feature =
          static_cast<Index>(uniform(kSlots * f + 1 + slot) * static_cast<double>(p - slot));
      for (Index earlier = 0; earlier < slot; ++earlier) {
        feature += static_cast<Index>(feature >= chosen[earlier]);
      }
      // Keep the features drawn so far sorted.
      Index at = slot;
      for (; at > 0 && chosen[at - 1] > feature; --at) chosen[at] = chosen[at - 1];
      chosen[at] = feature;
    }
    for (Index slot = 0; slot < k; ++slot) {
      reads(slot, f) = chosen[slot];
      entry(slot, f) =
          static_cast<float>(normal[kMostRead * f + slot] / std::sqrt(static_cast<double>(k)));
    }
  }
}

// Make the rows of P orthonormal by modified Gram-Schmidt, twice because of rounding.
void orthonormalise(Matrix<double> P) {
  const Index columns = P.size(0);
  const Index p = P.size(1);
  for (int round = 0; round < 2; ++round) {
    for (Index c = 0; c < columns; ++c) {
      const auto own = P[c];
      for (Index b = 0; b < c; ++b) {
        const auto before = P[b];
        double product = 0.0;
        for (Index i = 0; i < p; ++i) product += before[i] * own[i];
        for (Index i = 0; i < p; ++i) own[i] -= product * before[i];
      }
      double square = 0.0;
      for (Index i = 0; i < p; ++i) square += own[i] * own[i];
      const double root = std::sqrt(square);
      for (Index i = 0; i < p; ++i) own[i] /= root;
    }
  }
}

Array<float, 2> draw_low(std::uint64_t seed, Index p) {
  Array<float, 2> low({p, kMostLow});
  Array<double, 2> columns({kMostLow, p});
  for (Index i = 0; i < p; ++i) {
    Workspace space;
    const auto normal =
        draw_normal(space, seed, kLowRows + static_cast<std::uint64_t>(i), kMostLow);
    for (Index c = 0; c < kMostLow; ++c) columns(c, i) = normal[c];
  }
  orthonormalise(columns);
  for (Index i = 0; i < p; ++i) {
    for (Index c = 0; c < kMostLow; ++c) low(i, c) = static_cast<float>(columns(c, i));
  }
  return low;
}

float rectified(float value) { return value > 0.0F ? value : 0.0F; }

void fill_sparse(const Features& features, Vector<const float> z, float* out) {
  const Index sparse = features.reads.size(1);
  for (Index f = 0; f < sparse; ++f) {
    float value = features.sparse_bias[f];
    for (Index k = 0; k < kMostRead; ++k) {
      value += features.entry(k, f) * z[features.reads(k, f)];
    }
    out[f] = rectified(value);
  }
}

// Round φ to multiples of 1/128, halves up, and clip it at the largest value.
//
// z is within ±6, so only rectified columns can be clipped.
void round_to_steps(Vector<float> row) {
  for (float& value : row) {
    const float steps = std::floor(value * kSteps + 0.5F);
    value = (steps < kMostSteps ? steps : kMostSteps) / kSteps;
  }
}

}  // namespace

Features Features::draw(Index p, Index D, Index n_dense, std::uint64_t seed) {
  const Index n_sparse = D - n_dense;
  const bool all_dense = p <= kMostDense;
  const Index columns = all_dense ? D : n_dense;
  Workspace space;
  Features drawn;
  drawn.dense = Array<float, 2>({p, columns});
  draw_dense(seed, drawn.dense, n_dense);
  Array<std::int64_t, 2> reads({kMostRead, n_sparse});
  Array<float, 2> entry({kMostRead, n_sparse});
  draw_sparse(seed, p, reads, entry);
  if (all_dense) {
    for (Index k = 0; k < kMostRead; ++k) {
      for (Index f = 0; f < n_sparse; ++f) drawn.dense(reads(k, f), n_dense + f) += entry(k, f);
    }
    reads = Array<std::int64_t, 2>({kMostRead, 0});
    entry = Array<float, 2>({kMostRead, 0});
  }
  drawn.reads = std::move(reads);
  drawn.entry = std::move(entry);
  const auto words = draw_words(space, seed, kBiases, D);
  drawn.dense_bias = Array<float, 1>({columns});
  drawn.sparse_bias = Array<float, 1>({D - columns});
  for (Index f = 0; f < D; ++f) {
    const auto bias = static_cast<float>(words[f] * 0x1p-31);
    (f < columns ? drawn.dense_bias[f] : drawn.sparse_bias[f - columns]) = bias;
  }
  drawn.low = p > kMostLow ? draw_low(seed, p) : Array<float, 2>({p, 0});
  return drawn;
}

void Features::fill(Matrix<const float> z, Matrix<float> phi, Matrix<float> low_rows) const {
  const Index n = z.size();
  const Index p = z.size(1);
  const Index C = dense.size(1);
  const Index sparse = reads.size(1);
  const Index raw = p <= kMostRaw ? p : 0;
  Workspace space;
  const auto products = space.take<float>(n, C);
  multiply_rows(z, dense, dense_bias, products);
  for (Index r = 0; r < n; ++r) {
    float* const row = phi[r].data();
    const float* const product = products[r].data();
    std::copy_n(z[r].data(), raw, row);
    for (Index f = 0; f < C; ++f) row[raw + f] = rectified(product[f]);
    if (sparse > 0) fill_sparse(*this, z[r], row + raw + C);
    std::fill(row + raw + C + sparse, phi[r].end(), 0.0F);
    round_to_steps(phi[r]);
  }
  if (low.size(1) == 0) {
    for (Index r = 0; r < n; ++r) std::copy_n(z[r].data(), p, low_rows[r].data());
  } else {
    const auto nothing = space.take_zeros<float>(low.size(1));
    multiply_rows(z, low, nothing, low_rows);
  }
}

}  // namespace rpnb
