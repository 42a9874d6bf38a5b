// Records: the state of a learner as a list of named arrays, written down once.
//
// A record is a struct of Arrays with a function that lists them:
//
//     struct Transitions {
//       Array<bool, 1> active;
//       Array<double, 2> pairs;
//
//       static constexpr auto fields() {
//         return std::tuple{field("active", &Transitions::active, "M"),
//                           field("pairs", &Transitions::pairs, "M M")};
//       }
//     };
//
// From that list Python gets the constructor, which checks types and shapes, and views of
// the arrays without copies (bindings/record.h); files, merging and growing are Python on
// these views.
#pragma once

#include <tuple>

#include "array.h"

namespace rpnb {

// An array of record R: its name, where it is, and its axes, separated by blanks.
//
// An axis is a number, a letter, or "*" for any length. A letter stands for the same
// length in all fields of a record; what follows it is added ("K+1").
template <class R, class T, int N>
struct Field {
  using Value = T;
  static constexpr int kAxes = N;

  const char* name;
  Array<T, N> R::* member;
  const char* axes;
};

template <class R, class T, int N>
constexpr Field<R, T, N> field(const char* name, Array<T, N> R::* member, const char* axes) {
  return {name, member, axes};
}

// Call `function` with each field of a record.
template <class R, class Function>
constexpr void for_each_field(Function&& function) {
  std::apply([&](const auto&... fields) { (function(fields), ...); }, R::fields());
}

}  // namespace rpnb
