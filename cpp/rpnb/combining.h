// Rules that combine the K members' posteriors: Kittler, Hatef, Duin & Matas (1998).
//
// The paper's rule, equation (6), does not need the members' posteriors and is in scoring.h.
// The rules here do: each member's log posterior is normalised over the classes, and the
// rule is applied to the K log posteriors of each class. Scores are logarithms where the
// rule allows, so that classes can be compared even if posteriors underflow.
#pragma once

#include "densities.h"

namespace rpnb::bayes {

// kLogSum is the paper's rule; the order is that of `COMBINERS` in Python.
enum class Rule { kLogSum, kSum, kProduct, kVote, kMax, kMin, kMedian };
inline constexpr Index kRules = 7;

// Write log P(y_m | z⁽ᵏ⁾) to `out` (K, M), normalised over m: equation (5).
//
// A class that is not eligible gets −∞; all get NaN if none is. `bias` is K times the log
// prior.
void member_log_posteriors(Vector<const double> z, const Gaussians& gaussians,
                           Vector<const double> bias, Vector<const bool> eligible,
                           Matrix<double> out);

// Combine log posteriors (K, M) into one score per class (M,); the largest wins.
//
// sum: logarithm of the mean posterior. product: sum of the logarithms. vote: share of the
// members that put the class first. max, min, median: logarithm of the largest, smallest
// and middle posterior; the middle of an even number is the mean of two.
void combine(Rule rule, Matrix<const double> posterior, Vector<double> scores);

// The eligible class with the largest score, the first of equals, or −1.
Index best_combined(Vector<const double> scores, Vector<const bool> eligible);

}  // namespace rpnb::bayes
