// Members with a shared covariance: of all rows, and of recent rows.
#include "../pooled/fading_covariance.h"
#include "../pooled/shared_covariance.h"
#include "gil.h"
#include "member.h"
#include "rooms.h"

namespace rpnb {

void bind_covariances(nb::module_& module) {
  const nb::call_guard<ReleasedGil> released;
  bind_member<SharedCovariance>(module, "SharedCovariance")
      .def_static("begin", &SharedCovariance::begin)
      .def("settle", &SharedCovariance::settle, released)
      .def("refresh_all", &SharedCovariance::refresh_all, released)
      .def("sum_rows", [](SharedCovariance& self, Matrix<const float> phi,
                          Vector<const std::int64_t> y, Vector<const double> weight) {
        require_length("phi", phi.size(), y.size());
        require_length("weight", weight.size(), y.size());
        for (const std::int64_t c : y) {
          if (c < 0 || c >= self.classes()) {
            throw nb::value_error("y holds a number that is no class");
          }
        }
        const ReleasedGil while_summing;
        self.sum_rows(phi, {y, weight});
      });
  bind_member<FadingCovariance>(module, "FadingCovariance")
      .def_static("begin", &FadingCovariance::begin)
      .def("settle", &FadingCovariance::settle, released)
      .def("refresh", &FadingCovariance::refresh, released);
}

}  // namespace rpnb
