// What every member of the pool can do, and what it is given.
//
// A member is a record of arrays that scores rows and learns them. The rules that all of
// them keep are in rpnb/core/pooled/member.py.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../array.h"

namespace rpnb {

// A block of n rows, as members see them.
struct Rows {
  Matrix<const double> raw;  // (n, p) as given, NaN where missing
  Matrix<const float> z;     // (n, p) scaled and clipped, 0 where missing
  Matrix<const float> low;   // (n, d) z, or a random projection of it where p > 32
  Matrix<const float> phi;   // (n, E) rectified random projections

  [[nodiscard]] Index size() const { return raw.size(); }
};

// The classes and weights of a block of rows; no entries where nothing is learned.
struct Labels {
  Vector<const std::int64_t> y;  // (n,) −1 for a row that is only scored
  Vector<const double> weight;   // (n,)

  [[nodiscard]] bool known(Index i) const { return y.size() > 0 && y[i] >= 0; }
};

// Where a member writes the scores of a block: its outputs among those of all members.
class Scores {
 public:
  // Outputs `first` and following of an array (n, K, M); n is 0 if none are wanted.
  explicit Scores(const View<double, 3>& all, Index first = 0) : all_(all), first_(first) {}

  [[nodiscard]] bool wanted() const { return all_.size(0) > 0; }
  [[nodiscard]] Index rows() const { return all_.size(0); }
  [[nodiscard]] Index classes() const { return all_.size(2); }

  // The scores (M,) of a row by one of the member's outputs.
  [[nodiscard]] Vector<double> operator()(Index row, Index output = 0) const {
    return all_[row][first_ + output];
  }

 private:
  View<double, 3> all_;
  Index first_;
};

// What the shapes of states depend on, besides the number of classes.
struct Shape {
  Index p;          // features of a row
  Index d;          // columns of `low`
  Index E;          // columns of `phi`
  Index dimension;  // those of them that are not just padding
  Index D;          // random projections among them
  Index dense;      // the first of these that are dense; the others are sparse
  Index window;     // rows that a member with a window keeps at most; 0: its default
  Index delay;      // rows between the prediction of a row and the arrival of its label

  bool operator==(const Shape&) const = default;
};

class Member {
 public:
  Member() = default;
  Member(const Member&) = default;
  Member(Member&&) = default;
  Member& operator=(const Member&) = default;
  Member& operator=(Member&&) = default;
  virtual ~Member() = default;

  // Write the scores of each row; learn nothing.
  virtual void score_rows(const Rows& rows, const Scores& scores) const = 0;

  // Write the scores of rows in no order, which follow no row that was learned: they may
  // not depend on which rows were learned last. Learn nothing.
  virtual void score_unordered(const Rows& rows, const Scores& scores) const {
    score_rows(rows, scores);
  }

  // Score each row, then learn it, in order.
  //
  // Without wanted scores this only learns the first rows, all of them labelled, again
  // from the beginning with another scale: what is derived from sums may then be
  // computed once, at the end.
  virtual void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) = 0;

  // The number of score columns that the member gives to the pool.
  [[nodiscard]] virtual Index outputs() const { return 1; }
  // The number M of classes.
  [[nodiscard]] virtual Index classes() const = 0;
  // Throw std::invalid_argument unless rows of this shape fit the state.
  virtual void check_shape(const Shape& shape) const = 0;
  // Whether it reads anything but `raw`, and so begins again with a new scale.
  [[nodiscard]] virtual bool uses_scale() const = 0;
  // A member that has learned nothing, of the same number of classes.
  [[nodiscard]] virtual std::shared_ptr<Member> begin_again(const Shape& shape,
                                                            Vector<const bool> active,
                                                            std::uint64_t seed) const = 0;
};

// Throw unless `found`, the length of something that `what` names, is as long as expected.
void require_length(const char* what, Index found, Index expected);

// Copy values into a record's array of the same shape.
template <class T, int N>
void copy_into(const View<T, N>& to, const View<const std::remove_const_t<T>, N>& from) {
  for (Index i = 0; i < from.total(); ++i) to.data()[i] = from.data()[i];
}

}  // namespace rpnb
