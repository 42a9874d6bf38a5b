// Online bagging: each tree learns each row a Poisson(1) number of times.
//
// Oza & Russell, "Online bagging and boosting", 2001, as in MOA's OzaBag: the members' votes,
// scaled to sum to 1, are added. Members do not depend on one another, so a block of rows is
// passed through one member after the other, which keeps the member's leaves in the cache;
// votes are added in the members' order.
#pragma once

#include "draws.h"
#include "records.h"

namespace rpnb::trees {

// Rows that go through a member at a time.
inline constexpr Index kBlock = 256;

// Test each row of X (n, p) on every tree: add their votes to `votes` (n, M).
void score_bagging(const Forest& forest, const TreeParameters& rules, Matrix<const double> X,
                   Matrix<double> votes);

// The same, and learn each row, as of class y[i], once it is tested. `weight` is (n,), or (1,)
// where all rows weigh the same; a row whose weight is not above 0 is not learned.
void learn_bagging(Forest& forest, const TreeParameters& rules, const Draws& draws,
                   Matrix<const double> X, Vector<const std::int64_t> y,
                   Vector<const double> weight, Matrix<double> votes);

}  // namespace rpnb::trees
