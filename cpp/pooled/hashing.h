// Feature hashing, for rows with very many features.
//
// Feature j is added to column h(j) with sign s(j), both functions of a seed and of j
// (Weinberger, Dasgupta, Langford, Smola & Attenberg, "Feature hashing for large scale
// multitask learning", 2009). Zeros are skipped, so that dense and sparse rows get the same
// bits. A missing value counts as zero.
#pragma once

#include <cmath>

#include "../array.h"

namespace rpnb {

// Columns to which rows are hashed.
inline constexpr Index kHashed = 1024;

// Add a feature to a hashed row; `place` is 1 + its column, negative to subtract it.
inline void add_hashed(std::int64_t place, double value, Vector<double> row) {
  if (value == 0.0 || std::isnan(value)) return;
  if (place > 0) {
    row[place - 1] += value;
  } else {
    row[-place - 1] -= value;
  }
}

}  // namespace rpnb
