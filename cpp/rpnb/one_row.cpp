#include "one_row.h"

#include <algorithm>

#include "../workspace.h"
#include "contest.h"
#include "exact.h"
#include "projection.h"
#include "scoring.h"

namespace rpnb::bayes {

namespace {

// Update the single-precision densities if that pays; return whether they are up to date.
//
// Deriving one takes about half as long as predicting a row without them. So if many are
// outdated, as many rows are first predicted without them.
bool update_singles(const Model& model, OneRowMemory& memory) {
  const Gaussians& gaussians = *model.gaussians;
  SingleDensities& singles = memory.singles;
  const Index outdated = count_outdated(singles, gaussians);
  if (outdated > 2 && memory.waited < outdated) {
    ++memory.waited;
    return false;
  }
  memory.waited = 0;
  if (singles.origin.size() != model.F()) {
    const Index M = model.M();
    singles = SingleDensities::empty(M, model.F());
    // The origin is the average of the class means.
    for (Index m = 0; m < M; ++m) {
      const auto mean = gaussians.mean[m];
      for (Index f = 0; f < mean.size(); ++f) {
        singles.origin[f] += mean[f] / static_cast<double>(M);
      }
    }
  }
  refresh_outdated(singles, gaussians);
  return true;
}

// The prediction for a projected row z (F,), from scores in single precision where they
// suffice.
Index predict_by_singles(const Model& model, const SingleDensities& singles,
                         Vector<const double> z) {
  Workspace workspace;
  const auto centred = workspace.take<float>(z.size());
  const RowError error = centre_projected(z, singles.origin, centred);
  const Contest contest(model, singles, workspace);
  const auto scores = workspace.take_zeros<double>(contest.padded());
  score_one(centred, singles, scores);
  const auto rivals = workspace.take<bool>(model.M());
  const Leader leader = contest.find_leader(scores.data(), error, rivals);
  if (leader.certain) return leader.label;
  return best_class(z, *model.gaussians, model.classes->bias, rivals);
}

}  // namespace

Index run_row(Model& model, Vector<const double> x, Vector<const double> z, Index y, double weight,
              Learn learn) {
  Workspace workspace;
  OneRowMemory& memory = model.memory;
  const std::unique_lock<std::mutex> lock(memory.lock, std::try_to_lock);
  const bool keep = lock.owns_lock();
  const bool same = keep && std::equal(x.begin(), x.end(), memory.x.begin(), memory.x.end());
  const auto& R = model.projection.R;
  if (!same && z.size() == 0 && R.size() == 0) return kNoProjection;
  if (keep && memory.x.size() != x.size()) memory.x = Array<double, 1>({x.size()});
  if (keep && memory.z.size() != model.F()) memory.z = Array<double, 1>({model.F()});
  const Vector<double> projected = keep ? memory.z : workspace.take<double>(model.F());
  if (!same) {
    if (z.size() > 0) {
      std::copy(z.begin(), z.end(), projected.begin());
    } else {
      project(x, model.projection.scale, R, projected);
    }
    if (keep) std::copy(x.begin(), x.end(), memory.x.begin());
  }
  Index label = -1;
  if (same && memory.seen == model.n_seen) {
    label = memory.label;
  } else if (keep && update_singles(model, memory)) {
    label = predict_by_singles(model, memory.singles, projected);
  } else {
    label = best_class(projected, *model.gaussians, model.classes->bias, model.classes->eligible);
  }
  if (keep) {
    memory.label = label;
    memory.seen = model.n_seen;
  }
  if (learn != Learn::kNothing && y >= 0) {
    learn_predicted(model, projected, {}, label, y, weight, learn);
  }
  return label;
}

}  // namespace rpnb::bayes
