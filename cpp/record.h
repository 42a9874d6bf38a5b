// Records: the state of a learner as a list of named arrays, declared once.
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
// From this list bindings/record.h generates a Python class, whose constructor checks types
// and shapes, and whose attributes are views without copies. Saving, merging and growing are
// written in Python, on these views.
#pragma once

#include <tuple>

#include "array.h"

namespace rpnb {

// An array of record R: its name, its address, and its axes, separated by blanks.
//
// An axis is a number, a name, or "*" for any length. A name stands for the same length in
// all fields of a record; a number may be added to it ("K+1").
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
