// Elementary functions, used throughout the core instead of the C library's.
//
// They use only additions, multiplications, divisions and square roots, which every
// processor rounds in the same way: the bits are the same on every machine.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "array.h"

namespace rpnb {

// A polynomial by Horner's scheme, coefficients from the highest power down.
template <std::size_t N>
[[gnu::always_inline]] inline double horner(const std::array<double, N>& coefficients, double x) {
  double value = 0.0;
  for (const double coefficient : coefficients) value = value * x + coefficient;
  return value;
}

// The same by two interleaved schemes, for even and odd powers: lower latency. The number of
// coefficients is even.
template <std::size_t N>
[[gnu::always_inline]] inline double horner_of_two(const std::array<double, N>& coefficients,
                                                   double x) {
  static_assert(N % 2 == 0);
  const double square = x * x;
  double odd = coefficients[0];
  double even = coefficients[1];
  for (std::size_t i = 2; i < N; i += 2) {
    odd = odd * square + coefficients[i];
    even = even * square + coefficients[i + 1];
  }
  return odd * x + even;
}

namespace elementary {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// log 2 in two parts; the first has 32 bits, so its multiples by exponents are exact.
constexpr double kLogTwoHigh = 6.93147180369123816490e-01;
constexpr double kLogTwoLow = 1.90821492927058770002e-10;
constexpr double kLog2E = 1.4426950408889634;
// x + kRounder − kRounder is x rounded to an integer, which then is in the sum's low bits.
constexpr double kRounder = 0x1.8p52;
constexpr std::uint64_t kExponentOfOne = std::uint64_t{1023} << 52;
constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;

// 1/13!, 1/12!, …, 1/2!
constexpr std::array kInverseFactorials{1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                        1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                        1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                        1.0 / 24.0,         1.0 / 6.0,         0.5};

// 2/21, 2/19, …, 2/3: the series of 2·(artanh(s)/s − 1)/s² in s².
constexpr std::array kArtanh{2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                             2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};

// 2ᵏ, where `sum` is k + kRounder and −1023 < k < 1024.
[[gnu::always_inline]] inline double power_of_two(double sum) {
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(sum) << 52) + kExponentOfOne);
}

}  // namespace elementary

// eˣ, within 1 unit of the last place.
//
// With x = k·log 2 + r and |r| ≤ ½ log 2, eˣ = 2ᵏ·eʳ, the latter by its series. The power of
// two is multiplied in two halves, since it may overflow where the result does not.
[[gnu::always_inline]] inline double exp(double x) {
  using namespace elementary;
  const double least = -750.0;
  const double most = 710.0;
  const double clipped = x < least ? least : (x > most ? most : x);
  const double k = (clipped * kLog2E + kRounder) - kRounder;
  const double high = clipped - k * kLogTwoHigh;
  const double low = k * kLogTwoLow;
  const double r = high - low;
  const double lost = (high - r) - low;
  const double value = 1.0 + (r + (r * r * horner_of_two(kInverseFactorials, r) + lost));
  const double half = 0.5 * k + kRounder;
  const double other_half = (k - (half - kRounder)) + kRounder;
  return value * power_of_two(half) * power_of_two(other_half);
}

// log x, within 1 unit of the last place; −∞ for 0, not a number for x < 0.
//
// With x = m·2ᵏ, √½ ≤ m < √2, f = m − 1 and s = f/(2 + f), log m = 2·artanh s, by its series.
// Written as f − f²/2 + s·(f²/2 + …), its largest term is exact.
[[gnu::always_inline]] inline double log(double x) {
  using namespace elementary;
  const bool subnormal = x < 0x1p-1022;
  const double normal = subnormal ? x * 0x1p54 : x;
  constexpr auto kRootHalf = std::bit_cast<std::uint64_t>(0.7071067811865476);
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(normal) - kRootHalf + kExponentOfOne;
  // Converts an integer below 2⁵² by placing it in the mantissa of 2⁵², which vectorises on
  // all processors.
  const auto biased = std::bit_cast<double>((shifted >> 52) | std::bit_cast<std::uint64_t>(0x1p52));
  const double k = biased - (0x1p52 + 1023.0) - (subnormal ? 54.0 : 0.0);
  const double f = std::bit_cast<double>((shifted & kMantissa) + kRootHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double half = 0.5 * f * f;
  const double series = s * (half + s * s * horner_of_two(kArtanh, s * s)) + k * kLogTwoLow;
  const double value = k * kLogTwoHigh - ((half - series) - f);
  if (x > 0.0 && x < kInfinity) [[likely]] {  // GCOVR_EXCL_BR_LINE: inlined several times
    return value;
  }
  return x == 0.0 ? -kInfinity : (x < 0.0 ? std::numeric_limits<double>::quiet_NaN() : x);
}

// log(1 + x), within 3 units of the last place.
//
// With u = 1 + x as rounded, log u·x/(u − 1) compensates for the rounding of u (W. Kahan).
inline double log1p(double x) {
  const double u = 1.0 + x;
  if (u == 1.0 || u == elementary::kInfinity) return x;
  return log(u) * (x / (u - 1.0));
}

// xʸ for x > 0; exactly x where y is 1.
inline double pow(double x, double y) { return y == 1.0 ? x : exp(y * log(x)); }

// √(x² + y²) without overflow.
inline double hypot(double x, double y) {
  const double larger = std::max(std::abs(x), std::abs(y));
  const double smaller = std::min(std::abs(x), std::abs(y));
  if (larger == 0.0 || larger == elementary::kInfinity) return larger;
  const double ratio = smaller / larger;
  return larger * std::sqrt(1.0 + ratio * ratio);
}

// log Γ(x) for x > 0, with an error of at most 1e-14 of the larger of 1 and the result.
double lgamma(double x);

// 1 − erf(x), the complementary error function, with a relative error of at most 1e-12.
double erfc(double x);

// A point of the unit circle.
struct CirclePoint {
  double sine;
  double cosine;
};

// The sine and cosine of 2πk/period, within 2 units of the last place; exact for multiples of a
// quarter. The period is from 1 to `kLongestPeriod`.
CirclePoint circle_point(std::int64_t k, std::int64_t period);

// For longer periods, 4k might overflow.
constexpr std::int64_t kLongestPeriod = std::int64_t{1} << 60;

// Replace each value by its exponential, after raising those below `least` to it.
void fill_exponentials(Vector<double> values, double least);

// A lower bound for `fill_exponentials`: e⁻⁷⁰⁰ is still a normal number.
constexpr double kLeastExponent = -700.0;

// Replace each value by its logarithm.
void fill_logs(Vector<double> values);

}  // namespace rpnb
