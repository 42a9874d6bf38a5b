// Everything around a model: calibration, prediction sets, scaling, input checks, counts.
#include <nanobind/stl/array.h>

#include <algorithm>
#include <stdexcept>

#include "../calibration/conformal.h"
#include "../calibration/mixture.h"
#include "../stream/confusion.h"
#include "../stream/references.h"
#include "../stream/row_checks.h"
#include "../stream/running_scale.h"
#include "checks.h"
#include "gil.h"
#include "record.h"
#include "rooms.h"
#include "rows.h"

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
               const ReleasedGil released;
               learn_all_codes(calibration, codes, y);
             });
  module.def("mix_rows", [](Matrix<const double> weights, Matrix<const double> scores,
                            double smallest, Matrix<double> out) {
    check_weights(weights);
    require_shape("out", out, scores.shape());
    const ReleasedGil released;
    mix_rows(weights, scores, smallest, out);
  });
}

void check_thresholds(Vector<const double> thresholds) {
  require_shape("thresholds", thresholds, {kCoverageCount});
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
    require_shape("before", before, {P.size(), kCoverageCount});
    require_classes(y, 0, P.size(1));
    const ReleasedGil released;
    track_thresholds(thresholds, P, y, before);
  });
  module.def("in_set",
             [](Matrix<const double> P, Vector<const double> thresholds, Matrix<bool> out) {
               require_shape("out", out, P.shape());
               if (thresholds.size() != 1) require_shape("thresholds", thresholds, {P.size()});
               const ReleasedGil released;
               write_sets(P, thresholds, out);
             });
}

ScaleJob make_job(Index n, Vector<const std::int64_t> y, Vector<const double> weight, Index size,
                  double clip) {
  require_shape("y", y, {n});
  if (weight.size() != 1) require_shape("weight", weight, {n});
  if (size < 1) throw std::invalid_argument("size must be at least 1");
  return {y, weight, size, clip};
}

void bind_scale(nb::module_& module) {
  bind_record<RunningScale>(module, "RunningScale");
  module.def("scale_rows",
             [](RunningScale& scale, Matrix<const double> X, Vector<const std::int64_t> y,
                Vector<const double> weight, Index size, double clip, Matrix<double> out) {
               require_shape("X", X, {X.size(), scale.mean.size()});
               require_shape("out", out, X.shape());
               const ScaleJob job = make_job(X.size(), y, weight, size, clip);
               const ReleasedGil released;
               scale_rows(scale, X, job, out);
             });
  module.def("scale_sparse_rows",
             [](RunningScale& scale, const RowBlock& rows, Vector<const std::int64_t> y,
                Vector<const double> weight, Index size, double clip, Vector<double> out) {
               check_rows(rows, scale.mean.size());
               require_shape("out", out, {rows.values().size()});
               if (rows.values().size() > 0 && !rows.sparse()) {
                 throw std::invalid_argument("the rows must be sparse");
               }
               const ScaleJob job = make_job(rows.size(), y, weight, size, clip);
               const ReleasedGil released;
               scale_sparse_rows(scale, rows, job, out);
             });
}

// Bind `first_bad` for arrays of T of any number of axes.
template <class T>
void bind_first_bad(nb::module_& module) {
  using Values = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
  module.def(
      "first_bad",
      [](const Values& values, bool missing) {
        const Vector<const T> all(values.data(), {static_cast<Index>(values.size())});
        const ReleasedGil released;
        return first_bad(all, missing);
      },
      nb::arg("values").noconvert(), nb::arg("missing") = false);
}

void bind_checks(nb::module_& module) {
  module.attr("LARGEST") = kLargestValue;
  bind_first_bad<double>(module);
  bind_first_bad<float>(module);
}

// Bind a learner that ignores features.
void bind_reference(nb::module_& module, const char* name,
                    void (*learn)(Vector<std::int64_t>, Vector<const std::int64_t>,
                                  Vector<std::int64_t>)) {
  module.def(name, [learn](Vector<std::int64_t> state, Vector<const std::int64_t> y,
                           Vector<std::int64_t> labels) {
    if (state.size() == 0) throw std::invalid_argument("there must be a class");
    require_shape("labels", labels, y.shape());
    require_classes(y, -1, state.size());
    const ReleasedGil released;
    learn(state, y, labels);
  });
}

void bind_counts(nb::module_& module) {
  module.def("count_rows", [](Vector<const std::int64_t> truth,
                              Vector<const std::int64_t> predicted, Matrix<std::int64_t> counts) {
    const Index M = counts.size();
    require_shape("counts", counts, {M, M + 1});
    require_shape("predicted", predicted, truth.shape());
    require_classes(truth, 0, M, "truth");
    require_classes(predicted, -1, M, "predicted");
    const ReleasedGil released;
    count_rows(truth, predicted, counts);
  });
}

}  // namespace

void bind_streams(nb::module_& module) {
  bind_cells(module);
  bind_mixture(module);
  bind_sets(module);
  bind_scale(module);
  bind_checks(module);
  bind_reference(module, "count_majority", &count_majority);
  bind_reference(module, "repeat_last", &repeat_last);
  bind_counts(module);
}

}  // namespace rpnb
