#include "blocks.h"

#include <cmath>

#include "../../simd.h"
#include "../../tile.h"

namespace rpnb {

namespace {

// Vectors in a column of a block.
constexpr int kVectors = kSide / kWideDoubles;
// Columns of a block whose sums fit in registers.
constexpr int kColumns = kRegisters >= 32 ? 8 : 2;

using Column = Tile<WideDoubles, 1, kVectors>;

// Set a block to `block` − Σ_k left_k · right_kᵀ, of K columns of 16 numbers each.
[[gnu::always_inline]] inline void subtract_products(const double* block, const double* left,
                                                     const double* right, Index K, double* out) {
  for (Index j = 0; j < kSide; j += kColumns) {
    Tile<WideDoubles, kColumns, kVectors> sums;
    for (Index k = 0; k < K; ++k) {
      sums.for_each([&](int column, int v, WideDoubles& sum) {
        const auto x = load<WideDoubles>(left + kSide * k + kWideDoubles * v);
        sum = fused(x, repeat<WideDoubles>(right[kSide * k + j + column]), sum);
      });
    }
    sums.for_each([&](int column, int v, const WideDoubles& sum) {
      const Index at = kSide * (j + column) + kWideDoubles * v;
      store_lanes(out + at, load<WideDoubles>(block + at) - sum);
    });
  }
}

// Factor a diagonal block; its upper triangle is set to zero.
bool factor_diagonal(double* block) {
  for (Index j = 0; j < kSide; ++j) {
    double* column = block + kSide * j;
    Column x;
    x.for_each([&](int, int v, WideDoubles& part) {
      part = load<WideDoubles>(column + kWideDoubles * v);
    });
    for (Index k = 0; k < j; ++k) {
      const double* earlier = block + kSide * k;
      const auto factor = repeat<WideDoubles>(earlier[j]);
      x.for_each([&](int, int v, WideDoubles& part) {
        part -= factor * load<WideDoubles>(earlier + kWideDoubles * v);
      });
    }
    x.for_each(
        [&](int, int v, const WideDoubles& part) { store_lanes(column + kWideDoubles * v, part); });
    const double pivot = column[j];
    if (!(pivot > 0.0)) return false;
    const double root = std::sqrt(pivot);
    for (Index i = 0; i < j; ++i) column[i] = 0.0;
    for (Index i = j; i < kSide; ++i) column[i] /= root;
  }
  return true;
}

// Replace a block X below a factored diagonal block L by X·L⁻ᵀ.
void solve_block(double* block, const double* diagonal) {
  for (Index j = 0; j < kSide; ++j) {
    Column x;
    x.for_each([&](int, int v, WideDoubles& part) {
      part = load<WideDoubles>(block + kSide * j + kWideDoubles * v);
    });
    for (Index k = 0; k < j; ++k) {
      const auto factor = repeat<WideDoubles>(-diagonal[kSide * k + j]);
      x.for_each([&](int, int v, WideDoubles& part) {
        part = fused(factor, load<WideDoubles>(block + kSide * k + kWideDoubles * v), part);
      });
    }
    const auto pivot = repeat<WideDoubles>(diagonal[kSide * j + j]);
    x.for_each([&](int, int v, const WideDoubles& part) {
      store_lanes(block + kSide * j + kWideDoubles * v, part / pivot);
    });
  }
}

// Where a block stores the coefficient of term k in row t of a triangular solve.
struct ByRow {  // L itself: entry (t, k)
  static Index at(Index t, Index k) { return kSide * k + t; }
};
struct ByColumn {  // its transpose: entry (k, t)
  static Index at(Index t, Index k) { return kSide * t + k; }
};

// Subtract from R rows of x, from row t of a block on, products with K rows of `source`.
template <class Coefficients, class V, int R, int W>
[[gnu::always_inline]] inline void subtract_rows(const double* block, Index t, Index K,
                                                 const double* source, double* x, Index C) {
  constexpr Index kLanes = sizeof(V) / sizeof(double);
  Tile<V, R, W> sums;
  for (Index k = 0; k < K; ++k) {
    sums.for_each([&](int r, int w, V& sum) {
      const V factor = repeat<V>(block[Coefficients::at(t + r, k)]);
      sum = fused(load<V>(source + k * C + kLanes * w), factor, sum);
    });
  }
  sums.for_each([&](int r, int w, const V& sum) {
    double* to = x + r * C + kLanes * w;
    store_lanes(to, load<V>(to) - sum);
  });
}

// Solve L·Lᵀ X = B for W vectors of columns of X, whose rows are C long.
template <class V, int W>
void solve_columns(const double* factor, Index blocks, double* X, Index C) {
  constexpr Index kLanes = sizeof(V) / sizeof(double);
  constexpr int kRows = (kRegisters >= 32 ? 16 : 8) / W;
  // Set row i of a block to (row i − Σ_k coefficient_k · row k)/pivot.
  const auto solve_row = [&](const double* diagonal, double* rows, Index i, Index first, Index last,
                             auto coefficient) {
    Tile<V, 1, W> row;
    row.for_each([&](int, int w, V& part) { part = load<V>(rows + i * C + kLanes * w); });
    for (Index k = first; k < last; ++k) {
      const V factor_k = repeat<V>(-diagonal[coefficient(k)]);
      row.for_each([&](int, int w, V& part) {
        part = fused(factor_k, load<V>(rows + k * C + kLanes * w), part);
      });
    }
    const V pivot = repeat<V>(diagonal[kSide * i + i]);
    row.for_each(
        [&](int, int w, const V& part) { store_lanes(rows + i * C + kLanes * w, part / pivot); });
  };
  for (Index H = 0; H < blocks; ++H) {
    double* rows = X + kSide * H * C;
    for (Index t = 0; t < kSide; t += kRows) {
      subtract_rows<ByRow, V, kRows, W>(factor + block_place(H, 0), t, kSide * H, X, rows + t * C,
                                        C);
    }
    for (Index i = 0; i < kSide; ++i) {
      solve_row(factor + block_place(H, H), rows, i, 0, i,
                [&](Index k) { return ByRow::at(i, k); });
    }
  }
  for (Index H = blocks - 1; H >= 0; --H) {
    double* rows = X + kSide * H * C;
    for (Index below = H + 1; below < blocks; ++below) {
      for (Index t = 0; t < kSide; t += kRows) {
        subtract_rows<ByColumn, V, kRows, W>(factor + block_place(below, H), t, kSide,
                                             X + kSide * below * C, rows + t * C, C);
      }
    }
    for (Index i = kSide - 1; i >= 0; --i) {
      solve_row(factor + block_place(H, H), rows, i, i + 1, kSide,
                [&](Index k) { return ByColumn::at(i, k); });
    }
  }
}

}  // namespace

void subtract_outer(Vector<const double> matrix, View<const double, 3> left,
                    View<const double, 3> right, Vector<double> out) {
  const Index blocks = left.size(0);
  const Index K = left.size(1);
  for (Index H = 0; H < blocks; ++H) {
    for (Index J = 0; J <= H; ++J) {
      const Index at = block_place(H, J);
      subtract_products(matrix.data() + at, left[H].data(), right[J].data(), K, out.data() + at);
    }
  }
}

bool cholesky(Vector<double> matrix, Index E) {
  const Index blocks = E / kSide;
  for (Index J = 0; J < blocks; ++J) {
    const double* row_J = matrix.data() + block_place(J, 0);
    double* diagonal = matrix.data() + block_place(J, J);
    for (Index H = J; H < blocks; ++H) {
      double* block = matrix.data() + block_place(H, J);
      subtract_products(block, matrix.data() + block_place(H, 0), row_J, kSide * J, block);
      if (H == J) {
        if (!factor_diagonal(diagonal)) return false;
      } else {
        solve_block(block, diagonal);
      }
    }
  }
  return true;
}

void solve(Vector<const double> factor, Matrix<double> X) {
  constexpr int kNarrow = 8 / kWideDoubles;
  constexpr int kWide = 4 * kNarrow;
  const Index blocks = X.size(0) / kSide;
  const Index C = X.size(1);
  Index c = 0;
  if constexpr (kRegisters >= 32) {
    for (; c + 32 <= C; c += 32) {
      solve_columns<WideDoubles, kWide>(factor.data(), blocks, X.data() + c, C);
    }
  }
  for (; c < C; c += 8) {
    solve_columns<WideDoubles, kNarrow>(factor.data(), blocks, X.data() + c, C);
  }
}

}  // namespace rpnb
