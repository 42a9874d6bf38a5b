// Counts of rows by true class and prediction.
#pragma once

#include <cstdint>

#include "../array.h"

namespace rpnb {

// Add rows of classes `truth` (n,) to counts (M, M + 1). Those without a prediction, −1,
// are counted in the last column.
inline void count_rows(Vector<const std::int64_t> truth, Vector<const std::int64_t> predicted,
                       Matrix<std::int64_t> counts) {
  const Index last = counts.size(1) - 1;
  for (Index i = 0; i < truth.size(); ++i) {
    counts(truth[i], predicted[i] < 0 ? last : predicted[i]) += 1;
  }
}

}  // namespace rpnb
