#include "row_products.h"

#include <algorithm>

#include "../../simd.h"
#include "../../tile.h"
#include "blocks.h"

namespace rpnb {

namespace {

// Sums of a tile; the other registers hold terms and factors.
constexpr int kMostSums = kRegisters >= 32 ? 16 : 12;

// Multiply R rows x (E numbers each) with W vectors of columns of v, whose rows are C long.
template <class V, int R, int W>
void multiply_tile(const float* x, Index E, const float* v, Index C, const float* start,
                   float* out) {
  constexpr Index kLanes = sizeof(V) / sizeof(float);
  Tile<V, R, W> sums;
  sums.for_each([&](int, int w, V& sum) { sum = load<V>(start + kLanes * w); });
  for (Index i = 0; i < E; ++i) {
    sums.for_each([&](int r, int w, V& sum) {
      sum = fused(load<V>(v + i * C + kLanes * w), repeat<V>(x[r * E + i]), sum);
    });
  }
  sums.for_each([&](int r, int w, const V& sum) { store_lanes(out + r * C + kLanes * w, sum); });
}

// Multiply R rows with columns from c on, W vectors at a time, and fewer at the end.
template <class V, int R, int W>
Index multiply_columns(const float* x, Index E, const float* v, Index C, const float* start,
                       float* out, Index c) {
  constexpr Index kStep = W * sizeof(V) / sizeof(float);
  for (; c + kStep <= C; c += kStep) {
    multiply_tile<V, R, W>(x, E, v + c, C, start + c, out + c);
  }
  if constexpr (W > 1) c = multiply_columns<V, R, W / 2>(x, E, v, C, start, out, c);
  return c;
}

// Multiply rows from r on with all columns, R at a time; return the first remaining row.
template <int R>
Index multiply_groups(Matrix<const float> rows, Matrix<const float> matrix,
                      Vector<const float> start, Matrix<float> out, Index r) {
  constexpr int kWidest = std::min(kMostSums / R, 8);
  const Index E = rows.size(1);
  const Index C = matrix.size(1);
  const float* v = matrix.data();
  for (; r + R <= rows.size(); r += R) {
    const float* x = rows.data() + r * E;
    float* to = out.data() + r * C;
    const Index c = multiply_columns<WideSingles, R, kWidest>(x, E, v, C, start.data(), to, 0);
    multiply_columns<Singles, R, 1>(x, E, v, C, start.data(), to, c);
  }
  return r;
}

}  // namespace

void multiply_rows(Matrix<const float> rows, Matrix<const float> matrix, Vector<const float> start,
                   Matrix<float> out) {
  Index r = multiply_groups<8>(rows, matrix, start, out, 0);
  r = multiply_groups<4>(rows, matrix, start, out, r);
  multiply_groups<1>(rows, matrix, start, out, r);
}

void inner_products(PackedRows<const float> packed, Index first, Index last, Matrix<float> gram) {
  // Tiles of kRows rows with 4 others; a product is the sum of 16 lanes.
  constexpr int kRows = kRegisters >= 32 ? 4 : 1;
  constexpr int kOthers = 4;
  constexpr int kVectors = kSide / kWideSingles;
  const Index blocks = packed.size(0);
  const Index stride = packed.size(1) * kSide;
  alignas(kAlignment) float lanes[kRows][kOthers][kSide];
  const auto folded = [&](Index r, Index s) {
    return fold(load(lanes[r][s]) + load(lanes[r][s] + kSingles));
  };
  for (Index r = first - first % kRows; r < last; r += kRows) {
    const float* rows = packed.data() + kSide * r;
    for (Index s = 0; s < std::min(r + kRows, last); s += kOthers) {
      const float* others = packed.data() + kSide * s;
      Tile<WideSingles, kRows, kOthers * kVectors> sums;
      for (Index b = 0; b < blocks; ++b) {
        sums.for_each([&](int row, int w, WideSingles& sum) {
          const int v = w % kVectors;
          const auto x = load<WideSingles>(rows + b * stride + kSide * row + kWideSingles * v);
          const auto y = load<WideSingles>(others + b * stride + kWideSingles * w);
          sum = fused(x, y, sum);
        });
      }
      sums.for_each([&](int row, int w, const WideSingles& sum) {
        store_lanes(lanes[row][0] + kWideSingles * w, sum);
      });
      for (Index k = std::max(r, first); k < std::min(r + kRows, last); ++k) {
        const Doubles products =
            sum_each(folded(k - r, 0), folded(k - r, 1), folded(k - r, 2), folded(k - r, 3));
        const Index count = std::min<Index>(kOthers, k + 1 - s);
        for (Index other = 0; other < count; ++other) {
          gram(k, s + other) = static_cast<float>(products[other]);
        }
      }
    }
  }
}

void combine_rows(PackedRows<const float> packed, Matrix<const double> factors,
                  Matrix<double> out) {
  constexpr int kColumns = kRegisters >= 32 ? 8 : 2;
  constexpr int kVectors = kSide / kWideDoubles;
  const Index n = factors.size(0);
  const Index C = out.size(0);
  const Index E = out.size(1);
  for (Index b = 0; b < packed.size(0); ++b) {
    const float* rows = packed[b].data();
    for (Index c = 0; c < C; c += kColumns) {
      Tile<WideDoubles, kColumns, kVectors> sums;
      const double* factor = factors.data() + c;
      for (Index r = 0; r < n; ++r) {
        sums.for_each([&](int column, int v, WideDoubles& sum) {
          const auto x = load_wide_widened(rows + kSide * r + kWideDoubles * v);
          sum = fused(x, repeat<WideDoubles>(factor[r * C + column]), sum);
        });
      }
      sums.for_each([&](int column, int v, const WideDoubles& sum) {
        store_lanes(out.data() + (c + column) * E + kSide * b + kWideDoubles * v, sum);
      });
    }
  }
}

}  // namespace rpnb
