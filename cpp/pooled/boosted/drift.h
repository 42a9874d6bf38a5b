// Drift detection of boosted trees: a block of rows whose loss is too high.
//
// The log-loss of each row before learning it is clipped at 4. Its mean b and variance s²
// over each block of 256 rows are compared with a running mean ref ← ref + 0.1 (b − ref),
// which starts with the first b. If
//
//   b > ref + 4 √(s²/256)
//
// only the last quarter of the rows is kept, but at least 512. The rule is ours, similar
// to Gama et al., "Learning with drift detection" (2004).
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

  // Add a loss; return whether it completes a block whose loss is too high.
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
