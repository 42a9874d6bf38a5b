// Nearest neighbours among the last 500 rows, projected to 32 dimensions if there are more.
//
// The score is that of nearest.h.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

struct Neighbours final : Member {
  // Rows kept.
  static constexpr Index kRows = 500;
  // Slots, in whole blocks; the last ones are not used.
  static constexpr Index kSlots = 512;

  Array<bool, 1> active;
  Array<double, 1> class_weight;  // weight learned of each class
  Array<float, 2> rows;           // the rows kept, feature by feature
  Array<std::int64_t, 1> labels;  // their classes
  Array<double, 1> weight;
  Array<std::int64_t, 1> seen;  // rows learned; row t is in slot t mod 500

  static constexpr auto fields() {
    return std::tuple{field("active", &Neighbours::active, "M"),
                      field("class_weight", &Neighbours::class_weight, "M"),
                      field("rows", &Neighbours::rows, "d 512"),
                      field("labels", &Neighbours::labels, "512"),
                      field("weight", &Neighbours::weight, "512"),
                      field("seen", &Neighbours::seen, "1")};
  }
  // Throw std::invalid_argument unless the labels of the rows are classes.
  void check() const;

  static Neighbours begin(const Shape& shape, Vector<const bool> active);

  void score_rows(const Rows& given, const Scores& scores) const override;
  void learn_rows(const Rows& given, const Labels& known, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return true; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;
};

}  // namespace rpnb
