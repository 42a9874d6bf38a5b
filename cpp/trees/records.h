// Hoeffding trees stored in arrays: the records, and how trees grow.
//
// A forest holds K trees in two pools: inner nodes, and leaves with all that a leaf has
// observed. Each tree has C places in either pool, tree k those from k·C on, and fills them
// in the order of its splits. A child of a node is named by a number: r ≥ 0 is the tree's
// inner node r, and r < 0 its leaf −1 − r. When a tree has filled its places, C is doubled
// for all. So the positions of a tree's nodes depend only on the rows it has learned. The
// records hold only arrays, so saving these saves a forest.
//
// The rules are those of MOA's HoeffdingTree with numeric attributes (Domingos & Hulten,
// "Mining high-speed data streams", 2000; Bifet, Holmes, Kirkby & Pfahringer, "MOA: massive
// online analysis", 2010). A tree that may not grow is one leaf: with `LeafRule::kBayes` it
// is a streaming Gaussian naive Bayes.
#pragma once

#include <cstdint>
#include <memory>

#include "../record.h"

namespace rpnb::trees {

// How naive Bayes multiplies its densities: kLog adds logarithms and never underflows;
// kProduct gives the product of doubles, which stays 0 once it underflows.
enum class Density { kLog, kProduct };

// What a leaf votes with: its class weights, naive Bayes, or the one of the two that was
// right more often at the leaf.
enum class LeafRule { kMajority, kBayes, kAdaptive };

// How trees learn and predict.
struct TreeParameters {
  Density density;
  LeafRule leaf;
  bool grows;         // whether leaves are ever split
  double grace;       // weight that a leaf must gain between two attempts to split it
  double confidence;  // δ, the accepted probability of a wrong choice in one attempt
  double tie;         // τ: below this Hoeffding bound the best attribute is always taken
  Index bins;         // thresholds tried on each attribute
};

// A pool of L = K·C inner nodes; a row goes left where attribute ≤ threshold.
struct Nodes {
  Array<std::int64_t, 1> attribute;
  Array<double, 1> threshold;
  Array<std::int64_t, 1> left;   // which of the tree's nodes or leaves is the left child
  Array<std::int64_t, 1> right;  // which is the right one

  static constexpr auto fields() {
    return std::tuple{field("attribute", &Nodes::attribute, "L"),
                      field("threshold", &Nodes::threshold, "L"), field("left", &Nodes::left, "L"),
                      field("right", &Nodes::right, "L")};
  }
};

// What each of L leaves has counted.
struct LeafCounts {
  Array<std::int64_t, 1> slots;     // 1 + the highest class seen: how many classes get a vote
  Array<double, 2> class_weight;    // N of each class, including the initial estimate
  Array<double, 1> majority_right;  // weight of the rows that the majority class predicted
  Array<double, 1> bayes_right;     // weight of the rows that naive Bayes predicted
  Array<double, 1> checked;         // ΣN at the last attempt to split
  Array<bool, 1> frozen;            // no attribute can split the leaf: it only counts classes

  static constexpr auto fields() {
    return std::tuple{field("slots", &LeafCounts::slots, "L"),
                      field("class_weight", &LeafCounts::class_weight, "L M"),
                      field("majority_right", &LeafCounts::majority_right, "L"),
                      field("bayes_right", &LeafCounts::bayes_right, "L"),
                      field("checked", &LeafCounts::checked, "L"),
                      field("frozen", &LeafCounts::frozen, "L")};
  }
};

// Moments and ranges of each class at each of L leaves since the leaf began.
struct LeafMoments {
  Array<double, 2> weight;   // W: weight of the rows
  Array<double, 3> mean;     // μ of each attribute
  Array<double, 3> scatter;  // S: summed squared deviations from the mean
  Array<double, 3> low;      // smallest value
  Array<double, 3> high;     // largest value

  static constexpr auto fields() {
    return std::tuple{
        field("weight", &LeafMoments::weight, "L M"), field("mean", &LeafMoments::mean, "L M p"),
        field("scatter", &LeafMoments::scatter, "L M p"), field("low", &LeafMoments::low, "L M p"),
        field("high", &LeafMoments::high, "L M p")};
  }
};

// The classes' normal densities at each of L leaves, as votes read them. They are derived
// from counts and moments, and kept so that a vote takes four operations per attribute and
// class.
struct LeafDensities {
  Array<double, 3> centre;      // μ, the classes side by side
  Array<double, 3> precision;   // 1/(2σ²), or 0 where σ² is 0 or beyond what can be inverted
  Array<double, 3> normaliser;  // −log(√(2π)·σ), or 0 in the same places
  Array<double, 2> peak;        // log N plus the sum of the normalisers
  Array<std::int64_t, 2> flat;  // how many attributes have no variance
  // Largest Σ (x − μ)²/(2σ²) for which `peak` minus it is the score, if flat attributes have
  // their only value; −∞ where there is none.
  Array<double, 2> limit;

  static constexpr auto fields() {
    return std::tuple{field("centre", &LeafDensities::centre, "L p M"),
                      field("precision", &LeafDensities::precision, "L p M"),
                      field("normaliser", &LeafDensities::normaliser, "L M p"),
                      field("peak", &LeafDensities::peak, "L M"),
                      field("flat", &LeafDensities::flat, "L M"),
                      field("limit", &LeafDensities::limit, "L M")};
  }
};

// A pool of L = K·C leaves. Records are shared with Python, which may hold them longer than
// their forest does.
struct Leaves {
  std::shared_ptr<LeafCounts> counts;
  std::shared_ptr<LeafMoments> observed;
  std::shared_ptr<LeafDensities> densities;

  [[nodiscard]] Index classes() const { return counts->class_weight.size(1); }
  [[nodiscard]] Index features() const { return observed->mean.size(2); }
};

// K trees.
class Forest {
 public:
  // Copies its arguments. Throws std::invalid_argument if they do not fit together, or if an
  // index in them is out of range.
  Forest(Vector<const std::int64_t> splits, const Nodes& nodes, const Leaves& leaves);

  [[nodiscard]] Index trees() const { return splits_.size(); }
  // C, the number of places that each tree has.
  [[nodiscard]] Index places() const { return nodes_->left.size() / trees(); }
  // (K,) inner nodes of each tree, which has one leaf more; the first is its root.
  [[nodiscard]] Vector<std::int64_t> splits() const { return splits_; }
  [[nodiscard]] const std::shared_ptr<Nodes>& nodes() const { return nodes_; }
  [[nodiscard]] const Leaves& leaves() const { return leaves_; }

  // Double the places of each tree, in new records; the old ones live as long as Python holds
  // them.
  void add_places();

 private:
  Array<std::int64_t, 1> splits_;
  std::shared_ptr<Nodes> nodes_;
  Leaves leaves_;
};

}  // namespace rpnb::trees
