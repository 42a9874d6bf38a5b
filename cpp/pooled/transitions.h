// Which class follows which: a Markov chain of the labels.
//
//   score_c = log (T[a, c] + 2((1 − κ)π_c + κ[c = a])) / (Σ_c T[a, c] + 2)
//   κ = max(0, (Σ_c T[c, c] − Σ_c n_c π_c) / (Σ_c n_c (1 − π_c) + 2))
//
// with T[a, c] the weight of rows of class c that were learned right after a row of class a,
// and a the class of the last row learned (Markov 1913), smoothed by two rows. It helps if
// labels are autocorrelated. κ measures how much more often than by chance a label repeats,
// over all classes (as Cohen's kappa, "A coefficient of agreement for nominal scales", 1960,
// measures agreement): so a new class is expected to repeat as others did.
//
// If labels are d rows late, the last known label is d + 1 rows older than the row to be
// predicted, and T counts pairs that are d + 1 rows apart.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

struct Transitions final : Member {
  Array<bool, 1> active;
  Array<double, 1> class_weight;  // weight of the rows of each class
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
  // Write log π_c, the scores before the first row.
  void score_unordered(const Rows& rows, const Scores& scores) const override;
  void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return false; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;
};

}  // namespace rpnb
