// The pooled model: members, pool, scale, features.
#include <stdexcept>

#include "../pooled/transitions.h"
#include "member.h"
#include "rooms.h"

namespace rpnb {

namespace {

// Refuse labels that are no class, and arrays that are not as long as there are rows.
void check_labels(const Labels& labels, Index n, Index M) {
  require_length("y", labels.y.size(), n);
  require_length("weight", labels.weight.size(), n);
  for (const std::int64_t c : labels.y) {
    if (c < -1 || c >= M) throw std::invalid_argument("y holds a number that is no class");
  }
}

void check_scores(const Member& member, const View<double, 3>& scores, Index n) {
  if (scores.size(0) != 0) require_length("scores", scores.size(0), n);
  require_length("axis 1 of scores", scores.size(1), member.outputs());
  require_length("axis 2 of scores", scores.size(2), member.classes());
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
      .def_ro("delay", &Shape::delay);
  nb::class_<Member>(module, "Member")
      .def("score_rows",
           [](const Member& self, Matrix<const double> raw, Matrix<const float> z,
              Matrix<const float> low, Matrix<const float> phi, View<double, 3> scores) {
             check_scores(self, scores, scores.size(0));
             const nb::gil_scoped_release released;
             self.score_rows({raw, z, low, phi}, Scores(scores));
           })
      .def("learn_rows",
           [](Member& self, Matrix<const double> raw, Matrix<const float> z,
              Matrix<const float> low, Matrix<const float> phi, Vector<const std::int64_t> y,
              Vector<const double> weight, View<double, 3> scores) {
             const Labels labels{y, weight};
             check_labels(labels, y.size(), self.classes());
             check_scores(self, scores, y.size());
             const nb::gil_scoped_release released;
             self.learn_rows({raw, z, low, phi}, labels, Scores(scores));
           })
      .def("begin_again", &Member::begin_again);
  bind_member<Transitions>(module, "Transitions").def_static("begin", &Transitions::begin);
}

}  // namespace rpnb
