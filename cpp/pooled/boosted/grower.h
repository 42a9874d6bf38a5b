// Growing one tree from all rows kept, in steps of bounded work.
//
// With F the margins of the rows without the trees that will be replaced, and P their
// softmax (or logistic function), the structure of the tree follows the log-loss along
// one random direction u of the margins (k = 1 of Iosipoi & Vakhrushev, "SketchBoost:
// fast gradient boosted decision tree for multioutput problems", 2022), whose exact
// derivatives are
//
//   g_i = ω_i (⟨u, P_i⟩ − u_{y_i}),   h_i = ω_i (⟨u², P_i⟩ − ⟨u, P_i⟩²)
//
// with u_c ∼ N(0, ¼) clipped at ±1.5, and ω the weight of the row. With two classes there
// is one margin, with g = ω(P − y) and h = ω P(1 − P). Both are rounded to integers and
// packed into one, so that a histogram is one addition for each row and feature, exact in
// any order, and that of a sibling is a difference. The leaf with the largest gain is
// split next (Friedman, "Greedy function approximation: a gradient boosting machine",
// 2001; Chen & Guestrin, "XGBoost", 2016, equation 7):
//
//   G_l²/(H_l + λ) + G_r²/(H_r + λ) − G²/(H + λ),   λ = 1, H_l and H_r at least 1
//
// ties go to the lower feature, then to the lower bin. Leaf values, of every class c, are
// Newton steps over the rows of the leaf:
//
//   v_c = −η Σ ω(P_c − [y = c])/(λ + M/(M − 1) Σ ω P_c(1 − P_c))
//
// or −ηG/(H + λ) with two classes, all clipped at ±2 and rounded to multiples of 2⁻¹⁶.
//
// A step handles up to 256 rows, or one node, and returns its cost in units of about a
// nanosecond. The cost depends only on sizes, never on a clock.
#pragma once

#include "tree.h"
#include "window.h"

namespace rpnb::boosted {

// The inputs of growing a tree.
struct Plan {
  Index first = 0;                     // the first row
  Index rows = 0;                      // m
  Index classes = 0;                   // Q
  Index leaves = 0;                    // L
  std::int64_t round = 0;              // its number, which seeds its draws
  std::vector<std::int32_t> features;  // that the tree may read
  std::vector<Index> replaced;         // slots of the trees that it replaces
  Index slot = 0;                      // its own
};

class Grower {
 public:
  // Start a tree; nothing is computed yet.
  void begin(const Plan& plan, const RowWindow& window, const Cuts& cuts, std::uint64_t seed);
  // Do a piece of work; return its units, 0 once the tree is complete.
  Index step(const RowWindow& window, const Cuts& cuts, const std::vector<Tree>& trees);
  // The bytes of its working memory.
  [[nodiscard]] Index bytes() const {
    return columns_.size() + row_leaf_.size() + 8 * (gradient_.size() + histograms_.size()) +
           4 * (probability_.size() + order_.size() + moved_.size());
  }
  // The complete tree.
  [[nodiscard]] const Tree& tree() const { return tree_; }
  // The leaf of row `first + i`, i < m, in that tree.
  [[nodiscard]] Index leaf_of(Index i) const { return row_leaf_[i]; }

 private:
  enum class Phase : std::uint8_t {
    kGradient,
    kScan,
    kPick,
    kPartition,
    kHistogram,
    kValues,
    kDone
  };

  // A leaf of the growing tree.
  struct Part {
    Index first = 0;  // of its rows, places first … end − 1 of `order_`
    Index end = 0;
    Index node = 0;
    Index depth = 0;
    Index histogram = 0;
    std::int64_t total = 0;  // packed Σ g and Σ h
    double gain = 0.0;       // gain of its best split, 0 if there is none
    Index feature = 0;       // index of the feature in the plan
    Index bin = 0;
    std::int64_t left = 0;  // packed sums of the left part
  };

  Index compute_gradients(const RowWindow& window, const std::vector<Tree>& trees);
  void find_margins(const Block& block, const std::vector<Tree>& trees, Index at,
                    Matrix<std::int32_t> F) const;
  Index scan();
  Index pick();
  Index partition(const Cuts& cuts);
  void divide(const Cuts& cuts);
  Index add_histogram();
  Index sum_values(const RowWindow& window);
  void set_value(Index leaf);
  void add_rows(std::int64_t* histogram, const std::uint32_t* rows, Index count);
  [[nodiscard]] bool may_split(const Part& part) const;
  [[nodiscard]] std::int64_t* histogram(Index slot) { return histograms_.data() + slot * bins_; }

  Plan plan_;
  Phase phase_ = Phase::kDone;
  Index cursor_ = 0;
  Index C_ = 1;
  Index width_ = 0;               // p', features of the plan
  Index bins_ = 0;                // of all of them together
  double unit_ = 1.0;             // factor of a weighted gradient
  std::vector<Index> offset_;     // (p' + 1,) where the bins of a feature begin
  std::vector<float> direction_;  // (C,) u
  Tree tree_;
  std::vector<Part> parts_;
  Index current_ = 0;              // the part that is scanned, divided or summed
  Index other_ = 0;                // the new part beside it
  Index lefts_ = 0;                // rows moved to the left so far
  Index rights_ = 0;               // and to the right
  std::vector<double> slope_;      // (C,) Σ ω(P_c − [y = c]) of the part
  std::vector<double> curvature_;  // (C,) Σ ω P_c(1 − P_c)
  Buffer<std::uint8_t> columns_;   // (m, p') bins
  Buffer<std::int64_t> gradient_;  // (m,) packed g and h
  Buffer<float> probability_;      // (m, C) P
  Buffer<std::uint32_t> order_;    // (m,) rows, part by part
  Buffer<std::uint32_t> moved_;    // (m,)
  Buffer<std::uint8_t> row_leaf_;  // (m,)
  Buffer<std::int64_t> histograms_;
};

}  // namespace rpnb::boosted
