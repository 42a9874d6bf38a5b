// When boosted trees forget: a block of rows whose loss is too high.
//
// Of each 256 rows the mean b and the variance s² of the log-loss before learning, clipped
// at 4, are compared with a running mean ref ← ref + 0.1 (b − ref), which begins with the
// first b. If
//
//   b > ref + 4 √(s²/256)
//
// only the last quarter of the rows stays, 512 at least. The rule is our own, in the manner
// of Gama and others, "Learning with drift detection" (2004).
#pragma once

#include <array>
#include <cmath>

#include "sizes.h"

namespace rpnb::boosted {

inline constexpr Index kLossRows = 256;
inline constexpr double kMostLoss = 4.0;
inline constexpr Index kLeastKept = 512;

struct Drift {
  double sum = 0.0;        // of the losses of the block
  double squares = 0.0;    // of their squares
  double reference = 0.0;  // ref
  Index rows = 0;          // of the block
  Index blocks = 0;        // that ref is made of

  // Take note of a loss; return whether it completes a block that is too bad.
  bool add(double loss) {
    const double clipped = loss < kMostLoss ? loss : kMostLoss;
    sum += clipped;
    squares += clipped * clipped;
    if (++rows < kLossRows) return false;
    const double n = kLossRows;
    const double mean = sum / n;
    const double variance = squares / n - mean * mean;
    const double error = variance > 0.0 ? std::sqrt(variance / n) : 0.0;
    const bool bad = blocks > 0 && mean > reference + 4.0 * error;
    reference = blocks > 0 ? reference + 0.1 * (mean - reference) : mean;
    ++blocks;
    sum = 0.0;
    squares = 0.0;
    rows = 0;
    return bad;
  }
};

}  // namespace rpnb::boosted
