// The scale of the features, found by learning the first rows again.
//
// The first 256 labelled rows are kept. After 2, 4, 8, …, 256 rows, the mean m_j and the
// population standard deviation s_j of each feature are computed from the rows kept, and
// all that depends on the scale is learned again from them. Rows are then scaled by
//
//   z_j = clip((x_j − m_j)/s_j, −6, 6)
//
// with s_j = 1 where a feature has been constant, and z_j = 0 where x_j is missing.
//
// Afterwards the last 64 labelled rows are kept, and after every 64 of them each feature
// is examined by itself: where it has left its scale, mean and deviation are computed
// from these rows. What was learned stays: a feature in other units, or shifted as a
// whole, has the scaled values that it had before.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

// Labelled rows after which the scale is fixed.
inline constexpr Index kLastReplay = 256;
// Labelled rows between two examinations of the scale thereafter.
inline constexpr Index kLook = 64;

struct FeatureScale {
  Array<double, 1> mean;
  Array<double, 1> deviation;  // 1 where the feature has been constant
  Array<bool, 1> constant;     // whether it has been
  Array<double, 2> rows;       // the first 256 rows; later, in the first 64 places, the last ones
  Array<std::int64_t, 1> labels;
  Array<double, 1> weight;
  Array<std::int64_t, 1> seen;  // labelled rows so far

  static constexpr auto fields() {
    return std::tuple{field("mean", &FeatureScale::mean, "p"),
                      field("deviation", &FeatureScale::deviation, "p"),
                      field("constant", &FeatureScale::constant, "p"),
                      field("rows", &FeatureScale::rows, "256 p"),
                      field("labels", &FeatureScale::labels, "256"),
                      field("weight", &FeatureScale::weight, "256"),
                      field("seen", &FeatureScale::seen, "1")};
  }

  // The scale before the first row.
  static FeatureScale begin(Index p);

  // After how many labelled rows the scale is next found by learning again.
  [[nodiscard]] Index next_replay() const;
  // Compute the scale of all features from the rows kept, of which there are `seen`.
  void fit_all();
  // Scale rows X (n, p) into z.
  void apply(Matrix<const double> X, Matrix<float> z) const;
  // Scale each row of X (n, p) into z, then keep it if it is labelled.
  //
  // After the first 256 labelled rows, features that have left their scale get another
  // one on the way.
  void scale_rows(Matrix<const double> X, const Labels& labels, Matrix<float> z);
  // Count n labelled rows after the first 256, and keep the last of them.
  //
  // X are the last 64, or all if there are fewer. Where one or more examinations of the
  // scale were due among the n rows, there is one, after them.
  void keep_last_rows(Matrix<const double> X, const Labels& labels, Index n);
};

}  // namespace rpnb
