#include "projection.h"

#include <algorithm>
#include <array>

#include "../simd.h"
#include "../workspace.h"

namespace rpnb {

namespace {

// Entries of the matrix that are applied to all rows before the next ones: they stay in the
// second-level cache.
constexpr Index kEntries = Index{1} << 16;

// Features `first` to `last`, the latter excluded, of a matrix (p, F).
struct Panel {
  const float* R;
  Index F;
  Index first;
  Index last;
};

// Add the panel's contributions to `Vectors` vectors of columns, from column f on, of some
// rows. x[r] holds row r times the scale, z[r] its sums, which start at zero with the first
// panel.
//
// Two rows are taken together because converting the matrix's entries to double precision
// costs as much as two multiplications by them; independent sums hide the latency of a
// multiply-add.
template <int Rows, int Vectors>
void add_tile(const Panel& panel, const std::array<const double*, Rows>& x, Index f,
              const std::array<double*, Rows>& z) {
  WideDoubles sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] = panel.first > 0 ? load<WideDoubles>(z[r] + f + v * kWideDoubles)
                                   : repeat<WideDoubles>(0.0);
    }
  }
  for (Index i = panel.first; i < panel.last; ++i) {
    const float* const entries = panel.R + i * panel.F + f;
    for (int v = 0; v < Vectors; ++v) {
      const WideDoubles entry = load_wide_widened(entries + v * kWideDoubles);
      for (int r = 0; r < Rows; ++r)
        sums[r][v] = fused(repeat<WideDoubles>(x[r][i]), entry, sums[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) store(z[r] + f + v * kWideDoubles, sums[r][v]);
  }
}

// The same for one column.
template <int Rows>
void add_column(const Panel& panel, const std::array<const double*, Rows>& x, Index f,
                const std::array<double*, Rows>& z) {
  double sums[Rows];
  for (int r = 0; r < Rows; ++r) sums[r] = panel.first > 0 ? z[r][f] : 0.0;
  for (Index i = panel.first; i < panel.last; ++i) {
    const double entry = panel.R[i * panel.F + f];
    for (int r = 0; r < Rows; ++r) sums[r] = std::fma(x[r][i], entry, sums[r]);
  }
  for (int r = 0; r < Rows; ++r) z[r][f] = sums[r];
}

// Add the panel's contributions to the sums of all columns of some rows.
template <int Rows>
void add_panel(const Panel& panel, const std::array<const double*, Rows>& x,
               const std::array<double*, Rows>& z) {
  constexpr int kVectors = 8 / Rows;
  constexpr Index kTile = kVectors * kWideDoubles;
  Index f = 0;
  for (; f + kTile <= panel.F; f += kTile) add_tile<Rows, kVectors>(panel, x, f, z);
  for (; f + kWideDoubles <= panel.F; f += kWideDoubles) add_tile<Rows, 1>(panel, x, f, z);
  for (; f < panel.F; ++f) add_column<Rows>(panel, x, f, z);
}

// Project n rows; row_at(b) points to the b-th of them.
template <class RowAt>
void project_each(Index n, RowAt row_at, double scale, Matrix<const float> R, Matrix<double> Z) {
  const Index p = R.size(0);
  const Index F = R.size(1);
  if (p == 0) {
    for (Index b = 0; b < n; ++b) std::copy_n(row_at(b), F, Z[b].data());
    return;
  }
  Workspace space;
  const auto scaled = space.take<double>(2, p);
  double* const x = scaled[0].data();
  double* const y = scaled[1].data();
  const Index together = std::max(kEntries / std::max(F, Index{1}), Index{8});
  for (Index first = 0; first < p; first += together) {
    const Panel panel{R.data(), F, first, std::min(first + together, p)};
    const auto scale_row = [&](const double* row, double* to) {
      for (Index i = panel.first; i < panel.last; ++i) to[i] = row[i] * scale;
    };
    Index b = 0;
    for (; b + 1 < n; b += 2) {
      scale_row(row_at(b), x);
      scale_row(row_at(b + 1), y);
      add_panel<2>(panel, {x, y}, {Z[b].data(), Z[b + 1].data()});
    }
    if (b < n) {
      scale_row(row_at(b), x);
      add_panel<1>(panel, {x}, {Z[b].data()});
    }
  }
}

// Rows and vectors of columns of a tile of `project_singles`.
constexpr int kRows = 4;
constexpr int kVectors = 2;
constexpr Index kTileColumns = kVectors * kWideSingles;

// Project rows x (kRows, p) on `Vectors` vectors of columns, which begin at `entries`.
template <int Vectors>
void project_tile(const float* x, Index p, const float* entries, Index F, float* z) {
  WideSingles sums[kRows][Vectors];
  for (auto& row : sums) {
    for (WideSingles& sum : row) sum = WideSingles{};
  }
  for (Index i = 0; i < p; ++i) {
    for (int v = 0; v < Vectors; ++v) {
      const WideSingles entry = load<WideSingles>(entries + i * F + v * kWideSingles);
      for (int r = 0; r < kRows; ++r) {
        sums[r][v] = multiply_add(repeat<WideSingles>(x[r * p + i]), entry, sums[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < Vectors; ++v) store(z + r * F + v * kWideSingles, sums[r][v]);
  }
}

}  // namespace

void project(Matrix<const double> X, Vector<const std::int64_t> rows, double scale,
             Matrix<const float> R, Matrix<double> Z) {
  project_each(rows.size(), [&](Index b) { return X[rows[b]].data(); }, scale, R, Z);
}

void project(Matrix<const double> X, double scale, Matrix<const float> R, Matrix<double> Z) {
  project_each(X.size(), [&](Index b) { return X[b].data(); }, scale, R, Z);
}

void project(Vector<const double> x, double scale, Matrix<const float> R, Vector<double> z) {
  project(x.reshaped(1, x.size()), scale, R, z.reshaped(1, z.size()));
}

void project_singles(Matrix<const float> X, Matrix<const float> R, Matrix<float> Z) {
  const Index p = R.size(0);
  const Index F = R.size(1);
  for (Index b = 0; b < X.size(); b += kRows) {
    const float* const x = X.data() + b * p;
    float* const z = Z.data() + b * F;
    Index f = 0;
    for (; f + kTileColumns <= F; f += kTileColumns)
      project_tile<kVectors>(x, p, R.data() + f, F, z + f);
    for (; f + kWideSingles <= F; f += kWideSingles) {
      project_tile<1>(x, p, R.data() + f, F, z + f);
    }
    // Columns that fill no tile.
    for (int r = 0; r < kRows; ++r) {
      for (Index rest = f; rest < F; ++rest) {
        float total = 0.0F;
        for (Index i = 0; i < p; ++i) total += x[r * p + i] * R(i, rest);
        z[r * F + rest] = total;
      }
    }
  }
}

}  // namespace rpnb
