#include "exact.h"

#include <algorithm>
#include <limits>

#include "../workspace.h"
#include "projection.h"
#include "scoring.h"

namespace rpnb::bayes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Write the scores (M,) of a projected row z (F,) by the model's rule.
void score_row(const Model& model, Vector<const double> z, Vector<double> scores) {
  const auto& bias = model.classes->bias;
  if (model.rule == Rule::kLogSum) {
    score_classes(z, *model.gaussians, bias, scores);
    return;
  }
  Workspace workspace;
  const auto posterior = workspace.take<double>(model.K, model.M());
  member_log_posteriors(z, *model.gaussians, bias, model.classes->eligible, posterior);
  combine(model.rule, posterior, scores);
}

// The same, with −∞ for classes that are not active; returns the leading class.
Index score_active(const Model& model, Vector<const double> z, Vector<double> scores) {
  const auto& eligible = model.classes->eligible;
  score_row(model, z, scores);
  for (Index m = 0; m < model.M(); ++m) {
    if (!eligible[m]) scores[m] = -kInfinity;
  }
  return best_combined(scores, eligible);
}

// The prediction for a projected row z (F,), −1 while no class is known.
//
// `scores` (M,) are written for rules other than kLogSum, which finds the leading class with
// fewer sums.
Index predict_row(const Model& model, Vector<const double> z, Vector<double> scores) {
  if (model.rule != Rule::kLogSum) return score_active(model, z, scores);
  return best_class(z, *model.gaussians, model.classes->bias, model.classes->eligible);
}

// Write the codes (M,) of a row, for which predict_row has returned `label`.
void code_row(const Model& model, Vector<const double> z, Vector<const double> scores, Index label,
              Vector<Code> codes) {
  const auto& eligible = model.classes->eligible;
  if (model.rule != Rule::kLogSum) {
    write_codes(scores, eligible, label, cell_scale(model.smallest_temperature()), codes);
    return;
  }
  for (Index m = 0; m < codes.size(); ++m) codes[m] = eligible[m] ? kUncertainCode : kInactiveCode;
  if (label < 0) return;
  codes[label] = kBestCode;
  complete_codes(model, z, label, codes);
}

// Count a labelled row, which was predicted as `label`, and learn it if `learn` requires.
void learn_labelled(Model& model, Learn learn, Index label, Index y, double weight,
                    Vector<const double> z) {
  count_row(model, y, weight);
  ++model.n_seen;
  if (learn == Learn::kAll || label != y) {
    learn_row(model, y, z, weight);
    ++model.n_updates;
  }
}

// Write a row's probabilities, then calibrate by it.
void mix_then_learn(Model& model, Vector<const double> scores, Index label, Index y,
                    Vector<double> P) {
  Calibration& calibration = *model.calibration;
  mix(calibration.weights, scores, model.smallest_temperature(), P);
  if (y < 0 || !is_calibration_row(model.n_seen)) return;
  Workspace workspace;
  const auto codes = workspace.take<Code>(model.M());
  write_codes(scores, model.classes->eligible, label, cell_scale(model.smallest_temperature()),
              codes);
  learn_codes(calibration, codes, y);
}

}  // namespace

void learn_predicted(Model& model, Vector<const double> z, Vector<const double> scores, Index label,
                     Index y, double weight, Learn learn) {
  if (model.calibration && is_calibration_row(model.n_seen)) {
    Workspace workspace;
    const auto codes = workspace.take<Code>(model.M());
    code_row(model, z, scores, label, codes);
    learn_codes(*model.calibration, codes, y);
  }
  learn_labelled(model, learn, label, y, weight, z);
}

void run_exact(Model& model, const Block& block) {
  Workspace workspace;
  const auto z = workspace.take<double>(model.F());
  const auto scores = workspace.take<double>(model.M());
  const auto R = matrix_for(model, block.projected);
  for (Index i = 0; i < block.size(); ++i) {
    project(block.X[i], model.projection.scale, R, z);
    const Index label = predict_row(model, z, scores);
    block.labels[i] = label;
    if (!block.labelled(i)) continue;
    learn_predicted(model, z, scores, label, block.y[i], block.weight_of(i), block.learn);
  }
}

void run_scored(Model& model, const Block& block, Matrix<double> out) {
  Workspace workspace;
  const auto z = workspace.take<double>(model.F());
  const auto unmixed = workspace.take<double>(model.M());
  const auto R = matrix_for(model, block.projected);
  for (Index i = 0; i < block.size(); ++i) {
    project(block.X[i], model.projection.scale, R, z);
    const auto scores = model.calibration ? unmixed : out[i];
    const Index label = score_active(model, z, scores);
    const Index y = block.labelled(i) ? block.y[i] : -1;
    block.labels[i] = label;
    if (model.calibration) mix_then_learn(model, scores, label, y, out[i]);
    if (y >= 0) learn_labelled(model, block.learn, label, y, block.weight_of(i), z);
  }
}

void score_rows(const Model& model, Matrix<const double> X, bool projected, Matrix<double> out) {
  Workspace workspace;
  const auto z = workspace.take<double>(model.F());
  const auto R = matrix_for(model, projected);
  for (Index i = 0; i < X.size(); ++i) {
    project(X[i], model.projection.scale, R, z);
    score_row(model, z, out[i]);
  }
}

void complete_codes(const Model& model, Vector<const double> z, Index best, Vector<Code> codes) {
  const auto& bias = model.classes->bias;
  const double scale = cell_scale(model.smallest_temperature());
  const double highest = score(z, *model.gaussians, best, bias[best], -kInfinity);
  for (Index m = 0; m < codes.size(); ++m) {
    if (codes[m] != kUncertainCode) continue;
    const double value = score(z, *model.gaussians, m, bias[m], -kInfinity);
    codes[m] = static_cast<Code>(cell_of((highest - value) * scale) + 1);
  }
}

void accumulate_rows(const Model& model, Matrix<const double> X, bool projected,
                     Vector<const std::int64_t> y, Vector<const double> weight, double keep,
                     Moments& into) {
  constexpr Index kTogether = 16;
  Workspace workspace;
  const auto Z = workspace.take<double>(kTogether, model.F());
  const auto R = matrix_for(model, projected);
  for (Index start = 0; start < X.size(); start += kTogether) {
    const Index stop = std::min(start + kTogether, X.size());
    project(X.slice(start, stop), model.projection.scale, R, Z);
    for (Index i = start; i < stop; ++i) {
      const double w = weight[weight.size() > 1 ? i : 0];
      fade(into, y[i], keep, w);
      add_observation(into, y[i], Z[i - start], w);
    }
  }
}

void learn_batch(Model& model, Index y, const Moments& batch) {
  Moments& moments = *model.moments;
  fade(moments, y, model.keep, batch.weight[y]);
  merge(moments, y, batch, y);
  refresh(*model.gaussians, y, moments, model.prior);
}

}  // namespace rpnb::bayes
