// Counter-based random numbers: functions of a seed and a counter, without state.
//
// Entry (feature, member, column) of a projection is computed from the seed and these
// three numbers only. A model therefore stores only the seed, member k does not depend on
// the number of members, and a feature that appears late gets its row without changing the
// others. The bits are those of Philox-4x32 with ten rounds
// (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
// Everything here uses only integer operations and correctly rounded floating-point ones
// (+, ×, ÷, √), so that every machine gets the same numbers to the bit.
#pragma once

#include <array>
#include <cstdint>

#include "array.h"

namespace rpnb {

// 128 random bits: the output of Philox for a counter of four words.
using Counter = std::array<std::uint32_t, 4>;
Counter philox(const Counter& counter, std::uint64_t seed);

// Fill `bits` (4·n,) with the outputs of Philox for n counters, four words each: the words of
// counter t are first[t] and second[t], 32 bits each, then the feature's low and high half.
void fill_bits(std::uint64_t seed, std::uint64_t feature, Vector<const std::uint64_t> first,
               Vector<const std::uint64_t> second, Vector<std::uint32_t> bits);

// Replace each counter, a column of `counters` (4, n) whose words use 32 bits, by its output.
void philox_columns(Matrix<std::uint64_t> counters, std::uint64_t seed);

// Fill `words` (F,) with 32 random bits for each column's entry for `feature`.
//
// Column f = k·q + j belongs to member k. One counter serves four columns of a member,
// so an entry depends on (seed, feature, k, j) only. The bits are given as a signed
// number, −2³¹ … 2³¹ − 1.
void fill_feature_words(std::uint64_t seed, std::uint64_t feature, Index q,
                        Vector<std::int32_t> words);

// Turn 32 random bits per entry into standard normal numbers, by inversion.
//
// The bits select one of 2³² equal cells of (−½, ½), whose middle, never 0 or ±½, is u:
// out = Φ⁻¹(½ + u).
void fill_normal(Vector<const std::int32_t> words, Vector<double> out);

}  // namespace rpnb
