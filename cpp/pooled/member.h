// The interface of the pool's members, and the types of its arguments.
//
// A member is a record of arrays that scores and learns rows. The rules for all of them are
// in rpnb/core/pooled/member.py.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../array.h"

namespace rpnb {

// A block of n rows in the forms that members read.
struct Rows {
  Matrix<const double> raw;  // (n, p) as given, NaN where missing
  Matrix<const float> z;     // (n, p) scaled and clipped, 0 where missing
  Matrix<const float> low;   // (n, d) z, or a random projection of it where p > 32
  Matrix<const float> phi;   // (n, E) rectified random projections

  [[nodiscard]] Index size() const { return raw.size(); }
};

// The classes and weights of a block of rows; empty if nothing is learned.
struct Labels {
  Vector<const std::int64_t> y;  // (n,) −1 for a row that is only scored
  Vector<const double> weight;   // (n,)

  [[nodiscard]] bool known(Index i) const { return y.size() > 0 && y[i] >= 0; }
};

// The destination of a member's scores of a block, among those of all members.
class Scores {
 public:
  // Outputs from `first` on in an array (n, K, M); n is 0 if none are requested.
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

// The sizes that, with the number of classes, determine the shapes of states.
struct Shape {
  Index p;          // features of a row
  Index d;          // columns of `low`
  Index E;          // columns of `phi`
  Index dimension;  // columns of `phi` that are not padding
  Index D;          // random projections among these
  Index dense;      // dense projections, which come first; the others are sparse
  Index window;     // most rows that a member with a window keeps; 0 for its default
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

  // Write the scores of each row without learning.
  virtual void score_rows(const Rows& rows, const Scores& scores) const = 0;

  // Write the scores of rows that are unrelated to the stream, without learning: they must
  // not depend on which rows were learned last.
  virtual void score_unordered(const Rows& rows, const Scores& scores) const {
    score_rows(rows, scores);
  }

  // Score each row, then learn it, in order.
  //
  // No scores are requested when the first rows, all of them labelled, are learned again
  // with another scale; values derived from sums may then be computed once, at the end.
  virtual void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) = 0;

  // The number of scores per class that the member gives to the pool.
  [[nodiscard]] virtual Index outputs() const { return 1; }
  // The number M of classes.
  [[nodiscard]] virtual Index classes() const = 0;
  // Throw std::invalid_argument unless rows of this shape fit the state.
  virtual void check_shape(const Shape& shape) const = 0;
  // Whether it reads anything but `raw`, and so restarts when the scale changes.
  [[nodiscard]] virtual bool uses_scale() const = 0;
  // An initial member of the same kind and number of classes.
  [[nodiscard]] virtual std::shared_ptr<Member> begin_again(const Shape& shape,
                                                            Vector<const bool> active,
                                                            std::uint64_t seed) const = 0;
};

// Throw std::invalid_argument, naming `what`, unless its length is as expected.
void require_length(const char* what, Index found, Index expected);

// Copy values into a record's array of the same shape.
template <class T, int N>
void copy_into(const View<T, N>& to, const View<const std::remove_const_t<T>, N>& from) {
  for (Index i = 0; i < from.total(); ++i) to.data()[i] = from.data()[i];
}

}  // namespace rpnb
