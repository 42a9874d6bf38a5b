// Projections whose entries are mostly zero (Li, Hastie & Church, "Very sparse random
// projections", KDD 2006).
//
// An entry is −√s, 0, √s with probabilities 1/(2s), 1 − 1/s, 1/(2s), where s = √p. A row of
// the matrix has F/s non-zeros on average, so that the time to project an observation with
// few non-zeros decreases with p. The matrix is kept as compressed rows, √p·F entries
// in all, and drawn by skipping a geometric number of zeros at a time.
#pragma once

#include <cstdint>

#include "../rows.h"

namespace rpnb {

class VerySparse {
 public:
  // Draw the rows that belong to `features` (p,), of which there is at least one.
  //
  // Between two entries of a row there is a geometric number of zeros. The t-th such number
  // of a row is a function of (seed, feature, t), hence a row's first columns do not depend
  // on how many there are.
  static VerySparse draw(std::uint64_t seed, Vector<const std::uint64_t> features, Index F);

  // Project rows into Z (n, F): equation (2) of the paper.
  //
  // The additions are those of `project` by the same matrix with its zeros, in the same
  // order: zeros, of x or of R, change no sum.
  void project(const RowBlock& rows, double scale, Matrix<double> Z) const;

  [[nodiscard]] Index p() const { return starts_.size() - 1; }
  [[nodiscard]] Index F() const { return F_; }
  // (p + 1,) where the entries of each row start, and the end of the last.
  [[nodiscard]] Vector<const std::int64_t> starts() const { return starts_; }
  // The column f of a positive entry, −1 − f of a negative one; rising in f.
  [[nodiscard]] Vector<const std::int32_t> entries() const { return entries_; }
  // √s, rounded to single precision as the entries of all distributions are.
  [[nodiscard]] double size() const { return size_; }

 private:
  VerySparse() = default;

  Array<std::int64_t, 1> starts_;
  Array<std::int32_t, 1> entries_;
  double size_ = 0.0;
  Index F_ = 0;
};

}  // namespace rpnb
