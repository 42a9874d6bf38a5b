// Exponentials in single precision.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "../../array.h"

namespace rpnb::boosted {

// Replace each value, which is at most 0, by its exponential; values below −80 count as
// −80.
//
// As in double precision (../../math.h), with the polynomial of expf of Moshier, "Cephes
// Mathematical Library" (1989): only correctly rounded operations.
inline void fill_exponentials(Vector<float> values) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLogTwoHigh = 0.693359375F;
  constexpr float kLogTwoLow = -2.12194440e-4F;
  constexpr float kLeast = -80.0F;
  // The series of (exp r − 1 − r)/r², from the highest power down.
  constexpr std::array kSeries{1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                               4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
  float* const v = values.data();
  for (Index i = 0; i < values.size(); ++i) {
    const float x = v[i] > kLeast ? v[i] : kLeast;
    const float k = std::floor(x * kLog2E + 0.5F);
    const float r = (x - k * kLogTwoHigh) - k * kLogTwoLow;
    float value = kSeries[0];
    for (std::size_t c = 1; c < kSeries.size(); ++c) value = value * r + kSeries[c];
    const auto power = static_cast<std::uint32_t>(static_cast<std::int32_t>(k) + 127) << 23;
    v[i] = (value * (r * r) + r + 1.0F) * std::bit_cast<float>(power);
  }
}

}  // namespace rpnb::boosted
