// The leading class by single-precision scores, and the classes that might lead, given their
// error bounds.
#pragma once

#include "../workspace.h"
#include "model.h"
#include "single_densities.h"

namespace rpnb::bayes {

// The class with the largest single-precision score, and whether it certainly has the largest
// double-precision score.
struct Leader {
  Index label;
  bool certain;
};

// Compares the scores of classes; what it needs of each class is padded to whole vectors.
class Contest {
 public:
  // The arrays are taken from the workspace.
  Contest(const Model& model, const SingleDensities& densities, Workspace& workspace);

  // Columns of an array of scores: M, padded.
  [[nodiscard]] Index padded() const { return padded_; }

  // Update class m after its density, its prior or its eligibility has changed.
  void update_class(Index m);
  // Update the class of a row that was counted, and all priors that changed with it.
  void update_counts(Index y);

  // Find the leader of a row by its single-precision scores, padded.
  //
  // If it is not certain, `rivals` (M,) is set to the classes whose double-precision score
  // may be the largest. Comparisons are written so that a NaN, which comes from a number
  // beyond single precision, makes a class a rival.
  Leader find_leader(const double* scores, const RowError& row, Vector<bool> rivals) const;

  // Write the codes (M,) of a row predicted as `best`; return whether all are certain.
  bool write_codes(const double* scores, const RowError& row, Index best, Vector<Code> codes) const;

 private:
  [[nodiscard]] double bound(const double* scores, const ErrorBounds& bounds, Index m) const;
  [[nodiscard]] Index find_largest(const double* scores) const;
  [[nodiscard]] double count_rivals(const double* scores, const ErrorBounds& bounds,
                                    double lowest) const;
  bool list_rivals(const double* scores, const ErrorBounds& bounds, Index best, double lowest,
                   Vector<bool> rivals) const;

  const Model& model_;
  const SingleDensities& densities_;
  Index padded_;
  Vector<double> constant_;
  Vector<double> mean_norm_;
  Vector<double> precision_norm_;
  Vector<double> bias_;
  Vector<double> active_;
};

}  // namespace rpnb::bayes
