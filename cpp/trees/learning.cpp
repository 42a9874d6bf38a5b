#include "learning.h"

#include "../workspace.h"
#include "leaves.h"
#include "splits.h"
#include "votes.h"

namespace rpnb::trees {

namespace {

// Count whether the majority class, and whether naive Bayes, predicts class y.
//
// At an empty leaf there is no majority class, but naive Bayes predicts class 0.
void count_correct(LeafCounts& counts, Index leaf, Index y, double weight,
                   Vector<const double> scores) {
  const Index slots = counts.slots[leaf];
  if (largest(counts.class_weight[leaf], slots, -1) == y) counts.majority_right[leaf] += weight;
  if (largest(scores, slots, 0) == y) counts.bayes_right[leaf] += weight;
}

// Learn a row at its leaf; return whether to attempt a split.
bool observe_at_leaf(const Leaves& leaves, Index leaf, Vector<const double> x, Index y,
                     double weight, const TreeParameters& rules, Vector<const double> scores) {
  LeafCounts& counts = *leaves.counts;
  if (counts.frozen[leaf]) {
    count_class(counts, leaf, y, weight);
    return false;
  }
  if (rules.leaf == LeafRule::kAdaptive) count_correct(counts, leaf, y, weight, scores);
  count_class(counts, leaf, y, weight);
  observe_row(*leaves.observed, leaf, y, x, weight);
  refresh_densities(*leaves.densities, *leaves.observed, leaf, y, counts.class_weight(leaf, y),
                    rules.density);
  const double total = total_weight(counts, leaf);
  const bool due = rules.grows && total - counts.checked[leaf] >= rules.grace;
  if (due) counts.checked[leaf] = total;
  return due;
}

// Split a leaf of tree k and link the new node to its parent.
void split_and_link(Forest& forest, Index k, const LeafPosition& position, const Split& split) {
  if (forest.splits()[k] + 2 > forest.places()) forest.add_places();
  const Index node = split_leaf(forest, k, position.leaf, split);
  if (position.node >= 0) {
    Nodes& nodes = *forest.nodes();
    (position.is_left ? nodes.left : nodes.right)[k * forest.places() + position.node] = node;
  }
}

// Add the votes of the leaf for x. `scores` gets naive Bayes' scores if the votes, or learning
// the row, need them.
void vote(const Leaves& leaves, Index leaf, const TreeParameters& rules, Vector<const double> x,
          bool learned, Vector<double> scores, Vector<double> votes) {
  const bool by_majority = votes_by_majority(*leaves.counts, leaf, rules.leaf);
  if (!by_majority || (learned && rules.leaf == LeafRule::kAdaptive)) {
    score_classes(leaves, leaf, x, rules.density, scores);
  }
  add_votes(*leaves.counts, leaf, by_majority, scores, rules.density, 1.0, votes);
}

}  // namespace

LeafPosition descend(const Forest& forest, Index k, Vector<const double> x) {
  const Nodes& nodes = *forest.nodes();
  const Index first = k * forest.places();
  LeafPosition position{-1, -1, false};
  std::int64_t child = forest.splits()[k] > 0 ? 0 : -1;
  while (child >= 0) {
    const Index at = first + child;
    position.node = child;
    position.is_left = x[nodes.attribute[at]] <= nodes.threshold[at];
    child = position.is_left ? nodes.left[at] : nodes.right[at];
  }
  position.leaf = -1 - child;
  return position;
}

bool learn_at_leaf(Forest& forest, Index k, const LeafPosition& position, Vector<const double> x,
                   Index y, double weight, const TreeParameters& rules,
                   Vector<const double> scores) {
  const Index leaf = k * forest.places() + position.leaf;
  if (!observe_at_leaf(forest.leaves(), leaf, x, y, weight, rules, scores)) return false;
  const Split split = attempt_split(forest.leaves(), leaf, rules);
  forest.leaves().counts->frozen[leaf] = split.freeze;
  if (split.attribute < 0) return false;
  split_and_link(forest, k, position, split);
  return true;
}

void score_tree(const Forest& forest, Index k, const TreeParameters& rules, Matrix<const double> X,
                Matrix<double> votes) {
  Workspace space;
  const auto scores = space.take<double>(votes.size(1));
  for (Index i = 0; i < X.size(); ++i) {
    const Index leaf = k * forest.places() + descend(forest, k, X[i]).leaf;
    vote(forest.leaves(), leaf, rules, X[i], false, scores, votes[i]);
  }
}

void learn_tree(Forest& forest, Index k, const TreeParameters& rules, Matrix<const double> X,
                Vector<const std::int64_t> y, Vector<const double> weight, Matrix<double> votes) {
  Workspace space;
  const auto scores = space.take<double>(votes.size(1));
  for (Index i = 0; i < X.size(); ++i) {
    const bool learned = weight[i] > 0.0;
    const LeafPosition position = descend(forest, k, X[i]);
    const Index leaf = k * forest.places() + position.leaf;
    vote(forest.leaves(), leaf, rules, X[i], learned, scores, votes[i]);
    if (learned) learn_at_leaf(forest, k, position, X[i], y[i], weight[i], rules, scores);
  }
}

}  // namespace rpnb::trees
