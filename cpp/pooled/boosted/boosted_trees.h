// Boosted trees for endless streams: each new tree is fitted to the others and replaces
// the oldest.
//
// There are T trees, each with a value for every class at each leaf; with the margins
// F_c = base_c + Σ_t v_tc(leaf of the row in tree t),
//
//   score_c = F_c,   or ±F/2 for two classes, with F the log odds
//
// base is the logarithm of the smoothed class frequencies when the first tree begins,
// after 128 labelled rows. Then, in each round, a tree is grown from all rows kept
// (grower.h), fitted to the gradient of the log-loss without the oldest tree, which it
// replaces. For n rows of M classes,
//
//   T = 100,   L = min(127, max(12, √(n max(1, M/6))/4)) leaves,   η = min(0.4, 0.1 √M)
//
// and while there are fewer than T trees, none is replaced. After a change of the stream,
// as long as trees from before it remain, T = min(100, max(8, √n)). Where the residual is
// r, each tree holds about η/(1 − η) r, so that all trees together hold T η/(1 − η + T η)
// of it: like a ridge regression, whose trees are all refitted, in turn, to the current
// rows. Gradient boosting is Friedman, "Greedy function approximation: a gradient
// boosting machine" (2001); continually replacing the oldest tree is our own.
//
// Rows are kept as bins (bins.h), with their margins and their leaf in every tree, in a
// window of the latest 131,072 rows, or fewer if these would take more than 64 MB, without
// the memory of a growing tree, up to about 30 MB (window.h). After a change of the stream the
// window is cut (drift.h). Cut points are computed from the rows so far after 128, 256, …, 4,096
// rows; after a cut to 4,096 rows or fewer, at once and again 2,048 rows later. Trees store
// thresholds, not bins, so trees, margins and leaves stay valid. With more than 32 features, a
// feature gets new cut points when a tree is about to read it and the number of rows has grown
// fourfold.
//
// Work is spread over rows: each labelled row pays for 20,000 units of about a nanosecond
// (each of the first 4,096 rows for 40,000), which are spent on the next pieces of work;
// a piece covers at most about 256 rows or one node, or the cut points of a feature and its
// bins in all rows. The old tree stays in use until the new one is complete and the margins
// of all rows are updated. If the window is cut or a class is added meanwhile, the rest of
// the rows is updated in the same call.
//
// Weights of rows are rounded to multiples of 2⁻¹⁰ and at most 2²⁰. Missing values go left
// at each split, and a split may separate them from all others. With more than 64 classes
// the score is the class frequency.
#pragma once

#include <span>
#include <string_view>

#include "../member.h"
#include "drift.h"
#include "grower.h"

namespace rpnb {

struct BoostedSnapshot;

class BoostedTrees final : public Member {
 public:
  BoostedTrees(Index p, Vector<const bool> active, std::uint64_t seed);
  static BoostedTrees begin(const Shape& shape, Vector<const bool> active, std::uint64_t seed);

  void score_rows(const Rows& rows, const Scores& scores) const override;
  void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return static_cast<Index>(rank_.size()); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return false; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;

  // Have other classes, of which class m was class source[m], or is new if that is −1.
  void arrange_classes(Vector<const std::int64_t> source, Vector<const bool> active);
  // Learn the rows that another state keeps, without counting them as paid work.
  //
  // Where raw values are no longer kept, the middles of their bins are learned.
  void add_rows_of(const BoostedTrees& other);

  [[nodiscard]] Index features() const { return window_.features(); }
  // Number of trees grown so far.
  [[nodiscard]] Index rounds() const { return round_; }
  // Number of rows kept and of trees in use, and their approximate memory in bytes.
  [[nodiscard]] Index rows_kept_now() const { return window_.size(); }
  [[nodiscard]] Index trees_now() const { return static_cast<Index>(slots_.size()); }
  [[nodiscard]] Index bytes() const;

  // The whole state as arrays, and a state that continues from these to the bit. If `only`
  // names a field, the large arrays that do not belong to it stay empty.
  [[nodiscard]] BoostedSnapshot snapshot(std::string_view only = {}) const;
  explicit BoostedTrees(const BoostedSnapshot& snapshot);

 private:
  enum class Phase : std::uint8_t {
    kWaiting,   // for the next round to begin
    kCutting,   // features get new cut points
    kGrowing,   // a tree
    kApplying,  // the tree to the margins of all rows
    kOff        // there are too many classes
  };

  // Rows whose leaves are found in advance.
  struct Ahead;

  [[nodiscard]] Index n_ranked() const { return static_cast<Index>(class_of_.size()); }
  [[nodiscard]] bool started() const { return !base_.empty(); }
  void fill_margin(const std::uint8_t* leaves, std::int32_t* margin) const;
  void write_scores(const std::int32_t* margin, Vector<double> scores) const;
  void write_frequencies(Vector<double> scores) const;
  [[nodiscard]] double loss(const std::int32_t* margin, Index rank) const;

  bool is_alarm(double newest);
  void learn(const float* x, const std::uint8_t* leaves, const std::int32_t* margin, Index label,
             double weight);
  Index append(const float* x, const std::uint8_t* leaves, const std::int32_t* margin, Index rank,
               double weight);
  void activate(Index label);
  void add_margins();
  void turn_off();
  void start();
  void forget();
  Index step();
  Index begin_round();
  void draw_features();
  void begin_tree();
  Index cut_feature();
  [[nodiscard]] bool cuts_due(Index j) const;
  void cut(Index j);
  Index apply();
  void publish();
  void stop_round();
  void list_slots();
  void drop_rows();

  std::uint64_t seed_;
  std::vector<std::int64_t> rank_;      // (M,) index of a class among the active ones, or −1
  std::vector<std::int64_t> class_of_;  // the classes in the order in which they became active
  std::vector<double> class_weight_;    // n_c, by rank
  double total_weight_ = 0.0;
  std::vector<std::int32_t> base_;  // by rank; empty before the first tree begins
  boosted::Cuts cuts_;
  boosted::RowWindow window_;
  std::vector<boosted::Tree> trees_;  // by slot; some slots may be free
  std::vector<Index> slots_;          // in use
  boosted::Drift drift_;
  Phase phase_ = Phase::kWaiting;
  Index credit_ = 0;
  Index cursor_ = 0;                        // of cutting, and of applying
  Index steps_ = 0;                         // made by the grower
  Index round_ = 0;                         // number of the next tree
  Index change_ = 0;                        // number of the first tree after a change
  Index event_ = -1;                        // times that cut points became due, minus one
  Index next_event_ = boosted::kFirstRows;  // rows learned when they are next due; −1: never
  boosted::Plan plan_;
  boosted::Grower grower_;
  boosted::Tree grown_;     // the tree that is being applied
  Index known_leaves_ = 0;  // its rows whose leaf the grower knows
};

}  // namespace rpnb
