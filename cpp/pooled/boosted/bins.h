// Cut points of features, and the bins between them.
//
// A missing value is in bin 0, a value x in bin 1 + (number of cut points below x). n
// rows give up to m = min(126, max(15, n/8)) cut points. If a feature has at most m + 1
// distinct values, they are the midpoints between neighbours; otherwise they divide the
// values into m + 1 parts of about equal mass, where each cut takes the remaining mass
// into account (as in Ke et al., "LightGBM", 2017). Values and cut points are in single
// precision.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sizes.h"

namespace rpnb::boosted {

// A value in single precision, finite unless it is missing.
inline float as_single(double x) {
  constexpr double kMost = std::numeric_limits<float>::max() / 2;
  return static_cast<float>(x < -kMost ? -kMost : (x > kMost ? kMost : x));
}

// Compute up to `most` cut points of sorted values (n,) into `cuts`; return their number.
Index find_cuts(Vector<const float> sorted, Index most, float* cuts);

class Cuts {
 public:
  explicit Cuts(Index p);

  [[nodiscard]] Index features() const { return static_cast<Index>(counts_.size()); }
  [[nodiscard]] Index count(Index j) const { return counts_[j]; }
  [[nodiscard]] const float* of(Index j) const { return values_.data() + j * kMostBins; }
  // The event at which the cut points of a feature were computed; −1 for never.
  [[nodiscard]] std::int32_t made(Index j) const { return made_[j]; }

  // The bin of a value of feature j.
  [[nodiscard]] std::uint8_t bin(Index j, float x) const {
    const float* const cuts = of(j);
    Index below = 0;
    // Entries after the last cut point are larger than any value.
    for (Index step = 64; step > 0; step /= 2) {
      below += cuts[below + step - 1] < x ? step : 0;
    }
    return static_cast<std::uint8_t>(x == x ? below + 1 : 0);
  }
  // A representative value of a bin.
  [[nodiscard]] float middle(Index j, Index bin) const;
  // The threshold of a split whose left part holds the bins up to this one.
  [[nodiscard]] float threshold(Index j, Index bin) const {
    return bin == 0 ? -std::numeric_limits<float>::max() : of(j)[bin - 1];
  }

  // Set the cut points of feature j.
  void set(Index j, const float* cuts, Index count, std::int32_t event);

 private:
  std::vector<float> values_;  // (p, kMostBins), the largest number beyond the last cut point
  std::vector<std::int32_t> counts_;
  std::vector<std::int32_t> made_;
};

}  // namespace rpnb::boosted
