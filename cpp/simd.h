// Vectors of eight singles or four doubles.
//
// The compiler vectorises simple loops by itself, but not loops over many arrays that may
// overlap, and it never keeps a tile of sums in registers across a loop. Kernels that gain
// from either use these vectors. The number of lanes, and with it the bits of the results,
// is the same on every processor: if registers are narrower, the compiler uses two.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "array.h"

namespace rpnb {

using Singles = float __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(32)));
inline constexpr Index kSingles = 8;
inline constexpr Index kDoubles = 4;

// Sixteen 16-bit integers, that is eight pairs, and eight sums of products of pairs.
using Pairs = std::int16_t __attribute__((vector_size(32)));
using Sums = std::int32_t __attribute__((vector_size(32)));
inline constexpr Index kPairs = 8;

[[gnu::always_inline]] inline Singles repeat(float value) { return value - Singles{}; }
[[gnu::always_inline]] inline Doubles repeat(double value) { return value - Doubles{}; }

[[gnu::always_inline]] inline Singles load(const float* from) {
  Singles value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
[[gnu::always_inline]] inline Doubles load(const double* from) {
  Doubles value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
[[gnu::always_inline]] inline Pairs load(const std::int16_t* from) {
  Pairs value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Two doubles from one place and two from another.
[[gnu::always_inline]] inline Doubles load_halves(const double* low, const double* high) {
#if defined(__AVX__)
  // One instruction loads and inserts the second half.
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
#else
  return Doubles{low[0], low[1], high[0], high[1]};
#endif
}

// Two adjacent columns of four rows that are `stride` apart.
struct TwoColumns {
  Doubles first;
  Doubles second;
};
[[gnu::always_inline]] inline TwoColumns load_columns(const double* from, Index stride) {
  const Doubles even = load_halves(from, from + 2 * stride);
  const Doubles odd = load_halves(from + stride, from + 3 * stride);
  return {__builtin_shufflevector(even, odd, 0, 4, 2, 6),
          __builtin_shufflevector(even, odd, 1, 5, 3, 7)};
}

// Half a vector of singles: as many lanes as a vector of doubles.
using HalfSingles = float __attribute__((vector_size(16)));

// Four singles as doubles, and the reverse, by intrinsics: g++ 12 would convert each half of a
// vector separately.
[[gnu::always_inline]] inline Doubles widened(HalfSingles value) {
#if defined(__AVX__)
  return _mm256_cvtps_pd(value);
#else
  return __builtin_convertvector(value, Doubles);
#endif
}
[[gnu::always_inline]] inline HalfSingles narrowed(Doubles value) {
#if defined(__AVX__)
  return _mm256_cvtpd_ps(value);
#else
  return __builtin_convertvector(value, HalfSingles);
#endif
}
[[gnu::always_inline]] inline Doubles load_widened(const float* from) {
  HalfSingles value;
  std::memcpy(&value, from, sizeof value);
  return widened(value);
}

[[gnu::always_inline]] inline void store(float* to, Singles value) {
  std::memcpy(to, &value, sizeof value);
}
[[gnu::always_inline]] inline void store(double* to, Doubles value) {
  std::memcpy(to, &value, sizeof value);
}
[[gnu::always_inline]] inline void store(std::int32_t* to, Sums value) {
  std::memcpy(to, &value, sizeof value);
}

// a·b + c, rounded once.
[[gnu::always_inline]] inline Singles fused(Singles a, Singles b, Singles c) {
#if defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  Singles result;
  for (int lane = 0; lane < kSingles; ++lane) {
    result[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  }
  return result;
#endif
}
[[gnu::always_inline]] inline Doubles fused(Doubles a, Doubles b, Doubles c) {
#if defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#else
  Doubles result;
  for (int lane = 0; lane < kDoubles; ++lane) {
    result[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
  }
  return result;
#endif
}

// The sum of the lanes, one after the other.
[[gnu::always_inline]] inline double sum(Doubles value) {
  return ((value[0] + value[1]) + value[2]) + value[3];
}

// The first four lanes plus the last four, in double precision.
[[gnu::always_inline]] inline Doubles fold(Singles value) {
  HalfSingles low;
  HalfSingles high;
  std::memcpy(&low, &value, sizeof low);
  std::memcpy(&high, reinterpret_cast<const char*>(&value) + sizeof low, sizeof high);
  return widened(low) + widened(high);
}

// The sum of the lanes, taken in double precision.
[[gnu::always_inline]] inline double sum(Singles value) { return sum(fold(value)); }

// The sums of the lanes of four vectors, each as `sum` takes it.
[[gnu::always_inline]] inline Doubles sum_each(Doubles a, Doubles b, Doubles c, Doubles d) {
  const Doubles ab02 = __builtin_shufflevector(a, b, 0, 4, 2, 6);
  const Doubles ab13 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Doubles cd02 = __builtin_shufflevector(c, d, 0, 4, 2, 6);
  const Doubles cd13 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  const Doubles lane0 = __builtin_shufflevector(ab02, cd02, 0, 1, 4, 5);
  const Doubles lane1 = __builtin_shufflevector(ab13, cd13, 0, 1, 4, 5);
  const Doubles lane2 = __builtin_shufflevector(ab02, cd02, 2, 3, 6, 7);
  const Doubles lane3 = __builtin_shufflevector(ab13, cd13, 2, 3, 6, 7);
  return ((lane0 + lane1) + lane2) + lane3;
}

// The lanes of two vectors, rounded to single precision, as one.
[[gnu::always_inline]] inline Singles narrowed(Doubles first, Doubles second) {
  return __builtin_shufflevector(narrowed(first), narrowed(second), 0, 1, 2, 3, 4, 5, 6, 7);
}

// Four words of 64 bits.
using Words = std::uint64_t __attribute__((vector_size(32)));
inline constexpr Index kWords = 4;

[[gnu::always_inline]] inline Words load(const std::uint64_t* from) {
  Words value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The product of the low 32 bits of each word and a factor of 32 bits.
[[gnu::always_inline]] inline std::uint64_t multiply_halves(std::uint64_t word,
                                                            std::uint32_t factor) {
  return (word & 0xFFFFFFFF) * factor;
}
[[gnu::always_inline]] inline Words multiply_halves(Words word, std::uint32_t factor) {
#if defined(__AVX2__)
  return std::bit_cast<Words>(
      _mm256_mul_epu32(std::bit_cast<__m256i>(word), _mm256_set1_epi64x(factor)));
#else
  return (word & 0xFFFFFFFF) * factor;
#endif
}

// The smaller and the larger of each two lanes; b where they cannot be compared.
template <class V>
[[gnu::always_inline]] inline V lesser(V a, V b) {
  return a < b ? a : b;
}
template <class V>
[[gnu::always_inline]] inline V greater(V a, V b) {
  return a > b ? a : b;
}

// `value` where it is between `low` and `high`, else the nearer of them.
[[gnu::always_inline]] inline Doubles limit(Doubles value, double low, double high) {
  return lesser(greater(value, repeat(low)), repeat(high));
}
inline double limit(double value, double low, double high) {
  const double raised = value > low ? value : low;
  return raised < high ? raised : high;
}

// x's lanes where a's are greater than b's, else y's.
[[gnu::always_inline]] inline Doubles where_greater(Doubles a, Doubles b, Doubles x, Doubles y) {
  return a > b ? x : y;
}

// In which lanes two vectors are equal, as bits.
[[gnu::always_inline]] inline unsigned equal_lanes(Doubles a, Doubles b) {
#if defined(__AVX__)
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)));
#else
  unsigned bits = 0;
  for (int lane = 0; lane < kDoubles; ++lane) {
    bits |= static_cast<unsigned>(a[lane] == b[lane]) << lane;
  }
  return bits;
#endif
}

// 1023 + e, and m, of positive normal values m·2ᵉ with 1 ≤ m < 2.
[[gnu::always_inline]] inline Doubles exponent(Doubles value) {
  using Words = std::int64_t __attribute__((vector_size(32)));
  // The bits of 2⁵² + k are those of 2⁵², or k.
  constexpr std::int64_t kBig = 0x4330000000000000;
  const Words bits = (std::bit_cast<Words>(value) >> 52) | kBig;
  return std::bit_cast<Doubles>(bits) - 0x1p52;
}
[[gnu::always_inline]] inline Doubles mantissa(Doubles value) {
  using Words = std::int64_t __attribute__((vector_size(32)));
  const Words bits = (std::bit_cast<Words>(value) & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000;
  return std::bit_cast<Doubles>(bits);
}
inline double exponent(double value) {
  return static_cast<double>(std::bit_cast<std::int64_t>(value) >> 52);
}
inline double mantissa(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
}

// For each pair, its sum plus a₀·b₀ + a₁·b₁; all must fit in 32 bits.
[[gnu::always_inline]] inline Sums add_pair_products(Pairs a, Pairs b, Sums sums) {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  return std::bit_cast<Sums>(_mm256_dpwssd_epi32(
      std::bit_cast<__m256i>(sums), std::bit_cast<__m256i>(a), std::bit_cast<__m256i>(b)));
#elif defined(__AVX2__)
  return sums + std::bit_cast<Sums>(
                    _mm256_madd_epi16(std::bit_cast<__m256i>(a), std::bit_cast<__m256i>(b)));
#else
  for (int pair = 0; pair < kPairs; ++pair) {
    sums[pair] +=
        std::int32_t{a[2 * pair]} * b[2 * pair] + std::int32_t{a[2 * pair + 1]} * b[2 * pair + 1];
  }
  return sums;
#endif
}

// The widest vectors of this instruction set.
//
// For kernels without operations across lanes: each entry of a result is its own chain of
// operations, so its bits do not depend on how many entries share a vector.
#if defined(__AVX512F__) && defined(__AVX512VNNI__)
using WideSingles = float __attribute__((vector_size(64)));
using WideDoubles = double __attribute__((vector_size(64)));
using WidePairs = std::int16_t __attribute__((vector_size(64)));
using WideSums = std::int32_t __attribute__((vector_size(64)));

[[gnu::always_inline]] inline WideSingles fused(WideSingles a, WideSingles b, WideSingles c) {
  return _mm512_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline WideDoubles fused(WideDoubles a, WideDoubles b, WideDoubles c) {
  return _mm512_fmadd_pd(a, b, c);
}
[[gnu::always_inline]] inline WideSums add_pair_products(WidePairs a, WidePairs b, WideSums sums) {
  return std::bit_cast<WideSums>(_mm512_dpwssd_epi32(
      std::bit_cast<__m512i>(sums), std::bit_cast<__m512i>(a), std::bit_cast<__m512i>(b)));
}
// g++ 12 does not keep vectors of this size in registers if they are copied by memcpy.
[[gnu::always_inline]] inline void store(float* to, WideSingles value) {
  _mm512_storeu_ps(to, value);
}
[[gnu::always_inline]] inline void store(double* to, WideDoubles value) {
  _mm512_storeu_pd(to, value);
}
// The sum of the lanes in any order; that of singles in double precision.
[[gnu::always_inline]] inline double sum(WideSingles value) {
  const auto halves = std::bit_cast<std::array<Singles, 2>>(value);
  return sum(fold(halves[0]) + fold(halves[1]));
}
[[gnu::always_inline]] inline double sum(WideDoubles value) {
  const auto halves = std::bit_cast<std::array<Doubles, 2>>(value);
  return sum(halves[0] + halves[1]);
}
// Singles as doubles.
[[gnu::always_inline]] inline WideDoubles load_wide_widened(const float* from) {
  return __builtin_convertvector(load(from), WideDoubles);
}
// Doubles as singles.
[[gnu::always_inline]] inline void store_narrowed(float* to, WideDoubles value) {
  store(to, __builtin_convertvector(value, Singles));
}
#else
using WideSingles = Singles;
using WideDoubles = Doubles;
using WidePairs = Pairs;
using WideSums = Sums;

[[gnu::always_inline]] inline WideDoubles load_wide_widened(const float* from) {
  return load_widened(from);
}
[[gnu::always_inline]] inline void store_narrowed(float* to, WideDoubles value) {
  using Four = float __attribute__((vector_size(16)));
  const Four narrow = __builtin_convertvector(value, Four);
  std::memcpy(to, &narrow, sizeof narrow);
}
#endif
inline constexpr Index kWideSingles = sizeof(WideSingles) / sizeof(float);
inline constexpr Index kWideDoubles = sizeof(WideDoubles) / sizeof(double);

// a·b + c, rounded once or twice, whichever is faster: only for results with an error bound.
template <class V>
[[gnu::always_inline]] inline V multiply_add(V a, V b, V c) {
#if defined(__FMA__)
  return fused(a, b, c);
#else
  return a * b + c;
#endif
}

// Keep the value in a register: g++ would otherwise read memory at each use.
template <class V>
[[gnu::always_inline]] inline V in_register(V value) {
#if defined(__AVX512F__)
  __asm__("" : "+v"(value));
#endif
  return value;
}

// A vector of type V, from memory: `load<WideSingles>(from)`.
template <class V, class T>
[[gnu::always_inline]] inline V load(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The number in all lanes of a vector of type V.
template <class V, class T>
[[gnu::always_inline]] inline V repeat(T value) {
  return value - V{};
}

// Write the lanes of any vector.
template <class V, class T>
[[gnu::always_inline]] inline void store_lanes(T* to, V value) {
  std::memcpy(to, &value, sizeof value);
}

// Which of eight values are at most the threshold, as bits.
[[gnu::always_inline]] inline std::uint64_t eight_below(const double* values, double threshold) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask(_mm512_loadu_pd(values), _mm512_set1_pd(threshold), _CMP_LE_OQ);
#elif defined(__AVX__)
  const __m256d bound = _mm256_set1_pd(threshold);
  const __m256d first = _mm256_cmp_pd(_mm256_loadu_pd(values), bound, _CMP_LE_OQ);
  const __m256d second = _mm256_cmp_pd(_mm256_loadu_pd(values + 4), bound, _CMP_LE_OQ);
  return static_cast<unsigned>(_mm256_movemask_pd(first) | _mm256_movemask_pd(second) << 4);
#else
  std::uint64_t bits = 0;
  for (int lane = 0; lane < 8; ++lane) {
    bits |= static_cast<std::uint64_t>(values[lane] <= threshold) << lane;
  }
  return bits;
#endif
}
[[gnu::always_inline]] inline std::uint64_t eight_below(const float* values, float threshold) {
#if defined(__AVX__)
  const __m256 below =
      _mm256_cmp_ps(_mm256_loadu_ps(values), _mm256_set1_ps(threshold), _CMP_LE_OQ);
  return static_cast<std::uint64_t>(static_cast<unsigned>(_mm256_movemask_ps(below)));
#else
  std::uint64_t bits = 0;
  for (int lane = 0; lane < 8; ++lane) {
    bits |= static_cast<std::uint64_t>(values[lane] <= threshold) << lane;
  }
  return bits;
#endif
}

}  // namespace rpnb
