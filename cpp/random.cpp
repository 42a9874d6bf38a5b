#include "random.h"

#include <cmath>

#include "math.h"
#include "workspace.h"

namespace rpnb {

namespace {

// The multipliers and key increments of Philox-4x32.
constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kKeyStep0 = 0x9E3779B9;
constexpr std::uint32_t kKeyStep1 = 0xBB67AE85;

// PPND7 of Wichura, "Algorithm AS 241: the percentage points of the normal
// distribution", Applied Statistics 37 (1988) 477-484: ratios of polynomials, with
// coefficients from the highest power down, accurate to about 1e-7 relative, which is
// what a single-precision entry can hold. The third ratio of the algorithm serves
// probabilities below 1e-11, which 32 bits cannot name.
constexpr std::array kCentre{5.9109374720e1, 1.5929113202e2, 5.0434271938e1, 3.3871327179e0};
constexpr std::array kCentreBelow{6.7187563600e1, 7.8757757664e1, 1.7895169469e1, 1.0};
constexpr std::array kShoulder{1.7023821103e-1, 1.3067284816e0, 2.7568153900e0, 1.4234372777e0};
constexpr std::array kShoulderBelow{1.2021132975e-1, 7.3700164250e-1, 1.0};
constexpr double kCell = 0x1p-32;
// Where the ratio of the centre ends.
constexpr double kCentral = 0.425;

double cell_middle(std::int32_t word) { return (word + 0.5) * kCell; }

}  // namespace

Counter philox(const Counter& counter, std::uint64_t seed) {
  auto [c0, c1, c2, c3] = counter;
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * c0;
    const std::uint64_t product1 = kMultiplier1 * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    k0 += kKeyStep0;
    k1 += kKeyStep1;
  }
  return {c0, c1, c2, c3};
}

void philox_columns(Matrix<std::uint64_t> counters, std::uint64_t seed) {
  for (Index t = 0; t < counters.size(1); ++t) {
    Counter counter;
    for (Index word = 0; word < 4; ++word) {
      counter[word] = static_cast<std::uint32_t>(counters(word, t));
    }
    counter = philox(counter, seed);
    for (Index word = 0; word < 4; ++word) counters(word, t) = counter[word];
  }
}

void fill_feature_words(std::uint64_t seed, std::uint64_t feature, Index q,
                        Vector<std::int32_t> words) {
  const Index K = words.size() / q;
  const auto low = static_cast<std::uint32_t>(feature);
  const auto high = static_cast<std::uint32_t>(feature >> 32);
  for (Index k = 0; k < K; ++k) {
    for (Index j = 0; j < q; j += 4) {
      const Counter bits = philox(
          {static_cast<std::uint32_t>(j / 4), static_cast<std::uint32_t>(k), low, high}, seed);
      for (Index lane = 0; lane < 4 && j + lane < q; ++lane) {
        words[k * q + j + lane] = static_cast<std::int32_t>(bits[lane]);
      }
    }
  }
}

void fill_normal(Vector<const std::int32_t> words, Vector<double> out) {
  const Index F = words.size();
  Workspace space;
  const auto outside = space.take<Index>(F);
  const auto below = space.take<double>(F);
  for (Index f = 0; f < F; ++f) {
    const double u = cell_middle(words[f]);
    const double r = 0.180625 - u * u;
    out[f] = u * horner(kCentre, r) / horner(kCentreBelow, r);
  }
  Index count = 0;
  for (Index f = 0; f < F; ++f) {
    const double u = std::abs(cell_middle(words[f]));
    if (u > kCentral) {
      outside[count] = f;
      below[count] = 0.5 - u;
      ++count;
    }
  }
  fill_logs(below.slice(0, count));
  for (Index i = 0; i < count; ++i) {
    const double r = std::sqrt(-below[i]) - 1.6;
    const double size = horner(kShoulder, r) / horner(kShoulderBelow, r);
    const Index f = outside[i];
    out[f] = words[f] >= 0 ? size : -size;
  }
}

}  // namespace rpnb
