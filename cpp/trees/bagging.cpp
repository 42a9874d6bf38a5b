#include "bagging.h"

#include <algorithm>

#include "../workspace.h"
#include "learning.h"

namespace rpnb::trees {

void score_bagging(const Forest& forest, const TreeParameters& rules, Matrix<const double> X,
                   Matrix<double> votes) {
  for (Index start = 0; start < X.size(); start += kBlock) {
    const Index stop = std::min(start + kBlock, X.size());
    for (Index k = 0; k < forest.trees(); ++k) {
      score_tree(forest, k, rules, X.slice(start, stop), votes.slice(start, stop));
    }
  }
}

void learn_bagging(Forest& forest, const TreeParameters& rules, const Draws& draws,
                   Matrix<const double> X, Vector<const std::int64_t> y,
                   Vector<const double> weight, Matrix<double> votes) {
  for (Index start = 0; start < X.size(); start += kBlock) {
    const Index stop = std::min(start + kBlock, X.size());
    Workspace space;
    const auto words = space.take<std::uint32_t>(stop - start);
    const auto weights = space.take<double>(stop - start);
    for (Index k = 0; k < forest.trees(); ++k) {
      fill_row_words(draws.seed, Purpose::kBagging, draws.member + k, draws.row + start, words);
      for (Index i = 0; i < stop - start; ++i) {
        weights[i] = draw_poisson(words[i]) * weight[weight.size() == 1 ? 0 : start + i];
      }
      learn_tree(forest, k, rules, X.slice(start, stop), y.slice(start, stop), weights,
                 votes.slice(start, stop));
    }
  }
}

}  // namespace rpnb::trees
