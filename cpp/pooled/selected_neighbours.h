// Nearest neighbours by the few most informative features.
//
// Where most of many features are noise, distances in all of them, or in random
// projections, are noise as well. Each feature is cut into 8 bins at the normal quantiles
// i/8, and with C[v, c] the weight of class c in bin v, among N of all rows, its mutual
// information with the class is
//
//   I = Σ_{v,c} C[v, c]/N · log(C[v, c] N / (C_v C_c))
//
// 2NI is about χ² with f = 7 (M' − 1) degrees of freedom where a feature is independent of
// the class (Wilks 1938), M' the number of classes seen. Features with 2NI > f + 5 √(2f),
// the 4 to 32 best, are selected, and their squared differences weighted by the excess of
// I over f/2N, relative to the best. The selection is repeated when the number of rows has
// grown by a quarter. The score is that of nearest.h, among the last 1,000 rows, fewer if
// p > 1,048.
//
// Selection by mutual information follows Lewis, "Feature selection and feature extraction
// for text categorization" (1992); threshold and weights are our own. The member is used if
// p > 32; with more than 200,000 pairs of a feature and a class, its scores are the class
// frequencies only.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

struct SelectedNeighbours final : Member {
  // Most rows that are kept.
  static constexpr Index kRows = 1000;
  // Slots, in whole blocks.
  static constexpr Index kSlots = 1024;
  // Bounds of the number of selected features.
  static constexpr Index kLeast = 4;
  static constexpr Index kMost = 32;
  static constexpr Index kBins = 8;
  // Most pairs of a feature and a class.
  static constexpr Index kMostPairs = 200'000;

  Array<bool, 1> active;
  Array<double, 1> class_weight;  // weight learned of each class
  Array<double, 3> counts;        // weight of each class in each bin; p = 0: too many pairs
  Array<float, 2> rows;           // the last R rows; row t is in slot t mod R
  Array<std::int64_t, 1> labels;  // their classes
  Array<double, 1> weight;
  Array<std::int64_t, 1> chosen;  // the features selected, −1 where there are fewer
  Array<float, 1> relevance;      // square roots of the weights of their differences
  Array<float, 2> near;           // the rows kept in these features, times `relevance`
  Array<std::int64_t, 1> clock;   // rows learned, and the number at which to select again

  static constexpr auto fields() {
    using Record = SelectedNeighbours;
    return std::tuple{field("active", &Record::active, "M"),
                      field("class_weight", &Record::class_weight, "M"),
                      field("counts", &Record::counts, "p 8 M"),
                      field("rows", &Record::rows, "R p"),
                      field("labels", &Record::labels, "R"),
                      field("weight", &Record::weight, "R"),
                      field("chosen", &Record::chosen, "32"),
                      field("relevance", &Record::relevance, "32"),
                      field("near", &Record::near, "32 1024"),
                      field("clock", &Record::clock, "2")};
  }
  // Throw std::invalid_argument unless the arrays fit together.
  void check() const;

  // The number R of rows kept, for rows of p features.
  static Index rows_kept(Index p);
  static SelectedNeighbours begin(const Shape& shape, Vector<const bool> active);

  // Select features by their mutual information, and schedule the next selection.
  void select();

  void score_rows(const Rows& given, const Scores& scores) const override;
  void learn_rows(const Rows& given, const Labels& known, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return true; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;
};

}  // namespace rpnb
