// Linear discriminants with a fading shared covariance.
//
// The same as shared_covariance.h on fewer columns of φ: the features themselves (up to
// 64) and 32 projections, or 128 projections if there are more features. After row 256,
// every 64 rows, all sums are multiplied by (1 − 1/300)⁶⁴ and the discriminants
// recomputed; until then, they are recomputed when the number of rows has grown by an
// eighth.
#pragma once

#include "../record.h"
#include "algebra/outer_products.h"
#include "member.h"

namespace rpnb {

struct FadingCovariance final : Member {
  // Rows after which the sums fade.
  static constexpr Index kGroup = 64;

  Array<bool, 1> active;
  Array<double, 1> class_weight;   // faded weight of each class
  Array<double, 1> log_count;      // log(class_weight + ½)
  Array<double, 2> B;              // sum of φ of each class
  Array<double, 1> A;              // sum of φφᵀ of all rows except those kept, in blocks
  Array<float, 2> V;               // the directions; C is M rounded up to a multiple of 8
  Array<float, 1> offset;          // the constants
  Array<float, 1> kept;            // rows not yet in A: [block of 16 columns][row][16]
  Array<double, 1> weight;         // their weights
  Array<std::int64_t, 1> pending;  // rows kept
  Array<std::int64_t, 1> seen;     // rows learned
  Array<std::int64_t, 1> next;     // value of `seen` at which V is recomputed
  Array<std::int64_t, 1> columns;  // of φ that are used; E is their number, rounded up

  static constexpr auto fields() {
    using S = FadingCovariance;
    return std::tuple{field("active", &S::active, "M"),
                      field("class_weight", &S::class_weight, "M"),
                      field("log_count", &S::log_count, "M"),
                      field("B", &S::B, "M E"),
                      field("A", &S::A, "*"),
                      field("V", &S::V, "E C"),
                      field("offset", &S::offset, "C"),
                      field("kept", &S::kept, "*"),
                      field("weight", &S::weight, "64"),
                      field("pending", &S::pending, "1"),
                      field("seen", &S::seen, "1"),
                      field("next", &S::next, "1"),
                      field("columns", &S::columns, "*")};
  }

  static FadingCovariance begin(const Shape& shape, Vector<const bool> active);

  // Throw std::invalid_argument unless the arrays fit together.
  void check() const;

  void score_rows(const Rows& rows, const Scores& scores) const override;
  void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return true; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;

  // Add all rows kept to A.
  void settle();
  // Recompute V from the sums.
  void refresh();

 private:
  [[nodiscard]] PackedRows<float> packed() const;
  void check_counters() const;
  void gather(Matrix<const float> phi, Matrix<float> rows) const;
  void keep(Vector<const float> row, std::int64_t y, double w);
  void forget();
};

}  // namespace rpnb
