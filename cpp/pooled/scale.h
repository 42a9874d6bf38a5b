// The scale of the features, estimated from the first rows, which are then learned again.
//
// The first 256 labelled rows are kept. After 2, 4, 8, …, 256 rows, the mean m_j and the
// population standard deviation s_j of each feature are computed from the rows kept, and
// all members that depend on the scale learn these rows again. Rows are then scaled by
//
//   z_j = clip((x_j − m_j)/s_j, −6, 6)
//
// with s_j = 1 for constant features, and z_j = 0 where x_j is missing.
//
// Afterwards the last 64 labelled rows are kept, and after every 64 of them each feature is
// checked: if it has left its scale, its mean and deviation are computed from these rows.
// What was learned stays valid for a feature whose units or offset have changed, since its
// scaled values are the same as before.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

// Labelled rows after which the scale is fixed.
inline constexpr Index kLastReplay = 256;
// Labelled rows between later checks of the scale.
inline constexpr Index kLook = 64;

struct FeatureScale {
  Array<double, 1> mean;
  Array<double, 1> deviation;  // 1 for constant features
  Array<bool, 1> constant;     // whether the feature has been constant
  Array<double, 2> rows;       // the first 256 rows; later the last 64, in the first 64 places
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

  // The initial scale.
  static FeatureScale begin(Index p);

  // The number of labelled rows after which the scale is next recomputed.
  [[nodiscard]] Index next_replay() const;
  // Compute the scale of all features from the first `seen` rows.
  void fit_all();
  // Scale rows X (n, p) into z.
  void apply(Matrix<const double> X, Matrix<float> z) const;
  // Scale each row of X (n, p) into z, then keep it if it is labelled.
  //
  // After the first 256 labelled rows, features that have left their scale are rescaled.
  void scale_rows(Matrix<const double> X, const Labels& labels, Matrix<float> z);
  // Count n labelled rows after the first 256, and keep the last of them.
  //
  // X holds the last 64, or all if there are fewer. If one or more checks of the scale were
  // due among the n rows, one is made after them.
  void keep_last_rows(Matrix<const double> X, const Labels& labels, Index n);
};

}  // namespace rpnb
