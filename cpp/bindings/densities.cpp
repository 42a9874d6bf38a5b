// Members that estimate densities: class covariances, and neighbours of two kinds.
#include "../pooled/class_covariance.h"
#include "../pooled/neighbours.h"
#include "../pooled/selected_neighbours.h"
#include "gil.h"
#include "member.h"
#include "rooms.h"

namespace rpnb {

namespace {

void begin_classes(ClassCovariance& state, Vector<const std::int64_t> classes) {
  for (const std::int64_t c : classes) {
    if (c < 0 || c >= state.classes()) throw nb::value_error("there is no such class");
  }
  state.begin_classes(classes);
}

}  // namespace

void bind_densities(nb::module_& module) {
  using ReleaseGil = nb::call_guard<ReleasedGil>;
  auto covariance = bind_member<ClassCovariance>(module, "ClassCovariance")
                        .def_static("begin", &ClassCovariance::begin)
                        .def("refresh", &ClassCovariance::refresh, ReleaseGil())
                        .def("begin_classes", &begin_classes);
  covariance.attr("SCORED") = ClassCovariance::kScored;

  auto neighbours =
      bind_member<Neighbours>(module, "Neighbours").def_static("begin", &Neighbours::begin);
  neighbours.attr("ROWS") = Neighbours::kRows;

  auto selected = bind_member<SelectedNeighbours>(module, "SelectedNeighbours")
                      .def_static("begin", &SelectedNeighbours::begin)
                      .def_static("rows_kept", &SelectedNeighbours::rows_kept)
                      .def("select", &SelectedNeighbours::select, ReleaseGil());
  selected.attr("ROWS") = SelectedNeighbours::kRows;
  selected.attr("MOST") = SelectedNeighbours::kMost;
  selected.attr("BINS") = SelectedNeighbours::kBins;
  selected.attr("MOST_PAIRS") = SelectedNeighbours::kMostPairs;
}

}  // namespace rpnb
