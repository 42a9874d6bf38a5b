// Passes of rows through an RPNB model.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "../rpnb/contest.h"
#include "../rpnb/exact.h"
#include "../rpnb/forms.h"
#include "../rpnb/one_row.h"
#include "../rpnb/screened.h"
#include "checks.h"
#include "gil.h"
#include "record.h"
#include "rooms.h"

namespace rpnb {

namespace {

using namespace bayes;

// Reject rows without the model's p features or, if `projected`, its F columns.
void require_rows(const Model& model, Matrix<const double> X, bool projected) {
  if (!projected && model.projection.R.size() == 0) {
    throw std::invalid_argument("the model keeps no matrix: rows must come projected");
  }
  const Index width = projected ? model.F() : model.projection.R.size();
  require_shape("X", X, {X.size(), width});
}

void require_weights(Vector<const double> weight, Index n) {
  if (weight.size() != 1) require_shape("weight", weight, {n});
}

Learn learn_of(Index number) {
  if (number < 0 || number > 2) throw std::invalid_argument("learn is none of 0, 1 and 2");
  return static_cast<Learn>(number);
}

Block make_block(const Model& model, Matrix<const double> X, bool projected,
                 Vector<const std::int64_t> y, Vector<const double> weight, Index learn,
                 Vector<std::int64_t> labels) {
  const Block block{X, projected, y, weight, learn_of(learn), labels};
  require_rows(model, X, projected);
  require_shape("labels", labels, {X.size()});
  if (block.learn != Learn::kNothing) {
    require_shape("y", y, {X.size()});
    require_classes(y, -1, model.M());
    require_weights(weight, X.size());
  }
  return block;
}

void bind_exact(nb::module_& module) {
  module.def("run_exact",
             [](Model& model, Matrix<const double> X, bool projected, Vector<const std::int64_t> y,
                Vector<const double> weight, Index learn, Vector<std::int64_t> labels) {
               const Block block = make_block(model, X, projected, y, weight, learn, labels);
               const ReleasedGil released;
               run_exact(model, block);
             });
  module.def("run_scored", [](Model& model, Matrix<const double> X, bool projected,
                              Vector<const std::int64_t> y, Vector<const double> weight,
                              Index learn, Vector<std::int64_t> labels, Matrix<double> out) {
    const Block block = make_block(model, X, projected, y, weight, learn, labels);
    require_shape("out", out, {X.size(), model.M()});
    const ReleasedGil released;
    run_scored(model, block, out);
  });
  module.attr("NO_PROJECTION") = kNoProjection;
  module.def("run_row", [](Model& model, Vector<const double> x, Vector<const double> z, Index y,
                           double weight, Index learn) {
    if (model.projection.R.size() > 0) require_shape("x", x, {model.projection.R.size()});
    if (z.size() > 0) require_shape("z", z, {model.F()});
    if (y < -1 || y >= model.M()) throw std::invalid_argument("y is no class");
    if (model.rule != Rule::kLogSum) throw std::invalid_argument("the rule is not log_sum");
    const Learn how = learn_of(learn);
    const ReleasedGil released;
    return run_row(model, x, z, y, weight, how);
  });
  module.def("score_rows",
             [](const Model& model, Matrix<const double> X, bool projected, Matrix<double> out) {
               require_rows(model, X, projected);
               require_shape("out", out, {X.size(), model.M()});
               const ReleasedGil released;
               score_rows(model, X, projected, out);
             });
}

void bind_batches(nb::module_& module) {
  module.def("accumulate_rows", [](const Model& model, Matrix<const double> X, bool projected,
                                   Vector<const std::int64_t> y, Vector<const double> weight,
                                   double keep, Moments& into) {
    require_rows(model, X, projected);
    require_shape("y", y, {X.size()});
    require_classes(y, 0, into.classes());
    require_weights(weight, X.size());
    require_shape("into.mean", into.mean, {into.classes(), model.F()});
    const ReleasedGil released;
    accumulate_rows(model, X, projected, y, weight, keep, into);
  });
  module.def("learn_batch", [](Model& model, Index y, const Moments& batch) {
    if (y < 0 || y >= model.M()) throw std::invalid_argument("y is no class");
    require_shape("batch.mean", batch.mean, model.moments->mean.shape());
    learn_batch(model, y, batch);
  });
  module.def("count_rows",
             [](Model& model, Vector<const std::int64_t> y, Vector<const double> weight) {
               require_classes(y, 0, model.M());
               require_weights(weight, y.size());
               for (Index i = 0; i < y.size(); ++i) {
                 count_row(model, y[i], weight[weight.size() > 1 ? i : 0]);
               }
             });
}

void require_same(const SingleDensities& densities, const Gaussians& gaussians) {
  require_shape("densities.square", densities.square, gaussians.mean.shape());
}

void bind_screened(nb::module_& module) {
  module.attr("PANEL") = kPanel;
  module.attr("FEATURES_PER_SUM") = kFeaturesPerSum;
  bind_record<SingleDensities>(module, "SingleDensities")
      .def_static("empty", &SingleDensities::empty);
  module.def("features_per_sum", &features_per_sum);
  module.def("summation_error", &summation_error);
  module.def("refresh_single_densities",
             [](SingleDensities& densities, Index m, const Gaussians& gaussians) {
               require_same(densities, gaussians);
               if (m < 0 || m >= gaussians.classes()) throw std::invalid_argument("m is no class");
               refresh(densities, m, gaussians);
             });
  module.def("learn_into_singles", [](SingleDensities& densities, Model& model, Index m,
                                      Vector<const double> z, double weight) {
    require_same(densities, *model.gaussians);
    if (m < 0 || m >= model.M()) throw std::invalid_argument("m is no class");
    require_shape("z", z, {model.F()});
    return learn_into_singles(densities, *model.gaussians, m, *model.moments, model.prior, z,
                              weight);
  });
  module.def("centre_rows", [](Matrix<const double> X, Vector<const double> x0, double scale,
                               double max_column_norm, Matrix<float> out, Vector<double> error,
                               Vector<double> norm) {
    require_shape("x0", x0, {X.size(1)});
    if (out.size(0) < X.size(0) || error.size() < X.size(0) || norm.size() < X.size(0)) {
      throw std::invalid_argument("there are too few rows to write to");
    }
    require_shape("out", out, {out.size(), X.size(1)});
    const ReleasedGil released;
    const Centring centring(x0, scale, max_column_norm);
    for (Index i = 0; i < X.size(); ++i) {
      const RowError row = centring.centre(X[i], out[i]);
      error[i] = row.projection;
      norm[i] = row.norm;
    }
  });
  module.def("centre_projected", [](Matrix<const double> Z, Vector<const double> z0,
                                    Matrix<float> out, Vector<double> error, Vector<double> norm) {
    require_shape("z0", z0, {Z.size(1)});
    if (out.size(0) < Z.size(0) || error.size() < Z.size(0) || norm.size() < Z.size(0)) {
      throw std::invalid_argument("there are too few rows to write to");
    }
    require_shape("out", out, {out.size(), Z.size(1)});
    const ReleasedGil released;
    for (Index i = 0; i < Z.size(); ++i) {
      const RowError row = centre_projected(Z[i], z0, out[i]);
      error[i] = row.projection;
      norm[i] = row.norm;
    }
  });
  module.def("score_centred",
             [](Matrix<const float> Z, const SingleDensities& densities, Matrix<double> scores) {
               const Index M = densities.square.size(0);
               require_shape("Z", Z, {Z.size(), densities.square.size(1)});
               require_shape("scores", scores, {Z.size(), M});
               if (Z.size() % 4 != 0) throw std::invalid_argument("Z must have 4, 8, … rows");
               const ReleasedGil released;
               score_centred(Z, densities, 0, M, scores);
             });
  const auto with_bounds = [](const char* name, auto bound) {
    return [name, bound](nb::module_& to) {
      to.def(name,
             [bound](double value, const Gaussians& gaussians, const SingleDensities& densities,
                     Index m, double bias, double error, double norm) {
               require_same(densities, gaussians);
               if (m < 0 || m >= gaussians.classes()) throw std::invalid_argument("m is no class");
               const ErrorBounds bounds(gaussians.columns(), {error, norm});
               return bound(bounds, value, gaussians.constant[m], densities.mean_norm[m],
                            densities.precision_norm[m], bias);
             });
    };
  };
  with_bounds("error_bound", [](const ErrorBounds& bounds, auto... of_class) {
    return bounds.bound(of_class...);
  })(module);
  with_bounds("quick_error_bound", [](const ErrorBounds& bounds, auto... of_class) {
    return bounds.quick(of_class...);
  })(module);
  module.def("find_leader",
             [](Vector<const double> scores, const Model& model, const SingleDensities& densities,
                double error, double norm, Vector<bool> rivals) {
               require_same(densities, *model.gaussians);
               require_shape("scores", scores, {model.M()});
               require_shape("rivals", rivals, {model.M()});
               Workspace workspace;
               const Contest contest(model, densities, workspace);
               const auto padded = workspace.take_zeros<double>(contest.padded());
               std::copy(scores.begin(), scores.end(), padded.begin());
               const Leader leader = contest.find_leader(padded.data(), {error, norm}, rivals);
               return std::make_pair(leader.label, leader.certain);
             });
  module.def("run_screened", [](Model& model, SingleDensities& densities, Vector<const double> x0,
                                Matrix<const double> X, bool projected,
                                Vector<const std::int64_t> y, Vector<const double> weight,
                                Index learn, Vector<std::int64_t> labels, Matrix<const float> Z,
                                Vector<const double> error, Vector<const double> norm, Index step) {
    const Block block = make_block(model, X, projected, y, weight, learn, labels);
    require_same(densities, *model.gaussians);
    if (model.rule != Rule::kLogSum) throw std::invalid_argument("the rule is not log_sum");
    if (step < 4 || step % 4 != 0) throw std::invalid_argument("step must be 4, 8, …");
    if (Z.size() > 0) {
      require_shape("Z", Z, {Z.size(), model.F()});
      if (Z.size() < (X.size() + 3) / 4 * 4 || error.size() < X.size() || norm.size() < X.size()) {
        throw std::invalid_argument("there are too few centred rows");
      }
    } else {
      if (projected) throw std::invalid_argument("projected rows must also be centred");
      require_shape("x0", x0, {X.size(1)});
    }
    const ReleasedGil released;
    run_screened(model, densities, x0, block, {Z, error, norm}, step);
  });
}

void bind_forms(nb::module_& module) {
  const auto require_features = [](const Model& model, Matrix<const double> X) {
    require_rows(model, X, false);
    if (model.rule != Rule::kLogSum) throw std::invalid_argument("the rule is not log_sum");
  };
  nb::class_<Forms>(module, "Forms")
      .def(
          "__init__",
          [=](Forms* self, const Model& model, Vector<const double> x0) {
            require_features(model, x0.reshaped(1, x0.size()));
            const ReleasedGil released;
            new (self) Forms(model, x0);
          },
          nb::keep_alive<1, 2>())
      .def("classify",
           [](const Forms& self, Matrix<const double> X, Vector<std::int64_t> labels) {
             require_shape("X", X, {X.size(), self.features()});
             require_shape("labels", labels, {X.size()});
             const ReleasedGil released;
             self.classify(X, labels);
           })
      .def("score", [](const Forms& self, Matrix<const double> X, Matrix<double> values,
                       Matrix<double> bounds) {
        require_shape("X", X, {X.size(), self.features()});
        require_shape("values", values, {X.size(), self.classes()});
        require_shape("bounds", bounds, {X.size(), self.classes()});
        const ReleasedGil released;
        self.score(X, values, bounds);
      });
}

}  // namespace

void bind_passes(nb::module_& module) {
  bind_exact(module);
  bind_batches(module);
  bind_screened(module);
  bind_forms(module);
}

}  // namespace rpnb
