// Online Bayes with a full covariance for each class.
//
// After Nguyen et al., "Online Bayes classifier" (DICTA 2016), as described by the RPNB
// paper. Each class has a weight n, a mean μ and a covariance S, starting from one
// pseudo-observation with μ = 0 and S = I. An observation x of weight w changes them by the
// matrix form of the paper's Theorem 1: with n' = n + w and δ = x − μ,
//
//   S' = (n/n')(S + (w/n') δδᵀ),    μ' = μ + (w/n') δ.
//
// Scores need S⁻¹ and log det S, which a rank-one update changes in O(p²) operations. The
// state is a triangular U with U·Uᵀ = S⁻¹, updated as in square-root Kalman filters (Carlson,
// "Fast triangular formulation of the square root filter", AIAA Journal 11, 1973): a distance
// is then a sum of squares. Updating S⁻¹ itself by the Sherman-Morrison formula gives negative
// distances if the deviations of two directions differ by a factor of 1e9.
#pragma once

#include <cstdint>

#include "../record.h"
#include "model.h"

namespace rpnb::bayes {

// Weight, mean and covariance of M classes: the whole state of the learner.
struct ClassCovariances {
  Array<double, 1> weight;      // n: 1 plus the weight of the rows learned
  Array<double, 2> mean;        // μ
  Array<double, 3> root;        // U, upper triangular, with U·Uᵀ = S⁻¹
  Array<double, 1> log_volume;  // log det S

  static constexpr auto fields() {
    return std::tuple{field("weight", &ClassCovariances::weight, "M"),
                      field("mean", &ClassCovariances::mean, "M p"),
                      field("root", &ClassCovariances::root, "M p p"),
                      field("log_volume", &ClassCovariances::log_volume, "M")};
  }
};

// Score each row of X (n, p), then learn it; return the number of updates.
//
// `scores` (n, M) is set to log P(m) + log N(x; μ_m, S_m) up to a constant, where
// P(m) = n_m/Σn, that is (c_m + 1)/(Σc + M) with c the weight learned; `labels` (n,) is set
// to the class with the highest, the lowest of equals. `y` (n,) and `weight`, (n,) or (1,)
// where all rows weigh the same, are not read if `learn` is Learn::kNothing. A row of class
// −1, or whose weight is not above 0, is scored but not learned.
Index run_online_bayes(ClassCovariances& classes, Matrix<const double> X,
                       Vector<const std::int64_t> y, Vector<const double> weight, Learn learn,
                       Matrix<double> scores, Vector<std::int64_t> labels);

// Update class m's weight, mean and covariance by x (p,) of weight w.
//
// With v = Uᵀδ, α₀ = n'/w and α_j = α₀ + v₁² + … + v_j², entry (i, j) of U becomes
// √(n'/n)·(U_ij·√(α_{j−1}/α_j) − v_j/√(α_{j−1}·α_j)·Σ_{h<j} v_h·U_ih).
void add_to_covariance(ClassCovariances& classes, Index m, Vector<const double> x, double w);

}  // namespace rpnb::bayes
