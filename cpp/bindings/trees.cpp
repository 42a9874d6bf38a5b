// Hoeffding trees and their ensembles.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include "../trees/bagging.h"
#include "../trees/boosting.h"
#include "../trees/learning.h"
#include "../trees/leaves.h"
#include "../trees/splits.h"
#include "../trees/votes.h"
#include "gil.h"
#include "record.h"
#include "rooms.h"

namespace rpnb {

namespace {

using namespace trees;

void require(bool fits, const char* message) {
  if (!fits) throw nb::value_error(message);
}

Density density_of(int number) {
  require(number == 0 || number == 1, "there is no such density");
  return static_cast<Density>(number);
}

// TreeParameters of rpnb.core.trees, a named tuple.
using RulesTuple = std::tuple<int, int, bool, double, double, double, Index>;

TreeParameters rules_of(const RulesTuple& given) {
  const auto& [density, leaf, grows, grace, confidence, tie, bins] = given;
  require(leaf >= 0 && leaf <= 2, "there is no such rule of leaves");
  return {density_of(density), static_cast<LeafRule>(leaf), grows, grace, confidence, tie, bins};
}

// Draws of rpnb.core.trees, a named tuple.
using DrawsTuple = std::tuple<std::uint64_t, Index, Index>;

Draws draws_of(const DrawsTuple& given) {
  const auto& [seed, member, row] = given;
  require(member >= 0 && row >= 0, "members and rows count from 0");
  return {seed, member, row};
}

void check_rows_of(const Forest& forest, Matrix<const double> X, Matrix<double> votes) {
  require(X.size(1) == forest.leaves().features(), "X must have a column for each attribute");
  require(votes.size(0) == X.size(0) && votes.size(1) == forest.leaves().classes(),
          "votes must have a row for each row of X and a column for each class");
}

void check_labels_of(const Forest& forest, Index n, Vector<const std::int64_t> y,
                     Vector<const double> weight) {
  require(y.size() == n, "there must be a class for each row");
  require(weight.size() == 1 || weight.size() == n, "there must be a weight for each row");
  for (Index i = 0; i < n; ++i) {
    const bool learned = weight[weight.size() == 1 ? 0 : i] > 0.0;
    require(!learned || (y[i] >= 0 && y[i] < forest.leaves().classes()),
            "y holds a number that is no class");
  }
}

void check_leaf(const Leaves& leaves, Index leaf, Index m) {
  require(leaf >= 0 && leaf < leaves.counts->slots.size(), "there is no such leaf");
  require(m >= 0 && m < leaves.classes(), "there is no such class");
}

void bind_forest_class(nb::module_& module) {
  bind_record<Nodes>(module, "Nodes");
  bind_record<LeafCounts>(module, "LeafCounts");
  bind_record<LeafMoments>(module, "LeafMoments");
  bind_record<LeafDensities>(module, "LeafDensities");
  nb::class_<Leaves> leaves(module, "Leaves");
  leaves
      .def(nb::init<std::shared_ptr<LeafCounts>, std::shared_ptr<LeafMoments>,
                    std::shared_ptr<LeafDensities>>())
      .def_ro("counts", &Leaves::counts)
      .def_ro("observed", &Leaves::observed)
      .def_ro("densities", &Leaves::densities)
      .def("__reduce__",
           [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple(self)); });
  list_fields(leaves, {"counts", "observed", "densities"});
  nb::class_<Forest> forest(module, "Forest");
  forest.def(nb::init<Vector<const std::int64_t>, const Nodes&, const Leaves&>())
      .def_prop_ro(
          "splits",
          [](nb::pointer_and_handle<Forest> self) { return show(self.p->splits(), self.h); })
      .def_prop_ro("nodes", [](const Forest& self) { return self.nodes(); })
      .def_prop_ro("leaves", [](const Forest& self) { return self.leaves(); })
      .def_prop_ro("places", &Forest::places)
      .def("__reduce__",
           [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple(self)); });
  list_fields(forest, {"splits", "nodes", "leaves"});
}

void bind_passes_of_trees(nb::module_& module) {
  module.def("pass_tree", [](Forest& forest, Index k, const RulesTuple& rules,
                             Matrix<const double> X, Vector<const std::int64_t> y,
                             Vector<const double> weight, bool learn, Matrix<double> votes) {
    const TreeParameters parameters = rules_of(rules);
    require(k >= 0 && k < forest.trees(), "there is no such tree");
    check_rows_of(forest, X, votes);
    if (!learn) {
      const ReleasedGil released;
      score_tree(forest, k, parameters, X, votes);
      return;
    }
    check_labels_of(forest, X.size(), y, weight);
    require(weight.size() == X.size(), "there must be a weight for each row");
    const ReleasedGil released;
    learn_tree(forest, k, parameters, X, y, weight, votes);
  });
  module.def("pass_bagging", [](Forest& forest, const RulesTuple& rules, const DrawsTuple& draws,
                                Matrix<const double> X, Vector<const std::int64_t> y,
                                Vector<const double> weight, bool learn, Matrix<double> votes) {
    const TreeParameters parameters = rules_of(rules);
    const Draws numbers = draws_of(draws);
    check_rows_of(forest, X, votes);
    if (!learn) {
      const ReleasedGil released;
      score_bagging(forest, parameters, X, votes);
      return;
    }
    check_labels_of(forest, X.size(), y, weight);
    const ReleasedGil released;
    learn_bagging(forest, parameters, numbers, X, y, weight, votes);
  });
  module.def("pass_boosting", [](Forest& forest, MemberAccuracy& accuracy, const RulesTuple& rules,
                                 const DrawsTuple& draws, bool pure, Matrix<const double> X,
                                 Vector<const std::int64_t> y, Vector<const double> weight,
                                 bool learn, Matrix<double> votes) {
    const TreeParameters parameters = rules_of(rules);
    const Draws numbers = draws_of(draws);
    require(accuracy.right.size() == forest.trees(), "there must be an accuracy for each tree");
    check_rows_of(forest, X, votes);
    if (!learn) {
      const ReleasedGil released;
      score_boosting(forest, accuracy, parameters, X, votes);
      return;
    }
    check_labels_of(forest, X.size(), y, weight);
    const ReleasedGil released;
    learn_boosting(forest, accuracy, parameters, numbers, pure, X, y, weight, votes);
  });
  module.def("fill_labels", [](Matrix<const double> votes, Vector<std::int64_t> labels) {
    require(labels.size() == votes.size(), "there must be a label for each row");
    fill_labels(votes, labels);
  });
}

// Functions that tests compare with plain formulas.
void bind_parts_of_trees(nb::module_& module) {
  module.def("refresh_densities", [](const Leaves& leaves, Index leaf, Index m, int density) {
    check_leaf(leaves, leaf, m);
    refresh_densities(*leaves.densities, *leaves.observed, leaf, m,
                      leaves.counts->class_weight(leaf, m), density_of(density));
  });
  module.def("score_by_factors",
             [](const Leaves& leaves, Index leaf, Index m, Vector<const double> x, int density) {
               check_leaf(leaves, leaf, m);
               require(x.size() == leaves.features(), "x must have a value for each attribute");
               return score_by_factors(leaves, leaf, m, x, density_of(density));
             });
  module.def("weight_below",
             [](const Leaves& leaves, Index leaf, Index m, Index j, double z, double deviation) {
               check_leaf(leaves, leaf, m);
               require(j >= 0 && j < leaves.features(), "there is no such attribute");
               return weight_below(*leaves.observed, leaf, m, j, z, deviation);
             });
  module.def("fill_row_words", [](std::uint64_t seed, std::uint32_t purpose, Index member,
                                  Index row, Vector<std::uint32_t> words) {
    require(member >= 0 && row >= 0, "members and rows count from 0");
    fill_row_words(seed, static_cast<Purpose>(purpose), member, row, words);
  });
  module.def("draw_poisson", [](std::uint32_t word) { return draw_poisson(word); });
  module.def("draw_poisson",
             [](std::uint32_t word, double mean) { return draw_poisson(word, mean); });
  module.def("influence", &influence);
}

}  // namespace

void bind_trees(nb::module_& module) {
  bind_forest_class(module);
  bind_record<MemberAccuracy>(module, "MemberAccuracy");
  bind_passes_of_trees(module);
  bind_parts_of_trees(module);
}

}  // namespace rpnb
