// Tiles: small arrays of vectors that a kernel keeps in registers across a loop.
#pragma once

#include <utility>

namespace rpnb {

// Number of vector registers of this instruction set.
#if defined(__AVX512VL__)
inline constexpr int kRegisters = 32;
#else
inline constexpr int kRegisters = 16;
#endif

// R × W vectors, as the sums of a tile of a product of matrices.
//
// All loops over a tile are unrolled by templates: g++ keeps an array in registers only if all
// indices are compile-time constants.
template <class V, int R, int W>
class Tile {
 public:
  // Call `function(r, w, vector)` with each vector, row by row.
  template <class Function>
  [[gnu::always_inline]] void for_each(Function&& function) {
    visit(function, std::make_integer_sequence<int, R * W>{});
  }

 private:
  template <class Function, int... I>
  [[gnu::always_inline]] void visit(Function&& function, std::integer_sequence<int, I...>) {
    (function(I / W, I % W, vectors_[I / W][I % W]), ...);
  }

  V vectors_[R][W] = {};
};

}  // namespace rpnb
