// Scaling each row by the mean and deviation of the rows before it.
//
// Of the rows so far, with weights w, each column has its mean m and scatter S (the sum of
// squared deviations from the mean). A row is scaled by the rows before it,
//
//   z = clip((x − m)/√(S/w), −c, c)
//
// with z = 0 where a column has not varied yet, and is then added by
//
//   δ = x − m,    m' = m + δ·w_x/(w + w_x),    S' = S + δ²·w·w_x/(w + w_x)
//
// (Chan, Golub & LeVeque 1983, equations 1.3). Rows are added one by one, in order, so that
// no bit depends on how they are divided into calls. Missing values (NaN) stay missing and
// are not counted.
//
// Sparse rows are not centred: m stays 0, S is the sum of squares, and absent entries are
// zeros. The cost of a row is then proportional to its number of entries.
#pragma once

#include <cstdint>

#include "../record.h"
#include "../rows.h"

namespace rpnb {

// Mean and scatter of the columns of all rows so far.
struct RunningScale {
  Array<double, 1> mean;        // zero where rows are not centred
  Array<double, 1> scatter;     // summed squared deviations from the mean
  Array<double, 1> missing;     // weight of the rows without a value
  Array<double, 1> weight;      // weight of all rows
  Array<std::int64_t, 1> seen;  // number of rows
  Array<bool, 1> centred;       // whether rows are centred

  static constexpr auto fields() {
    return std::tuple{field("mean", &RunningScale::mean, "p"),
                      field("scatter", &RunningScale::scatter, "p"),
                      field("missing", &RunningScale::missing, "p"),
                      field("weight", &RunningScale::weight, "1"),
                      field("seen", &RunningScale::seen, "1"),
                      field("centred", &RunningScale::centred, "1")};
  }
};

// How rows are scaled, and which of them are added.
struct ScaleJob {
  Vector<const std::int64_t> y;  // (n,) a row whose number is negative is only scaled
  Vector<const double> weight;   // (n,) or (1,) one for each row, or one for all
  Index size;                    // rows of a mini-batch, which are scaled by the rows before it
  double clip;                   // largest absolute value after scaling

  [[nodiscard]] double weight_of(Index i) const { return weight[weight.size() == 1 ? 0 : i]; }
};

// Scale rows X (n, p) into `out`, each by the rows before it, and add them.
void scale_rows(RunningScale& scale, Matrix<const double> X, const ScaleJob& job,
                Matrix<double> out);

// The same for sparse rows; `out` gets their values.
void scale_sparse_rows(RunningScale& scale, const RowBlock& rows, const ScaleJob& job,
                       Vector<double> out);

}  // namespace rpnb
