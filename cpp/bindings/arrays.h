// NumPy arrays enter the core as views and leave it as views.
//
// An argument of type View<T, N> accepts an array of exactly this type and number of axes,
// in C order, and writable unless T is const. Arrays are never converted, since results
// would then be written to a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "../array.h"

namespace nb = nanobind;

namespace rpnb {

template <class T, int N>
using NumpyArray = nb::ndarray<nb::numpy, T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// A NumPy array that views memory of `owner` and keeps it alive.
template <class T, int N>
NumpyArray<T, N> show(const View<T, N>& view, nb::handle owner) {
  std::array<std::size_t, N> shape;
  for (int axis = 0; axis < N; ++axis) shape[axis] = static_cast<std::size_t>(view.size(axis));
  return NumpyArray<T, N>(view.data(), N, shape.data(), owner);
}

}  // namespace rpnb

namespace nanobind::detail {

template <class T, int N>
struct type_caster<rpnb::View<T, N>> {
  using Caster = make_caster<ndarray<T, ndim<N>, c_contig, device::cpu>>;
  using Shown = rpnb::View<T, N>;
  NB_TYPE_CASTER(Shown, Caster::Name)

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    flags &= static_cast<std::uint8_t>(~static_cast<std::uint8_t>(cast_flags::convert));
    if (!held.from_python(source, flags, cleanup)) return false;
    std::array<rpnb::Index, N> shape;
    for (int axis = 0; axis < N; ++axis) {
      shape[axis] = static_cast<rpnb::Index>(held.value.shape(axis));
    }
    value = rpnb::View<T, N>(held.value.data(), shape);
    return true;
  }

 private:
  Caster held;  // keeps the array alive during the call
};

}  // namespace nanobind::detail
