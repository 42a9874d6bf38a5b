// The score of a class for a projected observation: equations (5) and (6).
//
// Under (6) the sums of the K members add up to one sum over all F columns. The scores
// here, in double precision and summed in a fixed order, define the label: the faster
// passes bound the difference of their scores from these, and fall back on these where the
// bounds leave several classes possible.
#pragma once

#include "densities.h"

namespace rpnb::bayes {

// Number of partial sums; column f is added to sum f % kLanes. So the order of additions is
// fixed, and the loop can still use vectors.
inline constexpr Index kLanes = 32;
// Largest contribution of a column, which keeps every score finite.
inline constexpr double kLargestTerm = 1e300;
// The unit roundoffs of double and single precision, and the smallest single.
inline constexpr double kDoubleRoundoff = 0x1p-53;
inline constexpr double kSingleRoundoff = 0x1p-24;
inline constexpr double kSmallestSingle = 0x1p-149;

// A bound of the relative rounding error of a score of F columns.
inline double score_rounding(Index F) {
  return 1.01 * (static_cast<double>(F) / kLanes + 24) * kDoubleRoundoff;
}

// Class m's score for z (F,), or any number below `rival` if the score is below it.
//
// The score is K·log P(y_m), given as `bias`, minus Σ log(√(2π)·σ) and half of
// Σ ((z − μ)/σ)², the sums over all columns. The terms of the last sum are ≥ 0 and rounding
// is monotone, so the score only falls as columns are added: once it is below `rival`, the
// score of another class, the sum is not completed.
double score(Vector<const double> z, const Gaussians& gaussians, Index m, double bias,
             double rival);

// The scores of all classes (M,) for z (F,).
void score_classes(Vector<const double> z, const Gaussians& gaussians, Vector<const double> bias,
                   Vector<double> scores);

// The eligible class with the largest score, the first of equals, or −1.
//
// The class that leads after the first columns is scored first: it usually wins, and the
// sums of the other classes can then be stopped early.
Index best_class(Vector<const double> z, const Gaussians& gaussians, Vector<const double> bias,
                 Vector<const bool> eligible);

}  // namespace rpnb::bayes
