#include "row_products.h"

#include "../../simd.h"
#include "../../tile.h"

namespace rpnb {

namespace {

// Multiply R rows x (E numbers each) with W vectors of columns of v, whose rows are C long.
template <int R, int W>
void multiply_tile(const float* x, Index E, const float* v, Index C, const float* start,
                   float* out) {
  Tile<Singles, R, W> sums;
  sums.for_each([&](int, int w, Singles& sum) { sum = load(start + kSingles * w); });
  for (Index i = 0; i < E; ++i) {
    sums.for_each([&](int r, int w, Singles& sum) {
      sum = fused(load(v + i * C + kSingles * w), repeat(x[r * E + i]), sum);
    });
  }
  sums.for_each([&](int r, int w, const Singles& sum) { store(out + r * C + kSingles * w, sum); });
}

// Multiply R rows with all columns.
template <int R>
void multiply_group(const float* x, Index E, const float* v, Index C, const float* start,
                    float* out) {
  // Sums of 4 rows, these columns and a factor of a row are in registers at a time.
  constexpr int kColumns = kRegisters >= 32 ? 4 : 3;
  constexpr Index kWide = kColumns * kSingles;
  Index c = 0;
  for (; c + kWide <= C; c += kWide) multiply_tile<R, kColumns>(x, E, v + c, C, start + c, out + c);
  for (; c < C; c += kSingles) multiply_tile<R, 1>(x, E, v + c, C, start + c, out + c);
}

}  // namespace

void multiply_rows(Matrix<const float> rows, Matrix<const float> matrix, Vector<const float> start,
                   Matrix<float> out) {
  const Index n = rows.size();
  const Index E = rows.size(1);
  const Index C = matrix.size(1);
  const float* x = rows.data();
  float* o = out.data();
  Index r = 0;
  for (; r + 4 <= n; r += 4) {
    multiply_group<4>(x + r * E, E, matrix.data(), C, start.data(), o + r * C);
  }
  for (; r < n; ++r) multiply_group<1>(x + r * E, E, matrix.data(), C, start.data(), o + r * C);
}

}  // namespace rpnb
