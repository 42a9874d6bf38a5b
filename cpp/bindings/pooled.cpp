// The pooled model: scale, features, members, pool, and rows going through all of them.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "../pooled/binned_bayes.h"
#include "../pooled/model.h"
#include "../pooled/transitions.h"
#include "gil.h"
#include "member.h"
#include "rooms.h"
#include "rows.h"

namespace rpnb {

namespace {

// Reject labels that are no class, and arrays whose length is not the number of rows.
void check_labels(const Labels& labels, Index n, Index M, Index least = -1) {
  require_length("y", labels.y.size(), n);
  require_length("weight", labels.weight.size(), n);
  for (const std::int64_t c : labels.y) {
    if (c < least || c >= M) throw std::invalid_argument("y holds a number that is no class");
  }
}

void check_posteriors(const PooledModel& model, Index n, Matrix<const double> log_posteriors) {
  if (log_posteriors.size() == 0) return;
  require_length("log_posteriors", log_posteriors.size(), n);
  require_length("axis 1 of log_posteriors", log_posteriors.size(1), model.classes());
}

void check_scores(const View<const double, 3>& scores, Index n, Index K, Index M) {
  require_length("scores", scores.size(0), n);
  require_length("axis 1 of scores", scores.size(1), K);
  require_length("axis 2 of scores", scores.size(2), M);
}

// Reject arrays of different lengths.
void check_lengths(const Rows& rows, Index n) {
  require_length("raw", rows.raw.size(), n);
  require_length("z", rows.z.size(), n);
  require_length("low", rows.low.size(), n);
  require_length("phi", rows.phi.size(), n);
}

nb::tuple parts_of(const Shape& shape) {
  return nb::make_tuple(shape.p, shape.d, shape.E, shape.dimension, shape.D, shape.dense,
                        shape.window, shape.delay);
}

void bind_members(nb::module_& module) {
  nb::class_<Member>(module, "Member")
      .def("score_rows",
           [](const Member& self, Matrix<const double> raw, Matrix<const float> z,
              Matrix<const float> low, Matrix<const float> phi, View<double, 3> scores) {
             const Rows rows{raw, z, low, phi};
             check_lengths(rows, scores.size());
             check_scores(scores, scores.size(), self.outputs(), self.classes());
             const ReleasedGil released;
             self.score_rows(rows, Scores(scores));
           })
      .def("learn_rows",
           [](Member& self, Matrix<const double> raw, Matrix<const float> z,
              Matrix<const float> low, Matrix<const float> phi, Vector<const std::int64_t> y,
              Vector<const double> weight, View<double, 3> scores) {
             const Rows rows{raw, z, low, phi};
             const Labels labels{y, weight};
             check_lengths(rows, y.size());
             check_labels(labels, y.size(), self.classes());
             check_scores(scores, scores.size() == 0 ? 0 : y.size(), self.outputs(),
                          self.classes());
             const ReleasedGil released;
             self.learn_rows(rows, labels, Scores(scores));
           })
      .def("begin_again", &Member::begin_again);
  bind_member<Transitions>(module, "Transitions").def_static("begin", &Transitions::begin);
  bind_member<BinnedBayes>(module, "BinnedBayes")
      .def_static("begin", &BinnedBayes::begin)
      .def("derive", &BinnedBayes::derive);
}

void bind_scale(nb::module_& module) {
  bind_record<FeatureScale>(module, "FeatureScale")
      .def_static("begin", &FeatureScale::begin)
      .def("fit_all", &FeatureScale::fit_all)
      .def("apply",
           [](const FeatureScale& self, Matrix<const double> X, Matrix<float> z) {
             require_length("a row", X.size(1), self.mean.size());
             require_length("z", z.size(), X.size());
             require_length("a row of z", z.size(1), X.size(1));
             self.apply(X, z);
           })
      .def("scale_rows",
           [](FeatureScale& self, Matrix<const double> X, Vector<const std::int64_t> y,
              Vector<const double> weight, Matrix<float> z) {
             require_length("a row", X.size(1), self.mean.size());
             require_length("z", z.size(), X.size());
             require_length("a row of z", z.size(1), X.size(1));
             require_length("weight", weight.size(), y.size());
             if (y.size() > 0) require_length("y", y.size(), X.size());
             self.scale_rows(X, {y, weight}, z);
           })
      .def("keep_last_rows",
           [](FeatureScale& self, Matrix<const double> X, Vector<const std::int64_t> y,
              Vector<const double> weight, Index n) {
             require_length("a row", X.size(1), self.mean.size());
             require_length("y", y.size(), X.size());
             require_length("weight", weight.size(), X.size());
             if (n < X.size()) throw std::invalid_argument("n is less than the number of rows");
             self.keep_last_rows(X, {y, weight}, n);
           });
  bind_record<Features>(module, "Features")
      .def_static("draw", &Features::draw)
      .def("fill",
           [](const Features& self, Matrix<const float> z, Matrix<float> phi, Matrix<float> low) {
             require_length("a row", z.size(1), self.dense.size());
             require_length("phi", phi.size(), z.size());
             require_length("low", low.size(), z.size());
             require_length("a row of low", low.size(1),
                            self.low.size(1) > 0 ? self.low.size(1) : z.size(1));
             const Index used = self.dense.size(1) + self.reads.size(1);
             if (phi.size(1) < used + (z.size(1) <= 64 ? z.size(1) : 0)) {
               throw std::invalid_argument("phi has too few columns");
             }
             self.fill(z, phi, low);
           });
}

void bind_pool(nb::module_& module) {
  bind_record<Pool>(module, "Pool");
  module.def("pool_rows", [](Pool& pool, View<const double, 3> scores, Vector<const std::int64_t> y,
                             Vector<const double> weight, Vector<std::int64_t> predicted,
                             Matrix<double> log_posteriors, View<const double, 3> learned_from) {
    const Index n = predicted.size();
    check_scores(scores, n, pool.members(), pool.classes());
    if (y.size() > 0) check_labels({y, weight}, n, pool.classes());
    if (log_posteriors.size() > 0) {
      require_length("log_posteriors", log_posteriors.size(), n);
      require_length("axis 1 of log_posteriors", log_posteriors.size(1), pool.classes());
    }
    if (learned_from.size() > 0) {
      check_scores(learned_from, n, pool.members(), pool.classes());
    }
    const ReleasedGil released;
    pool_rows(pool, scores, {y, weight}, predicted, log_posteriors, learned_from);
  });
  module.def("learn_scored_rows",
             [](Pool& pool, View<const double, 3> scores, Vector<const std::int64_t> y,
                Vector<const double> weight, Vector<const std::int64_t> predicted) {
               const Labels labels{y, weight};
               check_labels(labels, predicted.size(), pool.classes(), 0);
               check_scores(scores, predicted.size(), pool.members(), pool.classes());
               const ReleasedGil released;
               learn_scored_rows(pool, scores, labels, predicted);
             });
  bind_record<Pending>(module, "Pending")
      .def_static("begin", &Pending::begin)
      .def_static("block_rows", &Pending::block_rows);
}

void bind_model(nb::module_& module) {
  nb::class_<PooledModel>(module, "PooledModel")
      .def(
          "__init__",
          [](PooledModel* self, std::vector<std::string> names, const Shape& shape,
             std::uint64_t seed, std::shared_ptr<Features> features,
             Vector<const std::int64_t> places, std::shared_ptr<FeatureScale> scale,
             std::vector<std::shared_ptr<Member>> members, std::shared_ptr<Pool> pool,
             std::shared_ptr<PooledModel> behind, std::shared_ptr<Pending> pending) {
            Array<std::int64_t, 1> own(places.shape());
            copy_into(own, places);
            if ((behind == nullptr) != (pending == nullptr)) {
              throw std::invalid_argument("members behind and pending rows go together");
            }
            new (self) PooledModel(std::move(names), shape, seed, std::move(features),
                                   std::move(own), std::move(scale), std::move(members),
                                   std::move(pool), std::move(behind), std::move(pending));
          },
          nb::arg("names"), nb::arg("shape"), nb::arg("seed"), nb::arg("features"),
          nb::arg("places"), nb::arg("scale"), nb::arg("states"), nb::arg("pool"),
          nb::arg("behind").none() = nb::none(), nb::arg("pending").none() = nb::none())
      .def_prop_ro("names", [](const PooledModel& self) { return nb::tuple(nb::cast(self.names)); })
      .def_ro("shape", &PooledModel::shape)
      .def_ro("seed", &PooledModel::seed)
      .def_prop_ro(
          "features",
          [](const PooledModel& self) { return std::const_pointer_cast<Features>(self.features); })
      .def_prop_ro("places",
                   [](nb::pointer_and_handle<PooledModel> self) {
                     return show<std::int64_t, 1>(self.p->places, self.h);
                   })
      .def_prop_ro("scale", [](const PooledModel& self) { return self.scale; })
      .def_prop_ro("states", [](const PooledModel& self) { return self.members; })
      .def_prop_ro("pool", [](const PooledModel& self) { return self.pool; })
      .def_prop_ro("behind", [](const PooledModel& self) { return self.behind; })
      .def_prop_ro("pending", [](const PooledModel& self) { return self.pending; })
      .def_prop_ro("M", &PooledModel::classes)
      .def("replace_state",
           [](PooledModel& self, Index k, std::shared_ptr<Member> state) {
             if (k < 0 || k >= static_cast<Index>(self.members.size())) {
               throw nb::index_error("there is no such member");
             }
             state->check_shape(self.shape);
             require_length("the member's classes", state->classes(), self.classes());
             require_length("the member's outputs", state->outputs(), self.members[k]->outputs());
             self.members[k] = std::move(state);
           })
      .def("run",
           [](PooledModel& self, const RowBlock& rows, Vector<const std::int64_t> y,
              Vector<const double> weight, Vector<std::int64_t> predicted,
              Matrix<double> log_posteriors, int threads) {
             const Labels labels{y, weight};
             self.check_rows(rows);
             check_labels(labels, rows.size(), self.classes());
             require_length("predicted", predicted.size(), rows.size());
             check_posteriors(self, rows.size(), log_posteriors);
             const ReleasedGil released;
             self.run(rows, labels, predicted, log_posteriors, threads);
           })
      .def("learn_recorded",
           [](PooledModel& self, const RowBlock& rows, Vector<const std::int64_t> y,
              Vector<const double> weight, View<const double, 3> scores,
              Vector<std::int64_t> predicted, int threads) {
             const Labels labels{y, weight};
             self.check_rows(rows);
             check_labels(labels, rows.size(), self.classes());
             check_scores(scores, rows.size(), self.outputs(), self.classes());
             require_length("predicted", predicted.size(), rows.size());
             const ReleasedGil released;
             self.run(rows, labels, predicted, {}, threads, scores);
           })
      .def("score",
           [](const PooledModel& self, const RowBlock& rows, Vector<std::int64_t> predicted,
              Matrix<double> log_posteriors, bool ordered) {
             self.check_rows(rows);
             require_length("predicted", predicted.size(), rows.size());
             check_posteriors(self, rows.size(), log_posteriors);
             const ReleasedGil released;
             self.score(rows, predicted, log_posteriors, ordered);
           })
      .def("fill_scores",
           [](const PooledModel& self, const RowBlock& rows, View<double, 3> scores) {
             self.check_rows(rows);
             check_scores(scores, rows.size(), self.outputs(), self.classes());
             const ReleasedGil released;
             self.fill_scores(rows, scores);
           })
      .def("fill_rows", [](const PooledModel& self, const RowBlock& rows, Matrix<double> raw,
                           Matrix<float> z, Matrix<float> low, Matrix<float> phi) {
        self.check_rows(rows);
        check_lengths({raw, z, low, phi}, rows.size());
        require_length("a row of raw", raw.size(1), self.shape.p);
        require_length("a row of z", z.size(1), self.shape.p);
        require_length("a row of low", low.size(1), self.shape.d);
        require_length("a row of phi", phi.size(1), self.shape.E);
        const ReleasedGil released;
        self.fill_rows(rows, raw, z, low, phi);
      });
}

}  // namespace

void bind_pooled(nb::module_& module) {
  nb::class_<Shape>(module, "Shape")
      .def(nb::init<Index, Index, Index, Index, Index, Index, Index, Index>(), nb::arg("p"),
           nb::arg("d"), nb::arg("E"), nb::arg("dimension"), nb::arg("D"), nb::arg("dense"),
           nb::arg("window"), nb::arg("delay") = 0)
      .def_ro("p", &Shape::p)
      .def_ro("d", &Shape::d)
      .def_ro("E", &Shape::E)
      .def_ro("dimension", &Shape::dimension)
      .def_ro("D", &Shape::D)
      .def_ro("dense", &Shape::dense)
      .def_ro("window", &Shape::window)
      .def_ro("delay", &Shape::delay)
      .def("__iter__", [](const Shape& self) { return nb::iter(parts_of(self)); })
      .def("__eq__", [](const Shape& self, const Shape& other) { return self == other; })
      .def("__hash__", [](const Shape& self) { return nb::hash(parts_of(self)); })
      .def("__repr__", [](const Shape& self) { return nb::str("Shape{}").format(parts_of(self)); })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), parts_of(nb::cast<const Shape&>(self)));
      });
  bind_members(module);
  bind_scale(module);
  bind_pool(module);
  bind_model(module);
}

}  // namespace rpnb
