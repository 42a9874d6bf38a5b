#include "boosting.h"

#include <algorithm>
#include <cmath>

#include "../math.h"
#include "../workspace.h"
#include "bagging.h"
#include "learning.h"
#include "leaves.h"
#include "votes.h"

namespace rpnb::trees {

namespace {

// Record whether member k was right on a row with λ = `mean`; return the next λ.
//
// `seen` is T, the weight of all rows up to this one.
double next_mean(MemberAccuracy& accuracy, Index k, bool is_right, double mean, double seen) {
  if (mean == 0.0) return 0.0;
  double& total = (is_right ? accuracy.right : accuracy.wrong)[k];
  total += mean;
  return mean * seen / (2.0 * total);
}

// A member's result for a row: the leaf, and the scores there.
struct Visit {
  LeafPosition position;
  Index leaf;
  bool by_majority;
};

Visit visit(const Forest& forest, Index k, const TreeParameters& rules, Vector<const double> x,
            Vector<double> scores) {
  const LeafPosition position = descend(forest, k, x);
  const Index leaf = k * forest.places() + position.leaf;
  score_classes(forest.leaves(), leaf, x, rules.density, scores);
  return {position, leaf, votes_by_majority(*forest.leaves().counts, leaf, rules.leaf)};
}

}  // namespace

double influence(double right, double wrong) {
  if (wrong == 0.0 || wrong >= right) return 0.0;
  return log(right / wrong);
}

void score_boosting(const Forest& forest, const MemberAccuracy& accuracy,
                    const TreeParameters& rules, Matrix<const double> X, Matrix<double> votes) {
  Workspace space;
  const auto scores = space.take<double>(votes.size(1));
  for (Index start = 0; start < X.size(); start += kBlock) {
    const Index stop = std::min(start + kBlock, X.size());
    for (Index k = 0; k < forest.trees(); ++k) {
      const double factor = influence(accuracy.right[k], accuracy.wrong[k]);
      if (!(factor > 0.0)) break;
      for (Index i = start; i < stop; ++i) {
        const Visit here = visit(forest, k, rules, X[i], scores);
        add_votes(*forest.leaves().counts, here.leaf, here.by_majority, scores, rules.density,
                  factor, votes[i]);
      }
    }
  }
}

void learn_boosting(Forest& forest, MemberAccuracy& accuracy, const TreeParameters& rules,
                    const Draws& draws, bool pure, Matrix<const double> X,
                    Vector<const std::int64_t> y, Vector<const double> weight,
                    Matrix<double> votes) {
  Workspace space;
  const auto scores = space.take<double>(votes.size(1));
  const auto words = space.take<std::uint32_t>(kBlock);
  // Of the rows of a block, between two members:
  const auto weights = space.take<double>(kBlock);
  const auto seen = space.take<double>(kBlock);  // T: weight of all rows up to this one
  const auto mean = space.take<double>(kBlock);  // λ for the next member
  const auto open = space.take<bool>(kBlock);    // whether further members vote on the row
  for (Index start = 0; start < X.size(); start += kBlock) {
    const Index n = std::min(kBlock, X.size() - start);
    for (Index b = 0; b < n; ++b) {
      weights[b] = std::max(weight[weight.size() == 1 ? 0 : start + b], 0.0);
      // Added one by one, so that the sum does not depend on how rows are grouped.
      accuracy.seen[0] += weights[b];
      seen[b] = accuracy.seen[0];
      mean[b] = 1.0;
      open[b] = true;
    }
    for (Index k = 0; k < forest.trees(); ++k) {
      fill_row_words(draws.seed, Purpose::kBoosting, draws.member + k, draws.row + start,
                     words.slice(0, n));
      for (Index b = 0; b < n; ++b) {
        const Vector<const double> x = X[start + b];
        const std::int64_t label = y[start + b];
        Visit here = visit(forest, k, rules, x, scores);
        const double factor = influence(accuracy.right[k], accuracy.wrong[k]);
        open[b] = open[b] && factor > 0.0;
        if (open[b]) {
          add_votes(*forest.leaves().counts, here.leaf, here.by_majority, scores, rules.density,
                    factor, votes[start + b]);
        }
        if (!(weights[b] > 0.0)) continue;
        const double times = pure ? mean[b] : draw_poisson(words[b], mean[b]);
        if (weights[b] * times > 0.0) {
          learn_at_leaf(forest, k, here.position, x, label, weights[b] * times, rules, scores);
          here = visit(forest, k, rules, x, scores);
        }
        const Index guess =
            largest_vote(*forest.leaves().counts, here.leaf, here.by_majority, scores);
        mean[b] = next_mean(accuracy, k, guess == label, mean[b], seen[b]);
      }
    }
  }
}

}  // namespace rpnb::trees
