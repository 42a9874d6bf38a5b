// RPNB's model: moments, densities, scores, combining rules.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>

#include "../rpnb/combining.h"
#include "../rpnb/model.h"
#include "../rpnb/naive_bayes.h"
#include "../rpnb/online_bayes.h"
#include "../rpnb/scoring.h"
#include "checks.h"
#include "gil.h"
#include "record.h"
#include "rooms.h"

namespace rpnb {

namespace {

using namespace bayes;

// A Prior as a Python tuple: mean, variance, weight, floor.
using PriorTuple = std::tuple<double, double, double, double>;

Prior prior_of(const PriorTuple& given) { return std::make_from_tuple<Prior>(given); }

void require_class(Index m, Index M) {
  if (m < 0 || m >= M) throw std::invalid_argument("the class index is out of range");
}

// Reject moments and densities with different numbers of classes or columns.
void require_same(const Gaussians& gaussians, const Moments& moments) {
  require_shape("moments.mean", moments.mean, gaussians.mean.shape());
}

void bind_moments(nb::module_& module) {
  bind_record<Moments>(module, "Moments").def_static("empty", &Moments::empty);
  module.def("add_observation",
             [](Moments& moments, Index m, Vector<const double> z, double weight) {
               require_class(m, moments.classes());
               require_shape("z", z, {moments.columns()});
               add_observation(moments, m, z, weight);
             });
  module.def("fade", [](Moments& moments, Index m, double keep, double weight) {
    require_class(m, moments.classes());
    fade(moments, m, keep, weight);
  });
  const auto check_pair = [](const Moments& a, Index m, const Moments& b, Index o) {
    require_class(m, a.classes());
    require_class(o, b.classes());
    require_shape("mean", b.mean, {b.classes(), a.columns()});
  };
  module.def("merge", [=](Moments& into, Index m, const Moments& other, Index o) {
    check_pair(into, m, other, o);
    merge(into, m, other, o);
  });
  module.def("unmerge", [=](Moments& out, Index m, const Moments& part, Index o) {
    check_pair(out, m, part, o);
    unmerge(out, m, part, o);
  });
  module.def("clear", [](Moments& moments, Index m) {
    require_class(m, moments.classes());
    clear(moments, m);
  });
}

void bind_gaussians(nb::module_& module) {
  bind_record<Gaussians>(module, "Gaussians").def_static("empty", &Gaussians::empty);
  module.def("refresh",
             [](Gaussians& gaussians, Index m, const Moments& moments, const PriorTuple& prior) {
               require_same(gaussians, moments);
               require_class(m, gaussians.classes());
               refresh(gaussians, m, moments, prior_of(prior));
             });
  module.def("learn_density", [](Gaussians& gaussians, Index m, Moments& moments,
                                 const PriorTuple& prior, Vector<const double> z, double weight) {
    require_same(gaussians, moments);
    require_class(m, gaussians.classes());
    require_shape("z", z, {gaussians.columns()});
    learn_density(gaussians, m, moments, prior_of(prior), z, weight);
  });
}

void bind_scores(nb::module_& module) {
  module.def("score", [](Vector<const double> z, const Gaussians& gaussians, Index m, double bias,
                         double rival) {
    require_class(m, gaussians.classes());
    require_shape("z", z, {gaussians.columns()});
    return score(z, gaussians, m, bias, rival);
  });
  module.def("best_class", [](Vector<const double> z, const Gaussians& gaussians,
                              Vector<const double> bias, Vector<const bool> eligible) {
    require_shape("z", z, {gaussians.columns()});
    require_shape("bias", bias, {gaussians.classes()});
    require_shape("eligible", eligible, {gaussians.classes()});
    return best_class(z, gaussians, bias, eligible);
  });
  module.def("member_log_posteriors",
             [](Vector<const double> z, const Gaussians& gaussians, Vector<const double> bias,
                Vector<const bool> eligible, Matrix<double> out) {
               require_shape("z", z, {gaussians.columns()});
               require_shape("bias", bias, {gaussians.classes()});
               require_shape("eligible", eligible, {gaussians.classes()});
               require_shape("out", out, {out.size(), gaussians.classes()});
               if (out.size() == 0) throw std::invalid_argument("at least one member is required");
               member_log_posteriors(z, gaussians, bias, eligible, out);
             });
  module.def("combine", [](Index rule, Matrix<const double> posterior, Vector<double> scores) {
    require_class(rule, kRules);
    require_shape("scores", scores, {posterior.size(1)});
    if (posterior.total() == 0) throw std::invalid_argument("posterior must not be empty");
    combine(static_cast<Rule>(rule), posterior, scores);
  });
  module.def("best_combined", [](Vector<const double> scores, Vector<const bool> eligible) {
    require_shape("eligible", eligible, {scores.size()});
    return best_combined(scores, eligible);
  });
}

// A reference to a Python object that C++ may drop without holding the GIL.
std::shared_ptr<const void> keep_alive(nb::object object) {
  return {object.release().ptr(), [](const void* kept) {
            const nb::gil_scoped_acquire acquired;
            nb::handle(static_cast<PyObject*>(const_cast<void*>(kept))).dec_ref();
          }};
}

void set_projection(Model& model, const nb::object& R, double scale, double max_column_norm) {
  const auto matrix = nb::cast<Matrix<const float>>(R);
  require_shape("R", matrix, {matrix.size(), model.F()});
  model.projection = {matrix, keep_alive(R), scale, max_column_norm};
  model.memory.forget();
}

Rule rule_of(Index number) {
  require_class(number, kRules);
  return static_cast<Rule>(number);
}

void make_model(Model* self, Index K, Index rule, const PriorTuple& prior, double keep,
                double count_factor, std::shared_ptr<Moments> moments,
                std::shared_ptr<Gaussians> gaussians, std::shared_ptr<ClassState> classes) {
  require_same(*gaussians, *moments);
  require_shape("eligible", classes->eligible, {moments->classes()});
  if (K < 1 || moments->columns() % K != 0) {
    throw std::invalid_argument("there must be as many columns for each of K members");
  }
  new (self) Model{.projection = {},
                   .K = K,
                   .rule = rule_of(rule),
                   .prior = prior_of(prior),
                   .keep = keep,
                   .count_factor = count_factor,
                   .moments = std::move(moments),
                   .gaussians = std::move(gaussians),
                   .classes = std::move(classes),
                   .calibration = nullptr,
                   .memory = {}};
}

void bind_model(nb::module_& module) {
  bind_record<ClassState>(module, "ClassState");
  module.def("set_bias_from_counts", &set_bias_from_counts);
  nb::class_<Model>(module, "Model")
      .def("__init__", &make_model)
      .def("_set_projection", &set_projection)
      .def_ro("moments", &Model::moments)
      .def_ro("gaussians", &Model::gaussians)
      .def_ro("classes", &Model::classes)
      .def_rw("calibration", &Model::calibration, nb::arg().none())
      .def_rw("keep", &Model::keep)
      .def_rw("count_factor", &Model::count_factor)
      .def_rw("n_seen", &Model::n_seen)
      .def_rw("n_updates", &Model::n_updates)
      .def_prop_rw(
          "rule_number", [](const Model& self) { return static_cast<Index>(self.rule); },
          [](Model& self, Index number) { self.rule = rule_of(number); })
      .def_prop_ro("M", &Model::M)
      .def_prop_ro("F", &Model::F)
      .def("forget_row", [](Model& self) { self.memory.forget(); });
}

void require_labels(Vector<const std::int64_t> y, Vector<const double> weight, Index n, Index M) {
  require_shape("y", y, {n});
  require_classes(y, -1, M);
  if (weight.size() != 1) require_shape("weight", weight, {n});
}

void bind_naive_bayes(nb::module_& module) {
  module.def(
      "run_naive_bayes",
      [](const PriorTuple& prior, Moments& moments, Gaussians& gaussians, Vector<bool> eligible,
         Vector<double> log_seen, Matrix<const double> X, Vector<const std::int64_t> y,
         Vector<const double> weight, bool learn, Vector<std::int64_t> labels) {
        const Index M = moments.classes();
        require_same(gaussians, moments);
        require_shape("eligible", eligible, {M});
        require_shape("log_seen", log_seen, {M});
        require_shape("X", X, {X.size(), moments.columns()});
        require_shape("labels", labels, {X.size()});
        if (learn) require_labels(y, weight, X.size(), M);
        const ReleasedGil released;
        NaiveBayes state{prior_of(prior), moments, gaussians, eligible, log_seen};
        run_naive_bayes(state, X, learn ? y : y.slice(0, 0), weight, labels);
      });
  module.def("score_naive_bayes", [](const Gaussians& gaussians, Vector<const double> log_seen,
                                     Matrix<const double> X, Matrix<double> out) {
    require_shape("log_seen", log_seen, {gaussians.classes()});
    require_shape("X", X, {X.size(), gaussians.columns()});
    require_shape("out", out, {X.size(), gaussians.classes()});
    const ReleasedGil released;
    score_naive_bayes(gaussians, log_seen, X, out);
  });
  module.def("add_rows", [](Moments& moments, Matrix<const double> X, Vector<const std::int64_t> y,
                            Vector<const double> weight) {
    require_shape("X", X, {X.size(), moments.columns()});
    require_labels(y, weight, X.size(), moments.classes());
    require_classes(y, 0, moments.classes());
    const ReleasedGil released;
    add_rows(moments, X, y, weight);
  });
}

void bind_online_bayes(nb::module_& module) {
  bind_record<ClassCovariances>(module, "ClassCovariances");
  module.def("run_online_bayes",
             [](ClassCovariances& classes, Matrix<const double> X, Vector<const std::int64_t> y,
                Vector<const double> weight, Index learn, Matrix<double> scores,
                Vector<std::int64_t> labels) {
               const Index M = classes.weight.size();
               require_shape("X", X, {X.size(), classes.mean.size(1)});
               require_shape("scores", scores, {X.size(), M});
               require_shape("labels", labels, {X.size()});
               if (M == 0) throw std::invalid_argument("there must be a class");
               require_class(learn, 3);
               const auto how = static_cast<Learn>(learn);
               if (how != Learn::kNothing) require_labels(y, weight, X.size(), M);
               const ReleasedGil released;
               return run_online_bayes(classes, X, y, weight, how, scores, labels);
             });
  module.def("add_to_covariance",
             [](ClassCovariances& classes, Index m, Vector<const double> x, double weight) {
               require_class(m, classes.weight.size());
               require_shape("x", x, {classes.mean.size(1)});
               add_to_covariance(classes, m, x, weight);
             });
}

}  // namespace

void bind_bayes(nb::module_& module) {
  bind_moments(module);
  bind_gaussians(module);
  bind_scores(module);
  bind_model(module);
  bind_naive_bayes(module);
  bind_online_bayes(module);
}

}  // namespace rpnb
