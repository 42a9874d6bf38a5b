// Arrays in C order: non-owning views, and arrays that own their memory.
//
// Axes have the letters of the paper, as in rpnb/core/kernels/arrays.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#ifdef RPNB_CHECKED
#include <cstdio>
#include <cstdlib>
#endif

namespace rpnb {

using Index = std::ptrdiff_t;

// Abort if an index is out of range. Only in sanitizer builds (RPNB_CHECKED): indices from
// outside are checked where they enter the core.
inline void check_index([[maybe_unused]] Index i, [[maybe_unused]] Index size) {
#ifdef RPNB_CHECKED
  if (i < 0 || i >= size) {  // GCOVR_EXCL_START
    std::fprintf(stderr, "index %td is outside an axis of size %td\n", i, size);
    std::abort();
  }  // GCOVR_EXCL_STOP
#endif
}

// A non-owning view of a contiguous array with N axes.
template <class T, int N>
class View {
 public:
  View() = default;
  View(T* data, const std::array<Index, N>& shape) : data_(data), shape_(shape) {}

  // A read-only view of the same array, as T* converts to const T*.
  template <class U>
    requires(std::is_same_v<T, const U>)
  View(const View<U, N>& other) : data_(other.data()), shape_(other.shape()) {}

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] const std::array<Index, N>& shape() const { return shape_; }
  [[nodiscard]] Index size(int axis = 0) const { return shape_[axis]; }
  [[nodiscard]] Index total() const {
    Index count = 1;
    for (const Index length : shape_) count *= length;
    return count;
  }

  // Element i, or the subarray at index i of the first axis.
  decltype(auto) operator[](Index i) const {
    check_index(i, shape_[0]);
    if constexpr (N == 1) {
      return (data_[i]);
    } else {
      std::array<Index, N - 1> rest;
      Index stride = 1;
      for (int axis = 1; axis < N; ++axis) {
        rest[axis - 1] = shape_[axis];
        stride *= shape_[axis];
      }
      return View<T, N - 1>(data_ + i * stride, rest);
    }
  }

  // The element at these indices, one for each axis.
  template <class... I>
    requires(sizeof...(I) == N)
  T& operator()(I... indices) const {
    const std::array<Index, N> at{static_cast<Index>(indices)...};
    Index place = 0;
    for (int axis = 0; axis < N; ++axis) {
      check_index(at[axis], shape_[axis]);
      place = place * shape_[axis] + at[axis];
    }
    return data_[place];
  }

  // Rows `first` to `last`, the latter excluded.
  [[nodiscard]] View slice(Index first, Index last) const {  // GCOVR_EXCL_LINE: inlined checks
    check_index(first, shape_[0] + 1);
    check_index(last, shape_[0] + 1);
    auto shape = shape_;
    shape[0] = last - first;
    Index stride = 1;
    for (int axis = 1; axis < N; ++axis) stride *= shape_[axis];
    return View(data_ + first * stride, shape);
  }

  // The same elements with another shape of the same size.
  template <class... I>
  [[nodiscard]] View<T, sizeof...(I)> reshaped(I... lengths) const {
    return {data_, {static_cast<Index>(lengths)...}};
  }

  void fill(const std::remove_const_t<T>& value) const {
    const Index count = total();
    for (Index i = 0; i < count; ++i) data_[i] = value;
  }

  [[nodiscard]] T* begin() const { return data_; }
  [[nodiscard]] T* end() const { return data_ + total(); }

 private:
  T* data_ = nullptr;
  std::array<Index, N> shape_{};
};

template <class T>
using Vector = View<T, 1>;
template <class T>
using Matrix = View<T, 2>;

inline constexpr std::size_t kAlignment = 64;

struct AlignedDelete {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{kAlignment});
  }
};
using AlignedMemory = std::unique_ptr<std::byte[], AlignedDelete>;

inline AlignedMemory allocate_aligned(std::size_t bytes) {
  const std::size_t least = bytes > 0 ? bytes : 1;
  return AlignedMemory(
      static_cast<std::byte*>(::operator new[](least, std::align_val_t{kAlignment})));
}

// An array that owns its memory: aligned to a cache line, initially zero.
template <class T, int N>
class Array : public View<T, N> {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() : Array(std::array<Index, N>{}) {}
  explicit Array(const std::array<Index, N>& shape)
      : Array(allocate_aligned(bytes_of(shape)), shape) {
    std::memset(static_cast<void*>(this->data()), 0, bytes_of(shape));
  }
  // Not copyable, so that `auto view = record.array` does not copy by accident.
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  Array(Array&&) noexcept = default;
  Array& operator=(Array&&) noexcept = default;
  ~Array() = default;

 private:
  Array(AlignedMemory memory, const std::array<Index, N>& shape)
      : View<T, N>(reinterpret_cast<T*>(memory.get()), shape), memory_(std::move(memory)) {}

  static std::size_t bytes_of(const std::array<Index, N>& shape) {
    std::size_t count = sizeof(T);
    for (const Index length : shape) count *= static_cast<std::size_t>(length);
    return count;
  }

  AlignedMemory memory_;
};

}  // namespace rpnb
