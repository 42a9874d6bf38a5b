#include "nearest.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

#include "../math.h"
#include "../simd.h"
#include "../tile.h"

namespace rpnb {

namespace {

// Groups of slots; their smallest distances give a bound.
constexpr Index kGroups = 32;
// Vectors of distances kept in registers.
constexpr int kTile = 4;

// Set the squared distances of x from the first `filled` slots, rounded up to whole tiles.
void fill_distances(Matrix<const float> rows, Vector<const float> x, Index filled,
                    Vector<float> distance) {
  static_assert(kSlotBlock % (kTile * kWideSingles) == 0);
  const Index slots = rows.size(1);
  for (Index s = 0; s < filled; s += kTile * kWideSingles) {
    Tile<WideSingles, kTile, 1> sums;
    for (Index j = 0; j < x.size(); ++j) {
      const float* const there = rows.data() + j * slots + s;
      const auto here = repeat<WideSingles>(x[j]);
      sums.for_each([&](int t, int, WideSingles& sum) {
        const WideSingles gap = load<WideSingles>(there + kWideSingles * t) - here;
        sum = fused(gap, gap, sum);
      });
    }
    sums.for_each([&](int t, int, const WideSingles& sum) {
      store_lanes(distance.data() + s + kWideSingles * t, sum);
    });
  }
}

// An upper bound of the tenth smallest distance: the tenth smallest of the minima of 32
// groups of slots, since ten different slots are at most that far.
float bound_nearest(Vector<const float> distance) {
  std::array<float, kGroups> least;
  std::copy_n(distance.begin(), kGroups, least.begin());
  for (Index s = kGroups; s < distance.size(); s += kGroups) {
    for (Index g = 0; g < kGroups; ++g) {
      const float d = distance[s + g];
      least[g] = d < least[g] ? d : least[g];
    }
  }
  float bound = std::numeric_limits<float>::max();
  for (const float d : least) {
    std::uint64_t below = 0;
    for (Index r = 0; r < kGroups; r += 8) below |= eight_below(least.data() + r, d) << r;
    if (std::popcount(below) >= kNearest && d < bound) bound = d;
  }
  return bound;
}

}  // namespace

Nearest find_nearest(Matrix<const float> rows, Vector<const float> x, Index filled,
                     Vector<float> distance) {
  fill_distances(rows, x, filled, distance);
  distance.slice(filled, distance.size()).fill(std::numeric_limits<float>::infinity());
  // Few slots are within the bound; only these are sorted.
  const float bound = bound_nearest(distance);
  Nearest nearest;
  std::array<float, kNearest + 1> near;
  for (Index s = 0; s < distance.size(); s += kSlotBlock) {
    std::uint64_t close = 0;
    for (Index r = 0; r < kSlotBlock; r += 8) {
      close |= eight_below(distance.data() + s + r, bound) << r;
    }
    for (; close != 0; close &= close - 1) {
      const Index slot = s + std::countr_zero(close);
      // Insert after all that are not farther.
      Index at = nearest.found;
      for (; at > 0 && distance[slot] < near[at - 1]; --at) {
        near[at] = near[at - 1];
        nearest.slots[at] = nearest.slots[at - 1];
      }
      near[at] = distance[slot];
      nearest.slots[at] = slot;
      nearest.found = std::min(nearest.found + 1, kNearest);
    }
  }
  return nearest;
}

void check_labels_kept(Vector<const std::int64_t> labels, std::int64_t seen, Index slots, Index M) {
  if (seen < 0) throw std::invalid_argument("the number of rows learned is negative");
  for (const std::int64_t c : labels.slice(0, std::min<Index>(seen, slots))) {
    if (c < 0 || c >= M) throw std::invalid_argument("a row kept is of no class");
  }
}

void vote(const Voters& voters, const Nearest& nearest, Vector<double> scores) {
  Index active = 0;
  double total = 0.0;
  for (Index c = 0; c < scores.size(); ++c) {
    active += static_cast<Index>(voters.active[c]);
    total += voters.class_weight[c];
  }
  const double below = std::max(total + 0.5 * static_cast<double>(active), 0.5);
  for (Index c = 0; c < scores.size(); ++c) {
    scores[c] = 0.5 * (voters.class_weight[c] + 0.5) / below;
  }
  for (Index r = 0; r < nearest.found; ++r) {
    const Index slot = nearest.slots[r];
    scores[voters.labels[slot]] += voters.weight[slot] / (static_cast<double>(r) + 1.0);
  }
  fill_logs(scores);
}

}  // namespace rpnb
