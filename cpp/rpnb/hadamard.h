// Projections by Walsh-Hadamard transforms: p·log p additions, no matrix.
//
// A block of p₂ columns is R = D H Π E H / √p₂ (as the structured random features of Yu,
// Suresh, Choromanski, Holtmann-Rice & Kumar, "Orthogonal random features", NIPS 2016, with a
// permutation): features are padded by zeros to a power of two, p₂; D and E hold random
// signs; H is the Hadamard matrix of order p₂, whose entries are ±1; Π is a random
// permutation. F columns take T = ⌈F/p₂⌉ blocks, each with its own Π and E.
//
// An entry is a sum of p₂ random signs over √p₂, nearly normal, of mean 0 and variance 1.
// Entries of one column are uncorrelated, and the columns of a block are orthogonal where p
// is a power of two, so that a whole block preserves all distances. One transform alone
// would give entries ±1: if one feature dominated, all columns would be alike.
#pragma once

#include <cstdint>

#include "../rows.h"

namespace rpnb {

class Hadamard {
 public:
  // Draw signs and permutations for `features` (p,), of which there is at least one.
  //
  // The sign of a feature is a function of (seed, feature), Π and E of a block are functions
  // of (seed, block, p₂). Hence a column does not depend on how many there are.
  static Hadamard draw(std::uint64_t seed, Vector<const std::uint64_t> features, Index F);

  // Project rows into Z (n, F): equation (2) of the paper.
  //
  // The additions are those of the fast transform, in a fixed order. A zero enters as +0,
  // whatever its sign and that of its feature, so that a sparse row has the bits of the same
  // row dense.
  void project(const RowBlock& rows, double scale, Matrix<double> Z) const;

  [[nodiscard]] Index p() const { return signs_.size(); }
  [[nodiscard]] Index F() const { return F_; }
  // (p,) D: ±1.
  [[nodiscard]] Vector<const float> signs() const { return signs_; }
  // (T, p₂) Π: for each input of the second transform, which output of the first.
  [[nodiscard]] Matrix<const std::int64_t> places() const { return places_; }
  // (T, p₂) E/√p₂.
  [[nodiscard]] Matrix<const double> weights() const { return weights_; }

 private:
  Hadamard() = default;

  Array<float, 1> signs_;
  Array<std::int64_t, 2> places_;
  Array<double, 2> weights_;
  Index F_ = 0;
};

}  // namespace rpnb
