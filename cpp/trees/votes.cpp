#include "votes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../math.h"
#include "../workspace.h"
#include "leaves.h"

namespace rpnb::trees {

namespace {

// Write e^score for the classes that have a slot, with a common factor that keeps the largest
// of them in range.
void fill_shares(const LeafCounts& counts, Index leaf, Vector<const double> scores, Density density,
                 Vector<double> shares) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  double scale = kNone;
  for (Index m = 0; m < shares.size(); ++m) scale = std::max(scale, scores[m]);
  // Only ratios matter, unless products are at the ends of the range of doubles.
  if (scale == kNone) {
    scale = 0.0;
  } else if (density == Density::kProduct && std::abs(scale) > kSafe) {
    scale = log(total_weight(counts, leaf));
  }
  for (Index m = 0; m < shares.size(); ++m) shares[m] = exp(scores[m] - scale);
}

}  // namespace

Index largest(Vector<const double> values, Index count, Index otherwise) {
  Index best = otherwise;
  for (Index m = 0; m < count; ++m) {
    if (m == 0 || values[m] > values[best]) best = m;
  }
  return best;
}

bool votes_by_majority(const LeafCounts& counts, Index leaf, LeafRule rule) {
  if (counts.frozen[leaf] || rule == LeafRule::kMajority) return true;
  return rule == LeafRule::kAdaptive && counts.majority_right[leaf] > counts.bayes_right[leaf];
}

Index largest_vote(const LeafCounts& counts, Index leaf, bool by_majority,
                   Vector<const double> scores) {
  const Index slots = counts.slots[leaf];
  if (by_majority) return largest(counts.class_weight[leaf], slots, 0);
  return largest(scores, slots, 0);
}

void add_votes(const LeafCounts& counts, Index leaf, bool by_majority, Vector<const double> scores,
               Density density, double factor, Vector<double> votes) {
  const Index slots = counts.slots[leaf];
  Workspace space;
  Vector<double> shares = counts.class_weight[leaf].slice(0, slots);
  if (!by_majority) {
    shares = space.take<double>(slots);
    fill_shares(counts, leaf, scores, density, shares);
  }
  double total = 0.0;
  for (Index m = 0; m < slots; ++m) total += shares[m];
  if (total > 0.0) {
    for (Index m = 0; m < slots; ++m) votes[m] += factor * (shares[m] * (1.0 / total));
  }
}

void fill_labels(Matrix<const double> votes, Vector<std::int64_t> labels) {
  for (Index i = 0; i < votes.size(); ++i) labels[i] = largest(votes[i], votes.size(1), 0);
}

}  // namespace rpnb::trees
