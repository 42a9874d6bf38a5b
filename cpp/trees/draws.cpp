#include "draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "../math.h"
#include "../random.h"
#include "../workspace.h"

namespace rpnb::trees {

namespace {

constexpr double kCell = 0x1p-32;
// From this mean on the Poisson distribution is approximated by a normal one.
constexpr double kLargeMean = 100.0;

// P(at most k) for k = 0 … 12 at mean 1, in units of 2⁻³²; 32 bits cannot represent more.
constexpr std::array<double, 13> kAtMost = [] {
  std::array<double, 13> at_most{};
  double factorial = 1.0;
  double sum = 0.0;
  for (int k = 0; k < 13; ++k) {
    if (k > 0) factorial *= k;
    sum += 0x1p32 / (std::numbers::e * factorial);
    at_most[k] = sum;
  }
  return at_most;
}();
static_assert(kAtMost.back() > 0x1p32 - 0.5, "no place is beyond the last");

}  // namespace

void fill_row_words(std::uint64_t seed, Purpose purpose, Index member, Index row,
                    Vector<std::uint32_t> words) {
  // A counter serves four rows.
  const Index first = row / 4;
  const Index blocks = (row + words.size() + 3) / 4 - first;
  Workspace space;
  const auto low = space.take<std::uint64_t>(blocks);
  const auto high = space.take<std::uint64_t>(blocks);
  for (Index block = 0; block < blocks; ++block) {
    const auto number = static_cast<std::uint64_t>(first + block);
    low[block] = number & 0xFFFFFFFF;
    high[block] = number >> 32;
  }
  const auto bits = space.take<std::uint32_t>(4 * blocks);
  const std::uint64_t purpose_and_member =
      (static_cast<std::uint64_t>(purpose) << 32) | static_cast<std::uint32_t>(member);
  fill_bits(seed, purpose_and_member, low, high, bits);
  std::copy_n(bits.data() + (row - 4 * first), words.size(), words.data());
}

double draw_poisson(std::uint32_t word) {
  const double place = static_cast<double>(word) + 0.5;
  std::size_t count = 0;
  while (kAtMost[count] <= place) ++count;
  return static_cast<double>(count);
}

double draw_poisson(std::uint32_t word, double mean) {
  if (mean >= kLargeMean) {
    auto centred = static_cast<std::int32_t>(static_cast<std::int64_t>(word) - (1LL << 31));
    double normal = 0.0;
    fill_normal(Vector<const std::int32_t>(&centred, {1}), Vector<double>(&normal, {1}));
    const double value = std::floor(mean + std::sqrt(mean) * normal);
    // A number of times must fit in 64 bits.
    return value > 0.0 && value < 0x1p63 ? value : 0.0;
  }
  const double place = (static_cast<double>(word) + 0.5) * kCell * exp(mean);
  double term = 1.0;
  double total = 1.0;
  double count = 0.0;
  // The bound on the count ends the loop if rounding keeps the sum below `place`.
  while (total <= place && count < 10.0 * kLargeMean) {
    count += 1.0;
    term *= mean / count;
    total += term;
  }
  return count;
}

}  // namespace rpnb::trees
