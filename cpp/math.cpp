#include "math.h"

namespace rpnb {

namespace {

constexpr double kHalfLogTwoPi = 0.9189385332046727;
constexpr double kRootPi = 1.772453850905516;
// Where the series is used, and how many of its terms; levels of the continued fraction.
constexpr double kFar = 2.0;
constexpr int kTerms = 40;
constexpr int kLevels = 60;

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
    // erf x = 2x/√π · exp(−x²) · (1 + 2x²/3 · (1 + 2x²/5 · (…)))
    double series = 1.0;
    for (int n = kTerms; n > 0; --n) series = 1.0 + series * (2.0 * square) / (2.0 * n + 1.0);
    return 1.0 - 2.0 * x / kRootPi * exp(-square) * series;
  }
  // √π · exp(x²) · erfc x = 1/(x + ½/(x + 1/(x + 3/2/(x + …))))
  double fraction = distance;
  for (int n = kLevels; n > 0; --n) fraction = distance + 0.5 * n / fraction;
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
