// The window forest.
#include <stdexcept>

#include "../pooled/forest/leaves.h"
#include "gil.h"
#include "member.h"
#include "rooms.h"

namespace rpnb {

namespace {

// Let tree k learn the rows in the window of another forest.
void learn_window(WindowForest& self, Index k, const WindowForest& other) {
  if (k < 0 || k > forest::kTrees) throw std::invalid_argument("k is out of range");
  if (&self == &other) throw std::invalid_argument("other is the forest itself");
  require_length("rows of the other window", other.columns(), self.columns());
  require_length("classes of the other forest", other.classes(), self.classes());
  const std::int64_t end = other.clock[WindowForest::kLearned];
  const std::int64_t first = std::max(std::int64_t{0}, end - std::int64_t{other.window.size()});
  const ReleasedGil released;
  forest::learn_in_tree(self, k, other, first, end);
}

}  // namespace

void bind_forest(nb::module_& module) {
  bind_member<WindowForest>(module, "WindowForest")
      .def_static("begin", &WindowForest::begin, nb::arg("shape"), nb::arg("active"),
                  nb::arg("seed"))
      .def("learn_window", &learn_window, nb::arg("place"), nb::arg("other"));
  module.def("window_rows", &forest::window_rows, nb::arg("p"), nb::arg("window"));
  module.def("kept_rows", &forest::kept_rows, nb::arg("W"));
  module.def("listed_classes", &forest::listed_classes, nb::arg("M"));
  module.def("read_columns", &forest::read_columns, nb::arg("shape"));
  module.def("units_per_row", &forest::units_per_row, nb::arg("p"), nb::arg("W"));
  module.attr("TREES") = forest::kTrees;
  module.attr("MOST_LEAVES") = forest::kMostLeaves;
  module.attr("RECENT_ROWS") = forest::kRecentRows;
  module.attr("WIDEST") = forest::kWidest;
  module.attr("LEARNED") = Index{WindowForest::kLearned};
  module.attr("DUE") = Index{WindowForest::kDue};
  module.attr("GROWN") = Index{WindowForest::kGrown};
  module.attr("START") = Index{WindowForest::kStart};
  module.attr("NEXT") = Index{WindowForest::kNext};
  module.attr("CLOCKS") = Index{WindowForest::kClocks};
}

}  // namespace rpnb
