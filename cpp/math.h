// Elementary functions. Kernels call these and never the C library's by themselves.
#pragma once

#include <array>
#include <cmath>

#include "array.h"

namespace rpnb {

// A polynomial by Horner's scheme, coefficients from the highest power down.
template <std::size_t N>
[[gnu::always_inline]] inline double horner(const std::array<double, N>& coefficients, double x) {
  double value = 0.0;
  for (const double coefficient : coefficients) value = value * x + coefficient;
  return value;
}

inline double log(double x) { return std::log(x); }
inline double exp(double x) { return std::exp(x); }
// 1 − erf(x), the complementary error function.
inline double erfc(double x) { return std::erfc(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double pow(double x, double y) { return std::pow(x, y); }
inline double hypot(double x, double y) { return std::hypot(x, y); }

// log Γ(x). The C library's `lgamma` writes the sign to a global variable.
inline double lgamma(double x) {
#if defined(__GLIBC__)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

// Replace each value, which is at most 0, by its exponential.
//
// With x = k·log 2 + r and |r| ≤ ½ log 2, exp x = 2ᵏ·exp r, the latter by its series.
// Only correctly rounded operations: the bits are the same on every machine.
void fill_exponentials(Vector<double> values);

// The same in single precision (Moshier, "Cephes Mathematical Library", 1989: expf).
void fill_exponentials(Vector<float> values);

// Replace each of the values, which are positive and normal, by its logarithm.
//
// With a value m·2ᵉ and m near 1, log m = 2·artanh((m − 1)/(m + 1)), as a series.
void fill_logs(Vector<double> values);

}  // namespace rpnb
