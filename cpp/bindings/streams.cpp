// What a stream needs around a model: calibration, prediction sets.
#include <nanobind/stl/array.h>

#include <algorithm>
#include <stdexcept>

#include "../calibration/conformal.h"
#include "../calibration/mixture.h"
#include "checks.h"
#include "record.h"
#include "rooms.h"

namespace rpnb {

namespace {

void check_codes(Matrix<const Code> codes) {
  if (std::any_of(codes.begin(), codes.end(), [](Code code) { return code >= kCodes; })) {
    throw std::invalid_argument("codes holds a number that is no cell");
  }
}

void check_weights(Matrix<const double> weights) {
  require_shape("weights", weights, {static_cast<Index>(kOdds.size()), kTemperatures});
}

void bind_cells(nb::module_& module) {
  module.attr("LOWEST") = kLowestTemperature;
  module.attr("N_TEMPERATURES") = kTemperatures;
  module.attr("FIRST_ROWS") = kFirstRows;
  module.attr("EVERY") = kEveryRow;
  module.attr("UNCERTAIN") = kUncertainCode;
  module.attr("CELL_WIDTH") = kCellWidth;
  module.attr("CELL_EDGES") = nb::cast(kCellEdges);
  module.def("cell_of", &cell_of);
  module.def("certain_code", &certain_code);
  module.def("is_calibration_row", &is_calibration_row);
  module.def("write_codes", [](Matrix<const double> scores, Vector<const bool> active,
                               Vector<const std::int64_t> best, double scale, Matrix<Code> codes) {
    require_shape("active", active, {scores.size(1)});
    require_shape("best", best, {scores.size(0)});
    require_shape("codes", codes, scores.shape());
    require_classes(best, -1, scores.size(1));
    for (Index i = 0; i < scores.size(); ++i) {
      if (best[i] < 0 && std::find(active.begin(), active.end(), true) != active.end()) {
        throw std::invalid_argument("no class leads, though some are active");
      }
      write_codes(scores[i], active, best[i], scale, codes[i]);
    }
  });
}

void bind_mixture(nb::module_& module) {
  module.attr("ODDS") = nb::cast(kOdds);
  bind_record<Calibration>(module, "Calibration");
  module.def("learn_all_codes",
             [](Calibration& calibration, Matrix<const Code> codes, Vector<const std::int64_t> y) {
               require_shape("y", y, {codes.size()});
               require_classes(y, 0, codes.size(1));
               check_codes(codes);
               const nb::gil_scoped_release released;
               learn_all_codes(calibration, codes, y);
             });
  module.def("mix_rows", [](Matrix<const double> weights, Matrix<const double> scores,
                            double smallest, Matrix<double> out) {
    check_weights(weights);
    require_shape("out", out, scores.shape());
    const nb::gil_scoped_release released;
    mix_rows(weights, scores, smallest, out);
  });
  module.def("mix_then_learn",
             [](Calibration& calibration, Matrix<const double> scores, double smallest,
                Matrix<const Code> codes, Index seen, Vector<const std::int64_t> y,
                Matrix<double> P, Matrix<double> thresholds) {
               const Index n = scores.size(0);
               const Index M = scores.size(1);
               require_shape("y", y, {n});
               require_shape("P", P, {n, M});
               require_shape("thresholds", thresholds, {n, static_cast<Index>(kCoverages.size())});
               require_classes(y, -1, M);
               check_codes(codes);
               Index number = seen;
               Index used = 0;
               for (const std::int64_t c : y) used += Index{c >= 0 && is_calibration_row(number++)};
               require_shape("codes", codes, {used, M});
               const nb::gil_scoped_release released;
               mix_then_learn(calibration, scores, smallest, codes, seen, y, P, thresholds);
             });
}

void check_thresholds(Vector<const double> thresholds) {
  require_shape("thresholds", thresholds, {static_cast<Index>(kCoverages.size())});
}

void bind_sets(nb::module_& module) {
  module.attr("COVERAGES") = nb::cast(kCoverages);
  module.def("strangeness", &strangeness);
  module.def("learn_threshold", [](Vector<double> thresholds, double p) {
    check_thresholds(thresholds);
    learn_threshold(thresholds, p);
  });
  module.def("track_thresholds", [](Vector<double> thresholds, Matrix<const double> P,
                                    Vector<const std::int64_t> y, Matrix<double> before) {
    check_thresholds(thresholds);
    require_shape("y", y, {P.size()});
    require_shape("before", before, {P.size(), static_cast<Index>(kCoverages.size())});
    require_classes(y, 0, P.size(1));
    const nb::gil_scoped_release released;
    track_thresholds(thresholds, P, y, before);
  });
  module.def("in_set",
             [](Matrix<const double> P, Vector<const double> thresholds, Matrix<bool> out) {
               require_shape("out", out, P.shape());
               if (thresholds.size() != 1) require_shape("thresholds", thresholds, {P.size()});
               const nb::gil_scoped_release released;
               write_sets(P, thresholds, out);
             });
}

}  // namespace

void bind_streams(nb::module_& module) {
  bind_cells(module);
  bind_mixture(module);
  bind_sets(module);
}

}  // namespace rpnb
