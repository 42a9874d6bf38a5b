// Random projections.
#include "../rpnb/projection.h"

#include "arrays.h"
#include "rooms.h"

namespace rpnb {

namespace {

void require(bool fits, const char* message) {
  if (!fits) throw nb::value_error(message);
}

void project_named(Matrix<const double> X, Vector<const std::int64_t> rows, double scale,
                   Matrix<const float> R, Matrix<double> Z) {
  require(X.size(1) == (R.size(0) > 0 ? R.size(0) : R.size(1)),
          "X must have as many columns as R has rows, or as R has columns if it has no rows");
  require(Z.size(1) == R.size(1), "Z and R must have as many columns");
  require(Z.size(0) >= rows.size(), "Z must have a row for each row that is projected");
  for (const std::int64_t row : rows) require(row >= 0 && row < X.size(), "X has no such row");
  const nb::gil_scoped_release released;
  project(X, rows, scale, R, Z);
}

void project_in_singles(Matrix<const float> X, Matrix<const float> R, Matrix<float> Z) {
  require(X.size(0) % 4 == 0, "X must have a multiple of four rows");
  require(X.size(1) == R.size(0), "X must have as many columns as R has rows");
  require(Z.size(0) == X.size(0) && Z.size(1) == R.size(1),
          "Z must have the rows of X and the columns of R");
  const nb::gil_scoped_release released;
  project_singles(X, R, Z);
}

}  // namespace

void bind_projection(nb::module_& module) {
  module.def("project", &project_named);
  module.def("project_singles", &project_in_singles);
}

}  // namespace rpnb
