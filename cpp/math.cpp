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

constexpr double kHalfPi = 1.5707963267948966;
// 1/17!, −1/15!, …, −1/3!: the series of (sin x − x)/x³ in x².
constexpr std::array kSine{
    1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
    1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
// 1/16!, −1/14!, …, 1/4!: the series of (cos x − 1 + x²/2)/x⁴ in x².
constexpr std::array kCosine{
    1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
    1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};

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

// With n the nearest quarter, the angle is nπ/2 + x, |x| ≤ π/4. The rest 4k − n·period is an
// integer, so that only its division and the product with π/2 round.
CirclePoint circle_point(std::int64_t k, std::int64_t period) {
  const std::int64_t within = (k % period + period) % period;
  const std::int64_t quarter = (4 * within + period / 2) / period;
  const auto rest = static_cast<double>(4 * within - quarter * period);
  const double x = rest / static_cast<double>(period) * kHalfPi;
  const double square = x * x;
  const double sine = x + x * square * horner(kSine, square);
  const double cosine = 1.0 - (0.5 * square - square * square * horner(kCosine, square));
  // 0 − y is 0 where −y would be −0.
  switch (quarter % 4) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, 0.0 - sine};
    case 2:
      return {0.0 - sine, 0.0 - cosine};
    default:
      return {0.0 - cosine, sine};
  }
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
