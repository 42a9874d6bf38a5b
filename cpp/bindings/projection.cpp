// Random projections.
#include "../rpnb/projection.h"

#include <nanobind/stl/string.h>

#include <string>

#include "../rpnb/hadamard.h"
#include "../rpnb/projection_matrix.h"
#include "../rpnb/projection_rows.h"
#include "../rpnb/very_sparse.h"
#include "gil.h"
#include "record.h"
#include "rooms.h"
#include "rows.h"

namespace rpnb {

namespace {

void require(bool fits, const char* message) {
  if (!fits) throw nb::value_error(message);
}

Distribution distribution_named(const std::string& name) {
  if (name == "gaussian") return Distribution::kGaussian;
  if (name == "bernoulli") return Distribution::kBernoulli;
  if (name == "achlioptas") return Distribution::kAchlioptas;
  throw nb::value_error(("no distribution of a matrix is called " + name).c_str());
}

void require_columns(Index q, Index F) {
  require(q >= 1 && F % q == 0, "there must be q columns for each member, q at least 1");
}

void require_outputs(const RowBlock& rows, Index p, Index F, Matrix<double> Z) {
  check_rows(rows, p);
  require(Z.size(0) == rows.size(), "Z must have as many rows as are projected");
  require(Z.size(1) == F, "Z must have as many columns as the projection");
}

void bind_matrices(nb::module_& module) {
  module.def("draw_matrix", [](const std::string& distribution, std::uint64_t seed,
                               Vector<const std::uint64_t> features, Index q, Matrix<float> R) {
    const Distribution law = distribution_named(distribution);
    require_columns(q, R.size(1));
    require(R.size(0) == features.size(), "R must have a row for each feature");
    const ReleasedGil released;
    draw_matrix(law, seed, features, q, R);
  });
  module.def("max_column_norm", &max_column_norm, nb::call_guard<ReleasedGil>());
  module.def("project", [](Matrix<const double> X, Vector<const std::int64_t> rows, double scale,
                           Matrix<const float> R, Matrix<double> Z) {
    require(X.size(1) == (R.size(0) > 0 ? R.size(0) : R.size(1)),
            "X must have as many columns as R has rows, or as R has columns if it has no rows");
    require(Z.size(1) == R.size(1), "Z and R must have as many columns");
    require(Z.size(0) >= rows.size(), "Z must have a row for each row that is projected");
    for (const std::int64_t row : rows) require(row >= 0 && row < X.size(), "X has no such row");
    const ReleasedGil released;
    project(X, rows, scale, R, Z);
  });
  module.def("project_singles", [](Matrix<const float> X, Matrix<const float> R, Matrix<float> Z) {
    require(X.size(0) % 4 == 0, "X must have a multiple of four rows");
    require(X.size(1) == R.size(0), "X must have as many columns as R has rows");
    require(Z.size(0) == X.size(0) && Z.size(1) == R.size(1),
            "Z must have the rows of X and the columns of R");
    const ReleasedGil released;
    project_singles(X, R, Z);
  });
}

void bind_rows(nb::module_& module) {
  module.def("project_rows",
             [](const RowBlock& rows, double scale, Matrix<const float> R, Matrix<double> Z) {
               require_outputs(rows, R.size(0), R.size(1), Z);
               const ReleasedGil released;
               project_rows(rows, scale, R, Z);
             });
  module.def(
      "draw_and_project_rows",
      [](const RowBlock& rows, double scale, const std::string& distribution, std::uint64_t seed,
         Vector<const std::uint64_t> features, Index q, Matrix<double> Z) {
        const DrawnMatrix matrix{distribution_named(distribution), seed, features, q};
        require_columns(q, Z.size(1));
        require_outputs(rows, features.size(), Z.size(1), Z);
        const ReleasedGil released;
        project_rows(rows, scale, matrix, Z);
      });
}

// Bind what very sparse and Hadamard projections have in common.
template <class P>
nb::class_<P> bind_structured(nb::module_& module, const char* name) {
  return nb::class_<P>(module, name)
      .def_static("draw",
                  [](std::uint64_t seed, Vector<const std::uint64_t> features, Index F) {
                    require(features.size() >= 1, "there must be at least one feature");
                    require(F >= 1, "there must be at least one column");
                    const ReleasedGil released;
                    return P::draw(seed, features, F);
                  })
      .def("project", [](const P& self, const RowBlock& rows, double scale, Matrix<double> Z) {
        require_outputs(rows, self.p(), self.F(), Z);
        const ReleasedGil released;
        self.project(rows, scale, Z);
      });
}

// A getter of an array that a projection owns.
template <class P, class Get>
auto shown(Get get) {
  return [get](nb::pointer_and_handle<P> self) { return show(get(*self.p), self.h); };
}

}  // namespace

void bind_projection(nb::module_& module) {
  bind_matrices(module);
  bind_rows(module);
  auto very_sparse = bind_structured<VerySparse>(module, "VerySparse");
  very_sparse.def_prop_ro("starts", shown<VerySparse>([](const auto& P) { return P.starts(); }))
      .def_prop_ro("entries", shown<VerySparse>([](const auto& P) { return P.entries(); }))
      .def_prop_ro("size", &VerySparse::size);
  list_fields(very_sparse, {"starts", "entries", "size"});
  auto hadamard = bind_structured<Hadamard>(module, "Hadamard");
  hadamard.def_prop_ro("signs", shown<Hadamard>([](const auto& P) { return P.signs(); }))
      .def_prop_ro("places", shown<Hadamard>([](const auto& P) { return P.places(); }))
      .def_prop_ro("weights", shown<Hadamard>([](const auto& P) { return P.weights(); }));
  list_fields(hadamard, {"signs", "places", "weights"});
}

}  // namespace rpnb
