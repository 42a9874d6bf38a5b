// Online boosting: rows misclassified by earlier trees are learned more often by later ones.
//
// Oza & Russell, "Online bagging and boosting", 2001, as in MOA's OzaBoost. A row starts with
// λ = 1. Member k learns it a Poisson(λ) number of times and then predicts it: for the next
// member λ grows if the prediction is wrong and shrinks if it is right. A member's weight in a
// vote follows from its error rate, weighted by λ; the first member with an error rate of at
// least one half, or of zero, ends the vote.
//
// Member k depends on the other members only by the λ of the member before, so a block of rows
// is passed through one member after the other, as in bagging.
#pragma once

#include "draws.h"
#include "records.h"

namespace rpnb::trees {

// Weights of the rows that each of K members classified right and wrong.
struct MemberAccuracy {
  Array<double, 1> right;  // Σλ over the rows that a member classifies correctly after learning
  Array<double, 1> wrong;  // Σλ over the others
  Array<double, 1> seen;   // weight of the rows learned

  static constexpr auto fields() {
    return std::tuple{field("right", &MemberAccuracy::right, "K"),
                      field("wrong", &MemberAccuracy::wrong, "K"),
                      field("seen", &MemberAccuracy::seen, "1")};
  }
};

// A member's weight in a vote, log((1 − e)/e), with e the share of `wrong`; 0 ends the vote,
// also for a member without errors, and for one with e ≥ ½.
double influence(double right, double wrong);

// Test each row of X (n, p) on the trees: add their votes to `votes` (n, M).
void score_boosting(const Forest& forest, const MemberAccuracy& accuracy,
                    const TreeParameters& rules, Matrix<const double> X, Matrix<double> votes);

// The same, and learn each row, as of class y[i], once it is tested. `weight` is (n,), or (1,)
// where all rows weigh the same; a row whose weight is not above 0 is not learned. If `pure`,
// a row is learned with weight λ instead of a Poisson draw.
void learn_boosting(Forest& forest, MemberAccuracy& accuracy, const TreeParameters& rules,
                    const Draws& draws, bool pure, Matrix<const double> X,
                    Vector<const std::int64_t> y, Vector<const double> weight,
                    Matrix<double> votes);

}  // namespace rpnb::trees
