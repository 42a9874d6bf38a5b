// Linear learners.
#include "../linear/learner.h"
#include "../linear/row_ops.h"
#include "checks.h"
#include "gil.h"
#include "record.h"
#include "rooms.h"
#include "rows.h"

namespace rpnb {

namespace {

void bind_algorithms(nb::module_& module) {
  nb::enum_<Algorithm>(module, "Algorithm", nb::is_arithmetic())
      .value("PERCEPTRON", Algorithm::kPerceptron)
      .value("PERCEPTRON_UNIFORM", Algorithm::kPerceptronUniform)
      .value("PERCEPTRON_PROPORTIONAL", Algorithm::kPerceptronProportional)
      .value("ROMMA", Algorithm::kRomma)
      .value("AGGRESSIVE_ROMMA", Algorithm::kAggressiveRomma)
      .value("ALMA", Algorithm::kAlma)
      .value("OGD", Algorithm::kOgd)
      .value("OGD_LOGISTIC", Algorithm::kOgdLogistic)
      .value("OGD_SQUARE", Algorithm::kOgdSquare)
      .value("OGD_ZERO_ONE", Algorithm::kOgdZeroOne)
      .value("PA", Algorithm::kPa)
      .value("PA1", Algorithm::kPa1)
      .value("PA2", Algorithm::kPa2)
      .value("SOP", Algorithm::kSop)
      .value("IELLIP", Algorithm::kIellip)
      .value("AROW", Algorithm::kArow)
      .value("NAROW", Algorithm::kNarow)
      .value("NHERD", Algorithm::kNherd)
      .value("CW", Algorithm::kCw)
      .value("SCW1", Algorithm::kScw1)
      .value("SCW2", Algorithm::kScw2);
  using Rule = LinearAlgorithm;
  nb::class_<Rule>(module, "LinearAlgorithm")
      .def(
          "__init__",
          [](Rule* self, Algorithm algorithm, bool two_class, bool libol, double C, double phi,
             double alpha, double power,
             double b) { new (self) Rule{algorithm, two_class, libol, C, phi, alpha, power, b}; },
          nb::arg("algorithm"), nb::arg("two_class"), nb::arg("libol"), nb::arg("C"),
          nb::arg("phi"), nb::arg("alpha"), nb::arg("power"), nb::arg("b"))
      .def_ro("algorithm", &Rule::algorithm)
      .def_ro("two_class", &Rule::two_class)
      .def_ro("libol", &Rule::libol)
      .def_ro("C", &Rule::C)
      .def_ro("phi", &Rule::phi)
      .def_ro("alpha", &Rule::alpha)
      .def_ro("power", &Rule::power)
      .def_ro("b", &Rule::b)
      .def("__reduce__", [](nb::handle self) {
        const Rule& rule = nb::cast<const Rule&>(self);
        return nb::make_tuple(self.type(),
                              nb::make_tuple(rule.algorithm, rule.two_class, rule.libol, rule.C,
                                             rule.phi, rule.alpha, rule.power, rule.b));
      });
}

// Reject a state that does not fit the algorithm, and rows that do not fit the state.
void check(const LinearAlgorithm& rule, const LinearState& state, const RowBlock& rows) {
  check_state(rule, state);
  check_rows(rows, state.features());
}

void bind_jobs(nb::module_& module) {
  module.def("learn_rows", [](const LinearAlgorithm& rule, LinearState& state, const RowBlock& rows,
                              Vector<const std::int64_t> y, Vector<std::int64_t> labels) {
    check(rule, state, rows);
    require_shape("y", y, {rows.size()});
    require_shape("labels", labels, {rows.size()});
    require_classes(y, -1, state.eligible.size());
    const ReleasedGil released;
    return learn_rows(rule, state, rows, y, labels);
  });
  module.def("predict_rows", [](const LinearAlgorithm& rule, const LinearState& state,
                                const RowBlock& rows, Vector<std::int64_t> labels) {
    check(rule, state, rows);
    require_shape("labels", labels, {rows.size()});
    const ReleasedGil released;
    predict_rows(rule, state, rows, labels);
  });
  module.def("score_rows", [](const LinearAlgorithm& rule, const LinearState& state,
                              const RowBlock& rows, Matrix<double> out) {
    check(rule, state, rows);
    require_shape("out", out, {rows.size(), state.W.size()});
    const ReleasedGil released;
    score_rows(rule, state, rows, out);
  });
}

// Bound for tests with values near the limits of doubles, which streams rarely reach.
void bind_row_operations(nb::module_& module) {
  const auto direction_of = [](Matrix<const double> S, Vector<double> g, double v) {
    require_shape("g", g, {S.size(1)});
    if (S.size() != 1) require_shape("S", S, {S.size(1), S.size(1)});
    return Direction{g, {}, v};
  };
  module.def("stays_finite",
             [](Vector<const double> w, const RowBlock& rows, double keep, double step) {
               check_rows(rows, w.size());
               if (rows.size() != 1) throw std::invalid_argument("exactly one row is required");
               return stays_finite(w, rows[0], keep, step);
             });
  module.def("is_credible", [=](Matrix<const double> S, Vector<double> g, double v) {
    return is_credible(S, direction_of(S, g, v));
  });
  module.def("shrink_covariance",
             [=](Matrix<double> S, Vector<double> g, double v, double beta, bool libol) {
               shrink_covariance(S, direction_of(S, g, v), beta, libol);
             });
}

}  // namespace

void bind_linear(nb::module_& module) {
  bind_record<LinearState>(module, "LinearState");
  bind_algorithms(module);
  bind_jobs(module);
  bind_row_operations(module);
}

}  // namespace rpnb
