// The nearest of the rows that a member keeps, and the votes of their classes.
//
//   score_c = log(½ π_c + Σ_r [c_r = c] w_r/r), r = 1, …, 10
//
// with c_r the class of the r-th nearest row, w_r its weight, and π_c the frequency of
// class c among all rows. Distances are squared Euclidean ones; of equally distant rows
// the one in the earlier slot is nearer. Voting by 1/r is due to Dudani, "The
// distance-weighted k-nearest-neighbor rule" (1976).
#pragma once

#include <array>
#include <cstdint>

#include "../array.h"

namespace rpnb {

// Neighbours that vote.
inline constexpr Index kNearest = 10;
// Slots are handled in blocks of this size; arrays of distances consist of whole blocks.
inline constexpr Index kSlotBlock = 64;

// Slots of the nearest rows, nearest first.
struct Nearest {
  std::array<Index, kNearest + 1> slots;  // the last entry is working memory
  Index found = 0;
};

// Find the rows nearest to x (d,) among those in the first `filled` slots of rows
// (at least d, slots), which holds one feature per row. `distance` (slots,) is working memory.
Nearest find_nearest(Matrix<const float> rows, Vector<const float> x, Index filled,
                     Vector<float> distance);

// The rows that a member keeps, slot by slot, and the classes that it knows.
struct Voters {
  Vector<const bool> active;          // (M,)
  Vector<const double> class_weight;  // (M,)
  Vector<const std::int64_t> labels;  // classes of the rows kept
  Vector<const double> weight;        // their weights
};

// Throw std::invalid_argument unless the rows in use, min(seen, slots), are of M classes.
void check_labels_kept(Vector<const std::int64_t> labels, std::int64_t seen, Index slots, Index M);

// Set the scores of the classes from their frequencies and the votes of the nearest rows.
void vote(const Voters& voters, const Nearest& nearest, Vector<double> scores);

}  // namespace rpnb
