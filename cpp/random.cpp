#include "random.h"

#include <cmath>
#include <cstring>

#include "math.h"
#include "simd.h"
#include "workspace.h"

namespace rpnb {

namespace {

// The multipliers and key increments of Philox-4x32.
constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kKeyStep0 = 0x9E3779B9;
constexpr std::uint32_t kKeyStep1 = 0xBB67AE85;

// PPND7 of Wichura, "Algorithm AS 241: the percentage points of the normal
// distribution", Applied Statistics 37 (1988) 477-484: ratios of polynomials, with
// coefficients from the highest power down, accurate to about 1e-7 relative, which suffices
// for single-precision entries. The third ratio of the algorithm is for probabilities below
// 1e-11, which 32 bits cannot represent.
constexpr std::array kCentre{5.9109374720e1, 1.5929113202e2, 5.0434271938e1, 3.3871327179e0};
constexpr std::array kCentreBelow{6.7187563600e1, 7.8757757664e1, 1.7895169469e1, 1.0};
constexpr std::array kShoulder{1.7023821103e-1, 1.3067284816e0, 2.7568153900e0, 1.4234372777e0};
constexpr std::array kShoulderBelow{1.2021132975e-1, 7.3700164250e-1, 1.0};
constexpr double kCell = 0x1p-32;
// The ratio of the centre is used up to this |u|.
constexpr double kCentral = 0.425;

double cell_middle(std::int32_t word) { return (word + 0.5) * kCell; }

// Ten rounds of Philox on four words, of one counter (W = std::uint64_t) or of one per lane
// (W = Words); each word uses 32 bits.
template <class W>
[[gnu::always_inline]] inline void philox_rounds(W& c0, W& c1, W& c2, W& c3, std::uint64_t seed) {
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const W product0 = multiply_halves(c0, kMultiplier0);
    const W product1 = multiply_halves(c2, kMultiplier1);
    c0 = (product1 >> 32) ^ c1 ^ k0;
    c2 = (product0 >> 32) ^ c3 ^ k1;
    c1 = product1 & 0xFFFFFFFF;
    c3 = product0 & 0xFFFFFFFF;
    k0 += kKeyStep0;
    k1 += kKeyStep1;
  }
}

}  // namespace

Counter philox(const Counter& counter, std::uint64_t seed) {
  std::uint64_t c0 = counter[0];
  std::uint64_t c1 = counter[1];
  std::uint64_t c2 = counter[2];
  std::uint64_t c3 = counter[3];
  philox_rounds(c0, c1, c2, c3, seed);
  return {static_cast<std::uint32_t>(c0), static_cast<std::uint32_t>(c1),
          static_cast<std::uint32_t>(c2), static_cast<std::uint32_t>(c3)};
}

void fill_bits(std::uint64_t seed, std::uint64_t feature, Vector<const std::uint64_t> first,
               Vector<const std::uint64_t> second, Vector<std::uint32_t> bits) {
  const Index n = first.size();
  const std::uint64_t low = feature & 0xFFFFFFFF;
  const std::uint64_t high = feature >> 32;
  Index t = 0;
  for (; t + kWords <= n; t += kWords) {
    Words c0 = load(first.data() + t);
    Words c1 = load(second.data() + t);
    Words c2 = low - Words{};
    Words c3 = high - Words{};
    philox_rounds(c0, c1, c2, c3, seed);
    // The four words of each counter side by side.
    const Words front = c0 | (c1 << 32);
    const Words back = c2 | (c3 << 32);
    const Words bits01 = __builtin_shufflevector(front, back, 0, 4, 1, 5);
    const Words bits23 = __builtin_shufflevector(front, back, 2, 6, 3, 7);
    std::memcpy(bits.data() + 4 * t, &bits01, sizeof bits01);
    std::memcpy(bits.data() + 4 * t + 8, &bits23, sizeof bits23);
  }
  for (; t < n; ++t) {
    const Counter counter{static_cast<std::uint32_t>(first[t]),
                          static_cast<std::uint32_t>(second[t]), static_cast<std::uint32_t>(low),
                          static_cast<std::uint32_t>(high)};
    const Counter drawn = philox(counter, seed);
    for (Index word = 0; word < 4; ++word) bits[4 * t + word] = drawn[word];
  }
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
  const Index per_member = (q + 3) / 4;
  Workspace space;
  const auto blocks = space.take<std::uint64_t>(K * per_member);
  const auto members = space.take<std::uint64_t>(K * per_member);
  for (Index k = 0; k < K; ++k) {
    for (Index block = 0; block < per_member; ++block) {
      blocks[k * per_member + block] = static_cast<std::uint64_t>(block);
      members[k * per_member + block] = static_cast<std::uint64_t>(k);
    }
  }
  const auto bits = space.take<std::uint32_t>(K * per_member * 4);
  fill_bits(seed, feature, blocks, members, bits);
  for (Index k = 0; k < K; ++k) {
    std::memcpy(words.data() + k * q, bits.data() + k * per_member * 4,
                static_cast<std::size_t>(q) * sizeof(std::int32_t));
  }
}

void fill_normal(Vector<const std::int32_t> words, Vector<double> out) {
  const Index F = words.size();
  Workspace space;
  const auto outside = space.take<Index>(F);
  const auto below = space.take<double>(F);
  const std::int32_t* const word = words.data();
  double* const normal = out.data();
  for (Index f = 0; f < F; ++f) {
    const double u = cell_middle(word[f]);
    const double r = 0.180625 - u * u;
    normal[f] = u * horner(kCentre, r) / horner(kCentreBelow, r);
  }
  Index count = 0;
  for (Index f = 0; f < F; ++f) {
    const double u = std::abs(cell_middle(word[f]));
    outside[count] = f;
    below[count] = 0.5 - u;
    count += static_cast<Index>(u > kCentral);
  }
  fill_logs(below.slice(0, count));
  for (Index i = 0; i < count; ++i) {
    const double r = std::sqrt(-below[i]) - 1.6;
    below[i] = horner(kShoulder, r) / horner(kShoulderBelow, r);
  }
  for (Index i = 0; i < count; ++i) {
    const Index f = outside[i];
    normal[f] = std::copysign(below[i], cell_middle(word[f]));
  }
}

}  // namespace rpnb
