// Transitions: which class follows which.
//
//   score_c = log (T[a, c] + 2((1 − κ)π_c + κ[c = a])) / (Σ_c T[a, c] + 2)
//   κ = max(0, (Σ_c T[c, c] − Σ_c n_c π_c) / (Σ_c n_c (1 − π_c) + 2))
//
// with T[a, c] the weight of rows of class c learned next after a row of class a, and a
// the class of the last row learned: a Markov chain on the labels (Markov 1913), smoothed
// by two rows. It helps where labels are autocorrelated. κ is how much more often a label
// is followed by itself than by chance, over all classes (as Cohen's kappa is for two
// raters, "A coefficient of agreement for nominal scales", 1960): a class that has just
// appeared for the first time stays as long as others did.
//
// Where labels come d rows late, the last label known is that of d + 1 rows before the
// row that is predicted, and T counts pairs that are d + 1 rows apart.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

struct Transitions final : Member {
  Array<bool, 1> active;
  Array<double, 1> class_weight;  // weight learned of each class
  Array<double, 2> pairs;         // weight of rows of the second class after the first
  Array<std::int64_t, 1> last;    // classes of the last d + 1 rows, newest first, or −1

  static constexpr auto fields() {
    return std::tuple{field("active", &Transitions::active, "M"),
                      field("class_weight", &Transitions::class_weight, "M"),
                      field("pairs", &Transitions::pairs, "M M"),
                      field("last", &Transitions::last, "delay+1")};
  }

  static Transitions begin(const Shape& shape, Vector<const bool> active);

  void score_rows(const Rows& rows, const Scores& scores) const override;
  // log π_c, as before the first row.
  void score_unordered(const Rows& rows, const Scores& scores) const override;
  void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return false; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;
};

}  // namespace rpnb
