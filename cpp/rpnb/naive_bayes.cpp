#include "naive_bayes.h"

#include "../math.h"
#include "scoring.h"

namespace rpnb::bayes {

void run_naive_bayes(NaiveBayes& state, Matrix<const double> X, Vector<const std::int64_t> y,
                     Vector<const double> weight, Vector<std::int64_t> labels) {
  for (Index i = 0; i < X.size(); ++i) {
    labels[i] = best_class(X[i], state.gaussians, state.log_seen, state.eligible);
    if (y.size() == 0 || y[i] < 0) continue;
    const Index m = y[i];
    state.eligible[m] = true;
    learn_density(state.gaussians, m, state.moments, state.prior, X[i],
                  weight[weight.size() > 1 ? i : 0]);
    state.log_seen[m] = log(state.moments.weight[m]);
  }
}

void score_naive_bayes(const Gaussians& gaussians, Vector<const double> log_seen,
                       Matrix<const double> X, Matrix<double> out) {
  for (Index i = 0; i < X.size(); ++i) score_classes(X[i], gaussians, log_seen, out[i]);
}

void add_rows(Moments& moments, Matrix<const double> X, Vector<const std::int64_t> y,
              Vector<const double> weight) {
  for (Index i = 0; i < X.size(); ++i) {
    add_observation(moments, y[i], X[i], weight[weight.size() > 1 ? i : 0]);
  }
}

}  // namespace rpnb::bayes
