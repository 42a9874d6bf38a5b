// The statistics of a leaf, and the naive Bayes scores of the classes there.
//
// The score of class c is log N_c + Σ_j log density_j(x_j | c), with a normal density for
// each attribute. A leaf keeps, for each class, the part of this sum that does not depend on
// x, so that a score is `peak` − Σ_j (x_j − μ_j)²·precision_j. Three cases need other
// formulas: an attribute without variance, whose density is 1 at its only value and 0
// elsewhere; a class not seen since the leaf began, whose density is 0; and, with
// `Density::kProduct`, products that may leave the range of doubles. The last two are
// recognised by the class's `limit`.
#pragma once

#include "records.h"

namespace rpnb::trees {

// Doubles are normal numbers, with all their digits, between e^−708 and e^709. A product
// whose logarithm stays within this bound is as good as the exponential of a sum.
inline constexpr double kSafe = 700.0;

// Make `leaf` one without observations that has these class weights.
void reset_leaf(const Leaves& leaves, Index leaf, Vector<const double> class_weight, Index slots);

// ΣN, added in the order of the classes.
//
// A running sum would be cheaper but would round differently, and whether a leaf has gained
// 200 since its last attempt to split must be decided as in MOA.
double total_weight(const LeafCounts& counts, Index leaf);

// Add `weight` to the weight of class y.
void count_class(LeafCounts& counts, Index leaf, Index y, double weight);

// Add a row x (p,) of class y to the class's Gaussians and ranges.
//
// The first row sets the mean. From then on, with W the weight including this row,
// μ' = μ + w(x − μ)/W and S += w(x − μ)(x − μ'), rounded as written.
void observe_row(LeafMoments& observed, Index leaf, Index y, Vector<const double> x, double weight);

// S/(W − 1), 0 where W is not above 1.
double variance_of(const LeafMoments& observed, Index leaf, Index m, Index j);

// Derive the density of class m, after its weight or its moments have changed.
void refresh_densities(LeafDensities& densities, const LeafMoments& observed, Index leaf, Index m,
                       double class_weight, Density density);

// Set scores[m] to the log of naive Bayes' vote for class m, plus log ΣN.
//
// Only classes that have a slot at the leaf are scored. A vote of 0 scores −∞.
void score_classes(const Leaves& leaves, Index leaf, Vector<const double> x, Density density,
                   Vector<double> scores);

// The score of class m, attribute by attribute.
double score_by_factors(const Leaves& leaves, Index leaf, Index m, Vector<const double> x,
                        Density density);

}  // namespace rpnb::trees
