// Linear discriminants with a shared covariance on rectified random projections.
//
// Formulas are in discriminant.h. V is recomputed when the number of rows learned has grown
// by an eighth; after row 256 by a fifth, at most by 4,096, and only at the end of a group of
// 128 rows (64 up to row 1,024). Up to 256 rows are collected before they are added to
// A = Σφφᵀ. While there are at most 256 rows, fewer than φ has columns, V is computed from
// inner products of rows (row_discriminants.h).
#pragma once

#include "../record.h"
#include "algebra/outer_products.h"
#include "member.h"

namespace rpnb {

struct SharedCovariance final : Member {
  // Most rows that are kept. V of the first ones is computed from their inner products.
  static constexpr Index kFirst = 256;

  Array<bool, 1> active;
  Array<double, 1> class_weight;     // weight of the rows of each class
  Array<double, 1> log_count;        // log(class_weight + ½)
  Array<double, 2> B;                // sum of φ of each class
  Array<double, 1> A;                // sum of φφᵀ of all rows except those kept, in blocks
  Array<float, 2> V;                 // the directions; C is M rounded up to a multiple of 8
  Array<float, 1> offset;            // the constants
  Array<float, 1> kept;              // rows of φ not yet in A: [block of 16 columns][row][16]
  Array<std::int64_t, 1> labels;     // their classes
  Array<double, 1> weight;           // their weights
  Array<float, 2> gram;              // inner products of the first rows, lower triangle
  Array<std::int64_t, 1> done;       // rows whose inner products are computed
  Array<std::int64_t, 1> pending;    // rows kept
  Array<std::int64_t, 1> seen;       // rows learned
  Array<std::int64_t, 1> next;       // value of `seen` at which V is recomputed
  Array<std::int64_t, 1> dimension;  // columns of φ that are not padding

  static constexpr auto fields() {
    using S = SharedCovariance;
    return std::tuple{field("active", &S::active, "M"),
                      field("class_weight", &S::class_weight, "M"),
                      field("log_count", &S::log_count, "M"),
                      field("B", &S::B, "M E"),
                      field("A", &S::A, "*"),
                      field("V", &S::V, "E C"),
                      field("offset", &S::offset, "C"),
                      field("kept", &S::kept, "*"),
                      field("labels", &S::labels, "256"),
                      field("weight", &S::weight, "256"),
                      field("gram", &S::gram, "256 256"),
                      field("done", &S::done, "1"),
                      field("pending", &S::pending, "1"),
                      field("seen", &S::seen, "1"),
                      field("next", &S::next, "1"),
                      field("dimension", &S::dimension, "1")};
  }

  static SharedCovariance begin(const Shape& shape, Vector<const bool> active);

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
  // Recompute the values derived from the sums: the logarithms of the counts, and V.
  void refresh_all();
  // Add labelled rows to the sums only, in groups of 128.
  void sum_rows(Matrix<const float> phi, const Labels& labels);

 private:
  [[nodiscard]] PackedRows<float> packed() const;
  void check_counters() const;
  void check_rows(Matrix<const float> phi) const;
  void keep(Vector<const float> phi, std::int64_t y, double w);
  void add_pending();
  void refresh();
  void refresh_from_rows();
};

// The number of rows after which V is next recomputed, if it was after `seen`.
Index next_refresh(Index seen);

}  // namespace rpnb
