// Boosted trees: a member whose state Python gets as copies of its arrays.
#include "../pooled/boosted/snapshot.h"
#include "gil.h"
#include "member.h"
#include "rooms.h"

namespace rpnb {

namespace {

// The arrays of a state, or those that one field needs, as fields of the snapshot, which owns
// them.
nb::object arrays_of(const BoostedTrees& self, std::string_view only = {}) {
  return nb::cast(self.snapshot(only));
}

void arrange_classes(BoostedTrees& self, Vector<const std::int64_t> source,
                     Vector<const bool> active) {
  require_length("active", active.size(), source.size());
  for (const std::int64_t c : source) {
    if (c < -1 || c >= self.classes()) throw std::invalid_argument("source has an invalid class");
  }
  self.arrange_classes(source, active);
}

void add_rows_of(BoostedTrees& self, const BoostedTrees& other) {
  if (&self == &other) throw std::invalid_argument("other is the state itself");
  require_length("features of the other state", other.features(), self.features());
  require_length("classes of the other state", other.classes(), self.classes());
  const ReleasedGil released;
  self.add_rows_of(other);
}

}  // namespace

void bind_boosted(nb::module_& module) {
  bind_record<BoostedSnapshot>(module, "BoostedSnapshot");
  nb::class_<BoostedTrees, Member> bound(module, "BoostedTrees");
  bound
      .def("__init__",
           [](BoostedTrees* self, const nb::args& places, const nb::kwargs& names) {
             const auto arrays = make_record<BoostedSnapshot>("BoostedTrees", places, names);
             const ReleasedGil released;
             new (self) BoostedTrees(arrays);
           })
      .def_static("begin", &BoostedTrees::begin, nb::arg("shape"), nb::arg("active"),
                  nb::arg("seed"))
      .def("arrange_classes", &arrange_classes, nb::arg("source"), nb::arg("active"))
      .def("add_rows_of", &add_rows_of, nb::arg("other"))
      .def("copy", [](const BoostedTrees& self) { return BoostedTrees(self); })
      .def_prop_ro("n_rows", &BoostedTrees::rows_kept_now)
      .def_prop_ro("n_trees", &BoostedTrees::trees_now)
      .def_prop_ro("nbytes", &BoostedTrees::bytes)
      .def("__iter__", [](const BoostedTrees& self) { return nb::iter(arrays_of(self)); })
      .def("__len__", [](const BoostedTrees&) { return count_fields<BoostedSnapshot>(); })
      .def("_asdict", [](const BoostedTrees& self) { return arrays_of(self).attr("_asdict")(); })
      .def("_replace",
           [](nb::handle self, const nb::kwargs& changes) {
             auto fields = nb::borrow<nb::dict>(self.attr("_asdict")());
             for (auto [key, value] : changes) {
               if (!fields.contains(key)) throw nb::type_error("_replace got an array of no field");
               fields[key] = value;
             }
             return self.type()(**fields);
           })
      .def("__reduce__",
           [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple(nb::iter(self))); });
  for_each_field<BoostedSnapshot>([&](const auto& entry) {
    bound.def_prop_ro(entry.name, [name = entry.name](const BoostedTrees& self) {
      return nb::object(arrays_of(self, name).attr(name));
    });
  });
  bound.attr("_fields") = module.attr("BoostedSnapshot").attr("_fields");
  module.attr("MOST_TREES") = boosted::kMostTrees;
  module.attr("MOST_LEAVES") = boosted::kMostLeaves;
  module.attr("MOST_NODES") = boosted::kMostNodes;
  module.attr("MOST_CUTS") = boosted::kMostCuts;
  module.attr("MOST_CLASSES") = boosted::kMostClasses;
  module.attr("CLOCKS") = Index{BoostedSnapshot::kClocks};
  module.def("rows_kept", &boosted::rows_kept, nb::arg("p"), nb::arg("C"));
  module.def("margins_for", &boosted::margins_for, nb::arg("Q"));
}

}  // namespace rpnb
