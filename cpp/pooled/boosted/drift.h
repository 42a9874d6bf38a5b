// Drift detection of boosted trees: a block of rows whose loss is too high.
//
// The log-loss of each row before learning it is clipped at 4. Its mean b over each block of
// 256 rows is compared with a running mean ref ← ref + 0.1 (b − ref), which starts with the
// first b. The loss of the trees also rises by itself, without any change of the stream, on
// all rows alike: on a parity of three features by a half. So each row is paired with two
// older ones, evenly spaced over the rows kept, and the gap between its loss and the mean
// loss of the two, by the same trees, is averaged likewise. With s the standard deviation of
// the losses of the block, g and s_g the mean and standard deviation of the gaps,
//
//   b > ref + 4 s/√256   and   b > 1.15 ref   and   g > ref_g + 3 s_g/√256
//
// is an alarm: only the last quarter of the rows is kept, but at least 512. Right after a
// cut the last condition is left out, because the rows kept are a mixture: an abrupt change
// takes several cuts. Later there is no alarm before as many rows have been learned as were
// kept, so the model has time to recover. The rule is ours, similar to Gama et al.,
// "Learning with drift detection" (2004).
#pragma once

#include <algorithm>
#include <cmath>

#include "sizes.h"

namespace rpnb::boosted {

inline constexpr Index kLossRows = 256;
inline constexpr double kMostLoss = 4.0;
inline constexpr double kLeastRise = 1.15;
inline constexpr Index kLeastKept = 512;

// The mean of a block of values, and its running mean over blocks.
struct BlockMean {
  double sum = 0.0;
  double squares = 0.0;
  double reference = 0.0;

  void add(double value) {
    sum += value;
    squares += value * value;
  }
  [[nodiscard]] double mean() const { return sum / kLossRows; }
  // Whether the mean is more than so many of its standard errors above the reference.
  [[nodiscard]] bool is_above(double errors) const {
    const double n = kLossRows;
    const double variance = squares / n - mean() * mean();
    return mean() > reference + errors * std::sqrt(std::max(variance, 0.0) / n);
  }
  void end_block(bool is_first) {
    reference = is_first ? mean() : reference + 0.1 * (mean() - reference);
    sum = 0.0;
    squares = 0.0;
  }
};

struct Drift {
  BlockMean loss;
  BlockMean gap;
  Index rows = 0;    // of the block
  Index blocks = 0;  // that the references are made of
  Index cuts = 0;    // in direct succession until now
  Index quiet = 0;   // number of rows learned before the next alarm, unless directly after one

  static double clip(double loss) { return std::min(loss, kMostLoss); }

  // Add the loss of a row and the sum of those of two older ones, all clipped; return whether
  // the row completes a block that is an alarm. `end` rows have been learned.
  bool add(double of_row, double of_two, Index end) {
    loss.add(of_row);
    gap.add(of_row - 0.5 * of_two);
    if (++rows < kLossRows) return false;
    const bool is_high =
        blocks > 0 && loss.is_above(4.0) && loss.mean() > kLeastRise * loss.reference;
    const bool is_alarm = is_high && (cuts > 0 || (end >= quiet && gap.is_above(3.0)));
    loss.end_block(blocks == 0);
    gap.end_block(blocks == 0);
    ++blocks;
    rows = 0;
    cuts = is_alarm ? cuts + 1 : 0;
    return is_alarm;
  }
  // The window was cut to so many of `end` rows.
  void note_cut(Index kept, Index end) {
    // All remaining rows may be of the new concept: detection starts again.
    if (kept <= kLeastKept) *this = Drift{};
    quiet = end + kept;
  }
};

}  // namespace rpnb::boosted
