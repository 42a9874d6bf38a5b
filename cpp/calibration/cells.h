// How far each class's score is below the largest, rounded to a grid of cells.
//
// A mixture of temperatures needs the scores of all classes, which a fast pass knows only
// up to an error bound. High precision is not needed, since temperatures differ by a factor
// of two. So differences of scores are rounded to cells, and a pass only has to determine
// the cell. Where its bounds leave two cells possible, it computes the scores in double
// precision, which define the cell. Every pass therefore gives the same cells, and
// calibration does not depend on how rows are divided into calls.
//
// With u the difference in units of 32 times the smallest temperature, the cells are
// [i, i + 1) for u below 4, and two of equal width in each [2ᵏ, 2ᵏ⁺¹) above: a relative
// width of at most a half.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "../array.h"

namespace rpnb {

// Temperatures are base·2ᵍ for g from kLowestTemperature on.
inline constexpr int kLowestTemperature = -9;
inline constexpr Index kTemperatures = 20;

// Rows that calibration learns from: the first ones, then every kEveryRow-th. That is a prime, so
// that a period of the stream, of hours or days, is not always sampled at the same phase.
inline constexpr Index kFirstRows = 512;
inline constexpr Index kEveryRow = 23;

// The code of a class: kBestCode if it has the largest score, else its cell's index plus one.
using Code = std::int16_t;
inline constexpr Code kBestCode = 0;
inline constexpr Code kInactiveCode = -1;   // the class is not active
inline constexpr Code kUncertainCode = -2;  // the pass is not certain of the cell

// Width of the first cells in units of the smallest temperature.
inline constexpr double kCellWidth = 32.0;
inline constexpr int kCells = 46;
inline constexpr int kCodes = kCells + 1;

// The lower edges of all cells, and the upper edge of the last, in units of kCellWidth.
inline constexpr std::array<double, kCells + 1> kCellEdges = [] {
  std::array<double, kCells + 1> edges{};
  for (int number = 0; number <= kCells; ++number) {
    edges[number] = number < 4 ? number : static_cast<double>((2 + number % 2) << (number / 2 - 1));
  }
  return edges;
}();

// Larger differences belong to the last cell. At the largest temperature their factor is
// exp(−512), which does not underflow yet.
inline constexpr double kLastCell = 512.0 * (Index{1} << (kTemperatures - 1)) / kCellWidth;

// Whether calibration learns from the row with this number, counted from 0.
inline bool is_calibration_row(Index number) {
  return number < kFirstRows || number % kEveryRow == 0;
}

// One over the width of the first cells, where `smallest` is the smallest temperature.
inline double cell_scale(double smallest) { return 1.0 / (kCellWidth * smallest); }

// The index of the cell of u ≥ 0; NaN and all larger values belong to the last cell.
inline int cell_of(double u) {
  if (!(u < kLastCell)) return kCells - 1;
  if (u < 4.0) return static_cast<int>(u);
  // For u in [2ᵏ, 2ᵏ⁺¹) the exponent and the first bit of the mantissa are 2(k + 1023),
  // plus one in the upper half.
  return static_cast<int>(std::bit_cast<std::uint64_t>(u) >> 51) - 2 * 1023;
}

// The code of a difference that is known up to ±`error`, or kUncertainCode.
inline Code certain_code(double difference, double error, double scale) {
  const double u = difference * scale;
  // The last term covers the rounding of the difference and of u.
  const double width = 1.001 * error * scale + 1e-14 * u;
  // A difference of scores is at least zero.
  const int cell = cell_of(std::max(u, 0.0));
  const double upper =
      cell < kCells - 1 ? kCellEdges[cell + 1] : std::numeric_limits<double>::infinity();
  if (u + width < upper && (u - width >= kCellEdges[cell] || cell == 0)) {
    return static_cast<Code>(cell + 1);
  }
  return kUncertainCode;
}

// Write the codes (M,) of double-precision scores (M,), of which `best` leads.
inline void write_codes(Vector<const double> scores, Vector<const bool> active, Index best,
                        double scale, Vector<Code> codes) {
  for (Index m = 0; m < scores.size(); ++m) {
    if (!active[m]) {
      codes[m] = kInactiveCode;
    } else if (m == best) {
      codes[m] = kBestCode;
    } else {
      codes[m] = static_cast<Code>(cell_of((scores[best] - scores[m]) * scale) + 1);
    }
  }
}

}  // namespace rpnb
