#include "learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "../workspace.h"
#include "row_ops.h"

namespace rpnb {

namespace {

// How a labelled row relates to the weights, once it is predicted.
struct Target {
  Index up;     // the row of W to which a multiple of the direction is added
  Index down;   // the row of W from which it is subtracted, −1 in the two-class form
  double sign;  // y = ±1 in the two-class form, else 1
  double m;     // margin
  bool wrong;   // whether the prediction was wrong
};

// The eligible class with the highest score, the first of equals, or −1.
//
// Class `excluded` is ignored. A class with a NaN leads only if all scores are NaN.
Index leader(Vector<const double> scores, Vector<const bool> eligible, Index excluded) {
  Index best = -1;
  for (Index m = 0; m < scores.size(); ++m) {
    if (!eligible[m] || m == excluded) continue;
    if (best < 0 || scores[m] > scores[best] ||
        (std::isnan(scores[best]) && !std::isnan(scores[m]))) {
      best = m;
    }
  }
  return best;
}

bool is_romma(Algorithm algorithm) {
  return algorithm == Algorithm::kRomma || algorithm == Algorithm::kAggressiveRomma;
}

// Whether steps depend on ‖x‖².
bool reads_square(Algorithm algorithm) {
  return is_romma(algorithm) || algorithm == Algorithm::kPa || algorithm == Algorithm::kPa1 ||
         algorithm == Algorithm::kPa2;
}

// Computes the scores of rows, and by-products that steps need.
class Scorer {
 public:
  Scorer(const LinearAlgorithm& rule, const LinearState& state, bool learns)
      : rule_(rule),
        state_(state),
        reads_square_(learns && reads_square(rule.algorithm)),
        scores_(workspace_.take<double>(state.W.size())),
        g_(workspace_.take<double>(state.features())) {}

  // Compute the scores (M,) of a row; return Σx and v for SOP, and nothing for the others.
  //
  // SOP, in every round: Σ' = Σ − (Σx)(Σx)ᵀ/(1 + v), then f = wᵀΣ'x with the new Σ'. As
  // Σ'x = Σx/(1 + v), f can be computed without Σ', so predicting changes no state.
  Direction score(const Row& row) {
    if (rule_.algorithm != Algorithm::kSop) {
      if (reads_square_) {
        square_ = products_and_square(row, state_.W, scores_);
      } else {
        products(row, state_.W, scores_);
      }
      return {};
    }
    const Direction direction = covariance_product(row, state_.S, g_);
    scores_[0] = dot(direction.row(), state_.W[0]) / (1.0 + std::max(direction.v, 0.0));
    return direction;
  }

  // The label that the scores decide on.
  [[nodiscard]] Index label() const {
    if (rule_.two_class) return scores_[0] >= 0.0 ? 0 : 1;
    return leader(scores_, state_.eligible, -1);
  }

  [[nodiscard]] Vector<const double> scores() const { return scores_; }
  [[nodiscard]] Vector<double> g() const { return g_; }
  // ‖x‖² of the row scored last, where steps depend on it.
  [[nodiscard]] double square() const { return square_; }

 private:
  const LinearAlgorithm& rule_;
  const LinearState& state_;
  bool reads_square_;
  double square_ = 0.0;
  Workspace workspace_;
  Vector<double> scores_;
  Vector<double> g_;
};

class Learner {
 public:
  Learner(const LinearAlgorithm& rule, LinearState& state)
      : rule_(rule),
        state_(state),
        scorer_(rule, state, true),
        norms_(workspace_.take<double>(is_romma(rule.algorithm) ? state.W.size() : 0)) {}

  // Predict a row, and learn it unless y is −1.
  Index learn_row(const Row& row, Index y) {
    const Direction direction = scorer_.score(row);
    const Index label = scorer_.label();
    if (y < 0) return label;
    ++state_.rounds();
    if (rule_.algorithm == Algorithm::kSop && is_usable(direction)) {
      shrink_covariance(state_.S, direction, 1.0 / (1.0 + direction.v), rule_.libol);
    }
    const Vector<const double> scores = scorer_.scores();
    const bool wrong = label != y;
    if (rule_.two_class) {
      const double sign = y == 0 ? 1.0 : -1.0;
      learn(row, {0, -1, sign, sign * scores[0], wrong});
    } else {
      state_.eligible[y] = true;
      // The class of a wrong prediction is the strongest rival.
      const Index s = wrong ? label : leader(scores, state_.eligible, y);
      if (s < 0) return label;
      learn(row, {y, s, 1.0, scores[y] - scores[s], wrong});
    }
    if (rule_.algorithm == Algorithm::kIellip) state_.c[0] *= rule_.b;
    return label;
  }

 private:
  // Whether Σx and v can be used for a step; LIBOL only requires v ≥ 0.
  [[nodiscard]] bool is_usable(const Direction& direction) const {
    return rule_.libol ? direction.v >= 0.0 : is_credible(state_.S, direction);
  }

  // Update the state by one labelled row, if the algorithm's trigger is met.
  void learn(const Row& row, const Target& target) {
    const Algorithm algorithm = rule_.algorithm;
    const bool along_covariance = algorithm > Algorithm::kSop;
    const bool trigger_reads_v =
        algorithm >= Algorithm::kCw || (algorithm == Algorithm::kIellip && target.wrong);
    Direction direction{};
    if (trigger_reads_v) direction = covariance_product(row, state_.S, scorer_.g());
    const Index k = state_.updates() + 1;
    if (!is_triggered(rule_, target.m, target.wrong, direction.v, k)) return;
    state_.updates() = k;
    if (target.down >= 0 && (algorithm == Algorithm::kPerceptronUniform ||
                             algorithm == Algorithm::kPerceptronProportional)) {
      update_by_shares(row, target.up);
      return;
    }
    if (along_covariance) {
      if (!trigger_reads_v) direction = covariance_product(row, state_.S, scorer_.g());
      if (!is_usable(direction)) return;
    }
    const WeightStep step = step_of(rule_, inputs(target, direction.v, k));
    const double alpha = target.sign * step.alpha;
    if (!move_weights(along_covariance ? direction.row() : row, target, step, alpha)) return;
    if (algorithm == Algorithm::kAlma) project_to_ball(state_.W[target.up]);
    if (step.beta > 0.0) {
      shrink_covariance(state_.S, direction, step.beta, rule_.libol);
      if (step.divisor != 1.0) divide_covariance(state_.S, step.divisor);
    }
  }

  [[nodiscard]] StepInputs inputs(const Target& target, double v, Index k) {
    StepInputs found{};
    found.m = target.m;
    found.t = state_.rounds();
    found.k = k;
    found.v = v;
    found.c = state_.c[0];
    found.sides = target.down < 0 ? 1 : 2;
    found.square = scorer_.square();
    if (norms_.size() > 0) {
      if (!norms_known_) square_norms(state_.W, norms_);
      norms_known_ = true;
      for (const double norm : norms_) found.weight += norm;
    }
    return found;
  }

  // Move the weights of one or two classes; return whether the step was taken.
  bool move_weights(const Row& along, const Target& target, const WeightStep& step, double alpha) {
    const Vector<double> up = state_.W[target.up];
    const bool both = target.down >= 0;
    const Vector<double> down = both ? state_.W[target.down] : Vector<double>();
    const bool finite =
        std::isfinite(step.keep) && std::isfinite(alpha) && std::isfinite(step.beta);
    if (rule_.libol) {
      if (!finite) {
        up.fill(std::numeric_limits<double>::quiet_NaN());
        down.fill(std::numeric_limits<double>::quiet_NaN());
        refresh_norms(target);
        return false;
      }
    } else if (!finite || !stays_finite(up, along, step.keep, alpha) ||
               (both && !stays_finite(down, along, step.keep, -alpha))) {
      return false;
    }
    update_weights(up, along, step.keep, alpha);
    if (both) update_weights(down, along, step.keep, -alpha);
    refresh_norms(target);
    return true;
  }

  // Compute ‖w‖² of the rows of W that have changed.
  void refresh_norms(const Target& target) {
    if (!norms_known_) return;
    norms_[target.up] = square_norm(state_.W[target.up]);
    if (target.down >= 0) norms_[target.down] = square_norm(state_.W[target.down]);
  }

  // Take the step of the perceptrons that move all rows of W scored above row y.
  void update_by_shares(const Row& row, Index y) {
    Workspace workspace;
    const Index M = state_.W.size();
    const auto shares = workspace.take<double>(M);
    perceptron_shares(rule_.algorithm == Algorithm::kPerceptronUniform, scorer_.scores(),
                      state_.eligible, y, shares);
    for (Index m = 0; m < M; ++m) {
      if (!rule_.libol && !stays_finite(state_.W[m], row, 1.0, shares[m])) return;
    }
    for (Index m = 0; m < M; ++m) {
      if (shares[m] != 0.0) update_weights(state_.W[m], row, 1.0, shares[m]);
    }
  }

  const LinearAlgorithm& rule_;
  LinearState& state_;
  Scorer scorer_;
  Workspace workspace_;
  Vector<double> norms_;  // ‖w‖² of each row of W, where steps depend on it
  bool norms_known_ = false;
};

}  // namespace

void check_state(const LinearAlgorithm& rule, const LinearState& state) {
  const Index p = state.features();
  const bool covariance = rule.algorithm >= Algorithm::kSop;
  const Index rows = state.S.size();
  if (rule.two_class ? state.W.size() != 1 || state.eligible.size() != 2
                     : state.W.size() != state.eligible.size()) {
    throw std::invalid_argument("the weights do not fit the number of classes");
  }
  if (covariance ? rows != 1 && rows != p : rows != 0) {
    throw std::invalid_argument("the covariance does not fit the algorithm");
  }
}

Index learn_rows(const LinearAlgorithm& rule, LinearState& state, const RowBlock& rows,
                 Vector<const std::int64_t> y, Vector<std::int64_t> labels) {
  const Index before = state.updates();
  Learner learner(rule, state);
  for (Index i = 0; i < rows.size(); ++i) labels[i] = learner.learn_row(rows[i], y[i]);
  return state.updates() - before;
}

void predict_rows(const LinearAlgorithm& rule, const LinearState& state, const RowBlock& rows,
                  Vector<std::int64_t> labels) {
  Scorer scorer(rule, state, false);
  for (Index i = 0; i < rows.size(); ++i) {
    scorer.score(rows[i]);
    labels[i] = scorer.label();
  }
}

void score_rows(const LinearAlgorithm& rule, const LinearState& state, const RowBlock& rows,
                Matrix<double> out) {
  Scorer scorer(rule, state, false);
  for (Index i = 0; i < rows.size(); ++i) {
    scorer.score(rows[i]);
    std::copy(scorer.scores().begin(), scorer.scores().end(), out[i].begin());
  }
}

}  // namespace rpnb
