// The votes of a leaf: its class weights, or the naive Bayes scores of a row.
#pragma once

#include "records.h"

namespace rpnb::trees {

// The index of the largest of the first `count` values, the first of equals; `otherwise` if
// there are none. As in MOA, a NaN at index 0 is the largest, and a NaN elsewhere never is.
Index largest(Vector<const double> values, Index count, Index otherwise);

// Whether the leaf votes with its class weights rather than with naive Bayes.
bool votes_by_majority(const LeafCounts& counts, Index leaf, LeafRule rule);

// The class with most votes, the lowest of equals, 0 if there are none.
Index largest_vote(const LeafCounts& counts, Index leaf, bool by_majority,
                   Vector<const double> scores);

// Add the votes of the leaf, scaled to sum to `factor`, to `votes` (M,).
//
// Votes that sum to 0 or to NaN are ignored. With `Density::kProduct` the votes are, as in
// MOA, multiplied by 1 over their sum: where this is 0 or ∞, because products have overflowed
// or are about to vanish, votes become ∞ or NaN.
void add_votes(const LeafCounts& counts, Index leaf, bool by_majority, Vector<const double> scores,
               Density density, double factor, Vector<double> votes);

// Set `labels` (n,) to the classes with most of the votes (n, M), the lowest of equals.
void fill_labels(Matrix<const double> votes, Vector<std::int64_t> labels);

}  // namespace rpnb::trees
