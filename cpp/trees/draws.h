// Random numbers of ensembles: functions of a seed, a member and a row.
#pragma once

#include <cstdint>

#include "../array.h"

namespace rpnb::trees {

// Where the random numbers of a pass begin.
struct Draws {
  std::uint64_t seed;
  Index member;  // number of the forest's first tree, if it is a part of an ensemble
  Index row;     // number of the pass's first row: rows learned before
};

// Makes the draws of bagging differ from those of boosting with the same seed.
enum class Purpose : std::uint32_t { kBagging = 1, kBoosting = 2 };

// Set `words` (n,) to 32 random bits for each of a member's rows from `row` on.
void fill_row_words(std::uint64_t seed, Purpose purpose, Index member, Index row,
                    Vector<std::uint32_t> words);

// Turn 32 random bits into a draw from the Poisson distribution of mean 1, by inversion.
double draw_poisson(std::uint32_t word);

// The same for any mean: the smallest k with Σ_{i≤k} meanⁱ/i! > U·e^mean, U uniform. From a
// mean of 100 on it is a normal draw of that mean and variance, rounded down, and at least 0.
double draw_poisson(std::uint32_t word, double mean);

}  // namespace rpnb::trees
