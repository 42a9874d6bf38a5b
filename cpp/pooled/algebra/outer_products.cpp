#include "outer_products.h"

#include "../../simd.h"
#include "../../tile.h"
#include "../../workspace.h"
#include "blocks.h"

namespace rpnb {

namespace {

// The product of two codes 1: entries of φ are multiples of 1/128.
constexpr double kUnit = 0x1p-14;
// Vectors in 16 columns.
constexpr int kVectors = kSide / kWideSingles;
// Columns of a block whose sums fit in registers.
constexpr int kColumns = kRegisters >= 32 ? 16 : 4;

// Sixteen columns of two rows as 16-bit integers, in pairs: [column][row of the pair].
void pack_pair(const float* one, const float* other, std::int32_t* pairs) {
  for (Index i = 0; i < kSide; i += kSingles) {
    const auto low = __builtin_convertvector(load(one + i) * kSteps, Sums) & 0xFFFF;
    const auto high = __builtin_convertvector(load(other + i) * kSteps, Sums) << 16;
    store(pairs + i, low | high);
  }
}

}  // namespace

void pack_row(Vector<const float> row, PackedRows<float> packed, Index r) {
  for (Index b = 0; b < packed.size(0); ++b) {
    const float* from = row.data() + kSide * b;
    float* to = packed[b][r].data();
    store(to, load(from));
    store(to + kSingles, load(from + kSingles));
  }
}

void add_products(Vector<double> matrix, PackedRows<const float> packed,
                  PackedRows<const float> weighted, Index first, Index last) {
  alignas(kAlignment) float sums[kBlockEntries];
  for (Index H = 0; H < packed.size(0); ++H) {
    const float* left = packed[H].data();
    for (Index J = 0; J <= H; ++J) {
      const float* right = weighted[J].data();
      double* block = matrix.data() + block_place(H, J);
      for (Index j = 0; j < kSide; j += kColumns) {
        Tile<WideSingles, kColumns, kVectors> tile;
        for (Index r = kSide * first; r < kSide * last; r += kSide) {
          tile.for_each([&](int column, int v, WideSingles& sum) {
            const auto x = load<WideSingles>(left + r + kWideSingles * v);
            sum = fused(x, repeat<WideSingles>(right[r + j + column]), sum);
          });
        }
        tile.for_each([&](int column, int v, const WideSingles& sum) {
          store_lanes(sums + kSide * (j + column) + kWideSingles * v, sum);
        });
      }
      for (Index i = 0; i < kBlockEntries; ++i) block[i] += static_cast<double>(sums[i]);
    }
  }
}

void add_exact_products(Vector<double> matrix, PackedRows<const float> packed, Index first,
                        Index last) {
  const Index blocks = packed.size(0);
  const Index count = (last - first + 1) / 2;
  Workspace workspace;
  // [block of columns][pair of rows][16 columns], two 16-bit integers each
  const auto codes = workspace.take<std::int32_t>(blocks, count, kSide);
  const std::array<float, kSide> nothing{};
  for (Index b = 0; b < blocks; ++b) {
    for (Index pair = 0; pair < count; ++pair) {
      const Index r = first + 2 * pair;
      const float* other = r + 1 < last ? packed[b][r + 1].data() : nothing.data();
      pack_pair(packed[b][r].data(), other, codes[b][pair].data());
    }
  }
  alignas(kAlignment) std::int32_t sums[kBlockEntries];
  for (Index H = 0; H < blocks; ++H) {
    const std::int32_t* left = codes[H].data();
    for (Index J = 0; J <= H; ++J) {
      const std::int32_t* right = codes[J].data();
      double* block = matrix.data() + block_place(H, J);
      for (Index j = 0; j < kSide; j += kColumns) {
        Tile<WideSums, kColumns, kVectors> tile;
        for (Index r = 0; r < kSide * count; r += kSide) {
          tile.for_each([&](int column, int v, WideSums& sum) {
            const auto x = load<WidePairs>(left + r + kWideSingles * v);
            const auto y = repeat<WideSums>(right[r + j + column]);
            sum = add_pair_products(x, std::bit_cast<WidePairs>(y), sum);
          });
        }
        tile.for_each([&](int column, int v, const WideSums& sum) {
          store_lanes(sums + kSide * (j + column) + kWideSingles * v, sum);
        });
      }
      for (Index i = 0; i < kBlockEntries; ++i) block[i] += static_cast<double>(sums[i]) * kUnit;
    }
  }
}

}  // namespace rpnb
