// Scores as quadratic forms of the observation, with error bounds: the fastest pass for
// predicting many rows of few features.
//
// Under equation (6) a class's score is a sum of squares of numbers that are linear in the
// observation. Multiplied out it is a polynomial of degree two in p variables, whatever the
// number of columns. With x₀ the mean of some rows, z₀ its projection, x' = x − x₀,
// μ' = μ − z₀ and w = 1/σ², the sum −½ Σ w (z − μ)² is
//
//   −½ Σ w μ'²  +  Σ_i b_i x'_i  −  ½ Σ_ij A_ij x'_i x'_j,
//
//   A_ij = scale² Σ w r_i r_j,    b_i = scale Σ w μ' r_i,
//
// the sums without index over the F columns. A row costs about ½p² operations per class
// instead of F·p and 2·F per class; building the form of a class costs ½p²·F. The error bound
// is derived in docs/explanation/passes.md, "The quadratic path".
//
// The model must not learn while its forms are in use.
#pragma once

#include "model.h"

namespace rpnb::bayes {

// The number of coefficients of a form: products of features, and features.
inline Index form_terms(Index p) { return p * (p + 3) / 2; }

class Forms {
 public:
  // The forms of all classes of a model with the rule kLogSum that keeps a matrix; x0 (p,) is
  // the mean of some rows. The model must outlive them.
  Forms(const Model& model, Vector<const double> x0);

  // Predict rows X (n, p), as `run_exact` does; −1 while no class is known.
  void classify(Matrix<const double> X, Vector<std::int64_t> labels) const;

  // For tests: the values of the forms (n, M) plus constant and prior, and their bounds.
  void score(Matrix<const double> X, Matrix<double> values, Matrix<double> bounds) const;

  [[nodiscard]] Index features() const { return p_; }
  [[nodiscard]] Index classes() const { return M_; }

 private:
  class Builder;
  struct RowsInStep;

  void evaluate(RowsInStep& rows) const;
  void find_leaders(const RowsInStep& rows, Vector<std::int64_t> labels,
                    Vector<bool> certain) const;
  void decide(Matrix<const double> X, Vector<const bool> certain,
              Vector<std::int64_t> labels) const;

  const Model& model_;
  Index p_;
  Index M_;
  Array<double, 1> origin_;  // x₀
  // Padded to whole tiles of classes:
  Array<double, 2> factors_;  // coefficients of x'_i x'_j, i ≤ j, then of x'_i
  Array<double, 1> start_;    // the value at the origin, constant and prior included
  // The bound of |value − score| is a polynomial of |x'|.
  Array<double, 2> bound_;  // its three coefficients, for each class
  double farthest_;         // |x'| from which there is no bound
};

}  // namespace rpnb::bayes
