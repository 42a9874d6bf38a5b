// Naive Bayes on binned features.
//
// Each scaled feature falls into one of 16 bins, which a normal feature would fill
// equally: bin v holds the z_j that exceed v of the 15 normal quantiles i/16. With
// C[j, v, c] the weight of the rows of class c in bin v of feature j, and p' the number
// of features that are not missing,
//
//   score_c = log(n_c + 1) − p' log(n_c + 2) + Σ_j log(C[j, v_j, c] + 2/16)
//
// that is the class's frequency times the product of its bin frequencies, each with a
// Dirichlet prior of 2 rows (Yang & Webb, "Discretization for naive-Bayes learning",
// 2009, on why few bins of equal frequency suffice). Missing values are left out of the
// product.
//
// With more than 10⁶ pairs of feature and class the scores are the class frequencies only.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

struct BinnedBayes final : Member {
  Array<bool, 1> active;
  Array<double, 1> class_weight;  // weight n_c
  Array<float, 3> bins;           // (p, 16, C) weight of rows; C is M up to a multiple of 8
  Array<float, 3> logs;           // (p, 16, C) log(bins + 2/16)
  Array<double, 1> log_class;     // log(n_c + 1)
  Array<double, 1> log_bins;      // log(n_c + 2)

  static constexpr auto fields() {
    return std::tuple{field("active", &BinnedBayes::active, "M"),
                      field("class_weight", &BinnedBayes::class_weight, "M"),
                      field("bins", &BinnedBayes::bins, "p 16 C"),
                      field("logs", &BinnedBayes::logs, "p 16 C"),
                      field("log_class", &BinnedBayes::log_class, "M"),
                      field("log_bins", &BinnedBayes::log_bins, "M")};
  }

  static BinnedBayes begin(const Shape& shape, Vector<const bool> active);
  // Recompute the logarithms of all counts, with the bits that they get by learning rows.
  void derive();

  void score_rows(const Rows& rows, const Scores& scores) const override;
  void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return true; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;
};

}  // namespace rpnb
