#include "math.h"

#include <bit>
#include <cstdint>

namespace rpnb {

namespace {

constexpr double kLog2E = 1.4426950408889634;
// log 2 in two parts; the first has 32 bits, so its multiples by integers are exact.
constexpr double kLogTwoHigh = 6.93147180369123816490e-01;
constexpr double kLogTwoLow = 1.90821492927058770002e-10;
constexpr double kLeastExponent = -700.0;
// 1/13!, 1/12!, …, 1/0!
constexpr std::array kInverseFactorials{1.0 / 6227020800.0,
                                        1.0 / 479001600.0,
                                        1.0 / 39916800.0,
                                        1.0 / 3628800.0,
                                        1.0 / 362880.0,
                                        1.0 / 40320.0,
                                        1.0 / 5040.0,
                                        1.0 / 720.0,
                                        1.0 / 120.0,
                                        1.0 / 24.0,
                                        1.0 / 6.0,
                                        0.5,
                                        1.0,
                                        1.0};

// The same numbers in single precision, and the series of (exp r − 1 − r)/r².
constexpr float kLog2ESingle = 1.44269504F;
constexpr float kLogTwoHighSingle = 0.693359375F;
constexpr float kLogTwoLowSingle = -2.12194440e-4F;
constexpr float kLeastSingle = -80.0F;
constexpr std::array kExpf{1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                           4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};

constexpr double kLogTwo = 0.6931471805599453;
constexpr double kRootHalf = 0.7071067811865476;
// The series of artanh(s)/s in s², from the highest power down.
constexpr std::array kArtanh{1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0};

}  // namespace

void fill_exponentials(Vector<double> values) {
  double* const v = values.data();
  for (Index i = 0; i < values.size(); ++i) {
    const double x = v[i] > kLeastExponent ? v[i] : kLeastExponent;
    const double k = std::floor(x * kLog2E + 0.5);
    const double r = (x - k * kLogTwoHigh) - k * kLogTwoLow;
    const auto power = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52;
    v[i] = horner(kInverseFactorials, r) * std::bit_cast<double>(power);
  }
}

void fill_exponentials(Vector<float> values) {
  float* const v = values.data();
  for (Index i = 0; i < values.size(); ++i) {
    const float x = v[i] > kLeastSingle ? v[i] : kLeastSingle;
    const float k = std::floor(x * kLog2ESingle + 0.5F);
    const float r = (x - k * kLogTwoHighSingle) - k * kLogTwoLowSingle;
    float value = kExpf[0];
    for (std::size_t c = 1; c < kExpf.size(); ++c) value = value * r + kExpf[c];
    const auto power = static_cast<std::uint32_t>(static_cast<std::int32_t>(k) + 127) << 23;
    v[i] = (value * (r * r) + r + 1.0F) * std::bit_cast<float>(power);
  }
}

void fill_logs(Vector<double> values) {
  double* const v = values.data();
  for (Index i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::int64_t>(v[i]);
    const auto power = static_cast<std::int32_t>((bits >> 52) - 1022);
    const auto m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FE0000000000000);
    const bool small = m < kRootHalf;
    const double e = power - static_cast<int>(small);
    const double near = small ? m * 2.0 : m;
    const double s = (near - 1.0) / (near + 1.0);
    v[i] = e * kLogTwo + 2.0 * s * horner(kArtanh, s * s);
  }
}

}  // namespace rpnb
