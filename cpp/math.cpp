#include "math.h"

namespace rpnb {

namespace {

constexpr double kHalfLogTwoPi = 0.9189385332046727;
constexpr double kRootPi = 1.772453850905516;
// The series is used below kFar, with kTerms terms.
constexpr double kFar = 2.0;
constexpr std::size_t kTerms = 36;
// 1/(2n + 1)!! for n = kTerms − 1, …, 0.
constexpr auto kErrorFunction = [] {
  std::array<double, kTerms> found{};
  double value = 1.0;
  for (std::size_t n = 0; n < kTerms; ++n) {
    value /= static_cast<double>(2 * n + 1);
    found[kTerms - 1 - n] = value;
  }
  return found;
}();

// B₂ᵢ/(2i(2i − 1)) for i = 7, 6, …, 1, with Bernoulli's numbers.
constexpr std::array kStirling{1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                               1.0 / 1260, -1.0 / 360,      1.0 / 12};

}  // namespace

// Stirling's series from 10 on; below, Γ(x) = Γ(x + n)/(x (x + 1) … (x + n − 1)).
double lgamma(double x) {
  double product = 1.0;
  double shifted = x;
  while (shifted < 10.0) {
    product *= shifted;
    shifted += 1.0;
  }
  const double inverse = 1.0 / shifted;
  const double rest = inverse * horner(kStirling, inverse * inverse);
  return ((shifted - 0.5) * log(shifted) - shifted + kHalfLogTwoPi + rest) - log(product);
}

// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.6 and 7.1.14.
double erfc(double x) {
  const double distance = std::abs(x);
  const double square = x * x;
  if (distance < kFar) {
    // erf x = 2x/√π · exp(−x²) · Σ (2x²)ⁿ/(2n + 1)!!
    const double series = horner_of_two(kErrorFunction, 2.0 * square);
    return 1.0 - 2.0 * x / kRootPi * exp(-square) * series;
  }
  // √π · exp(x²) · erfc x = 1/(x + ½/(x + 1/(x + 3/2/(x + …)))), with fewer levels for large x
  double fraction = distance;
  const int levels = distance < 3.0 ? 50 : (distance < 5.0 ? 24 : 12);
  for (int n = levels; n > 0; --n) fraction = distance + 0.5 * n / fraction;
  const double tail = exp(-square) / (kRootPi * fraction);
  return x > 0.0 ? tail : 2.0 - tail;
}

void fill_exponentials(Vector<double> values, double least) {
  double* const v = values.data();
  for (Index i = 0; i < values.size(); ++i) v[i] = exp(v[i] < least ? least : v[i]);
}

void fill_logs(Vector<double> values) {
  double* const v = values.data();
  for (Index i = 0; i < values.size(); ++i) v[i] = log(v[i]);
}

}  // namespace rpnb
