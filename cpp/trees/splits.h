// Whether and where a leaf is split.
//
// Each attribute is tried at thresholds evenly spaced between the smallest and the largest
// value seen. The classes' normal densities estimate how much of each class lies on either
// side; the merit of a threshold is its information gain. The best attribute is taken when
// it leads by more than the Hoeffding bound.
#pragma once

#include "records.h"

namespace rpnb::trees {

// The outcome of an attempt to split a leaf.
struct Split {
  Index attribute = -1;  // the attribute to split on, −1 for none
  double threshold = 0.0;
  bool freeze = false;  // no attribute offers a threshold: the leaf cannot be split
};

// Decide whether to split the leaf, by the Hoeffding bound.
//
// With n = ΣN and R the logarithm to base 2 of the number of class slots, at least 2,
// ε = √(R² ln(1/δ)/(2n)). The best attribute is taken if it leads the second best by more
// than ε, or if ε < τ. Not splitting competes with merit −∞. Of attributes with equal merits
// the last is best. A leaf of one class is not split.
Split attempt_split(const Leaves& leaves, Index leaf, const TreeParameters& rules);

// Estimate the weight of class m for which attribute j is ≤ z; σ is the attribute's deviation.
//
// Where z lies within the class's range, by its normal density: W·Φ((z − μ)/σ). MOA subtracts
// the density at z and adds it again, which costs digits, all of them if σ is near 1e-16. Its
// last digits differ in any case, so that a leaf which starts with such a weight may reach
// its next attempt to split one row earlier or later. For a class without variance, whose
// rows differ only if their total weight is at most 1, MOA puts all weight on the side where
// the mean is not.
double weight_below(const LeafMoments& observed, Index leaf, Index m, Index j, double z,
                    double deviation);

// Make a node of tree k from its leaf; return its number, for the parent to link.
//
// The leaf itself is reset to be the left child, and the right child is a new leaf. Both start
// with the class weights estimated for their side. The forest must have a free place.
Index split_leaf(Forest& forest, Index k, Index leaf, const Split& split);

}  // namespace rpnb::trees
