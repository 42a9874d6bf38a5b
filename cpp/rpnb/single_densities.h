// Scores in single precision with error bounds.
//
// Most labels are decided by a wide margin, and single precision finds them at twice the
// speed. A single-precision score comes with a bound on its distance from the
// double-precision score of scoring.h, which defines the label. Where the bounds of two
// classes overlap, the caller computes the double-precision scores of those classes, so a
// label never depends on single precision.
//
// To keep the bound small, observations are first centred by an origin x₀, the mean of some
// rows. With z₀ its projection, z' = z − z₀ and μ' = μ − z₀, the score of a class is
//
//   constant − ½ Σ μ'²/σ²  +  Σ z'·(μ'/σ² − ½ z'/σ²),
//
// two fused operations per column, where `square` is −½/σ² and `linear` is μ'/σ².
#pragma once

#include <algorithm>
#include <cmath>

#include "densities.h"
#include "scoring.h"

namespace rpnb::bayes {

// Columns summed in single precision, in eight lanes or more, before the sums are converted
// to double. This many columns of eight rows stay in the first-level cache while all classes
// are scored.
inline constexpr Index kPanel = 1024;

// The densities of M classes in single precision, relative to the origin.
struct SingleDensities {
  Array<float, 2> square;           // −½/σ²
  Array<float, 2> linear;           // (μ − z₀)/σ²
  Array<double, 1> constant;        // log density at the mean, minus half of mean_norm²
  Array<double, 1> mean_norm;       // √(Σ (μ − z₀)²/σ²)
  Array<double, 1> precision_norm;  // √(Σ 1/σ²)
  Array<double, 1> origin;          // z₀
  // The `Gaussians::version` of each class. Not part of the record; initially empty.
  Array<std::int64_t, 1> version;

  static constexpr auto fields() {
    return std::tuple{field("square", &SingleDensities::square, "M F"),
                      field("linear", &SingleDensities::linear, "M F"),
                      field("constant", &SingleDensities::constant, "M"),
                      field("mean_norm", &SingleDensities::mean_norm, "M"),
                      field("precision_norm", &SingleDensities::precision_norm, "M"),
                      field("origin", &SingleDensities::origin, "F")};
  }

  // Densities of M classes; set the origin, then fill them by `refresh`.
  static SingleDensities empty(Index M, Index F);
};

// Compute class m's single-precision density from its double-precision density.
void refresh(SingleDensities& densities, Index m, const Gaussians& gaussians);

// The number of outdated densities; and their update.
Index count_outdated(const SingleDensities& densities, const Gaussians& gaussians);
void refresh_outdated(SingleDensities& densities, const Gaussians& gaussians);

// Add z (F,) to class m's moments and update its single-precision density.
//
// Where single-precision scores decide the labels, double-precision densities are hardly ever
// read. So when a class learns, its moments and its single-precision density are updated in
// one loop over the columns; the double-precision density is refreshed on demand. This saves
// a double-precision division per column, and writing as many bytes as the moments take.
//
// The moments and the class's constant get the same bits as by `learn_density`; mean and
// precision in `gaussians` are not updated. The single-precision density is that of
// `refresh`, up to rounding errors that the error bounds include. Returns false where
// variances are beyond single precision: the caller must then refresh it from the
// double-precision density.
bool learn_into_singles(SingleDensities& densities, Gaussians& gaussians, Index m, Moments& moments,
                        const Prior& prior, Vector<const double> z, double weight);

// Write single-precision scores (n, M), without prior, of classes first … last − 1 for
// centred rows Z (n, F), n a multiple of four.
void score_centred(Matrix<const float> Z, const SingleDensities& densities, Index first, Index last,
                   Matrix<double> scores);

// Write the scores (M,) of one centred row z (F,).
void score_one(Vector<const float> z, const SingleDensities& densities, Vector<double> scores);

// Error bounds of a row that was projected in single precision.
struct RowError {
  double projection;  // bound on the absolute error of any entry of its projection
  double norm;        // bound on the entries themselves
};

// The number of features summed at once, in any order. Very many features are divided into
// groups: BLAS sums each group, and the sums of the groups are added, which keeps the error
// bound small. With fewer features one sum is faster, and the larger bound costs less than
// additional sums.
inline constexpr Index kFeaturesPerSum = 256;
inline Index features_per_sum(Index p) { return p <= 4 * kFeaturesPerSum ? p : kFeaturesPerSum; }

// Subtracts the origin from rows and bounds the error of their projections.
class Centring {
 public:
  // `max_column_norm` is the largest Euclidean norm of a column of the projection matrix: by
  // Cauchy and Schwarz no entry exceeds |x|·max_column_norm. `scale` is 1/√q.
  Centring(Vector<const double> x0, double scale, double max_column_norm);

  // Write scale·(x − x₀) in single precision to `out`; bound the error of its projection by
  // a single-precision product, compared with the double-precision projection.
  RowError centre(Vector<const double> x, Vector<float> out) const;

 private:
  Vector<const double> x0_;
  double scale_;
  double max_column_norm_;
  double away_;       // |x₀|
  double roundings_;  // of an entry of the product
};

// Subtract the projected origin z₀ from a projected row z; see `Centring`.
//
// Rounding z − z₀ to single precision is a relative error, which the bound of the sum
// includes; the projection's error is only what underflows single precision.
RowError centre_projected(Vector<const double> z, Vector<const double> z0, Vector<float> out);

// γ, the relative error of a score's terms including their summation.
//
// A lane adds every eighth column of a panel; γ is Higham's (2002, section 3.1) for that
// number of terms, and 16 rounding errors of a term besides: of `square`, `linear`, z and
// products.
inline double summation_error(Index F) {
  const Index lane = std::min(F, kPanel) / kSingles + 1;
  return static_cast<double>(lane + 16) * kSingleRoundoff * 1.01;
}

// The part of the error bounds that all classes' scores for one row share.
//
// Let e be the projection's error, W = Σ 1/σ², P = Σ (μ − z₀)²/σ² and Q = Σ ((z − μ)/σ)².
// Changing every z by at most e changes the score by at most e·√(W·Q) + ½·W·e² (Cauchy and
// Schwarz), and rounding changes it by at most γ times the sum of the terms' absolute
// values, which is at most ½·(√Q + √P)² + √P·(√Q + √P) + ½·P. Q follows from the score
// itself, up to its error: the factor 1.05 and the terms added to the observed distance make
// it an upper bound. docs/explanation/passes.md has the derivation.
//
// V is a number, or a vector of the numbers of four classes: `value` is the single-precision
// score, `constant` the class's log density at its mean, `p` and `w` are √P and √W. A bound
// is NaN if the score overflowed single precision.
class ErrorBounds {
 public:
  ErrorBounds(Index F, const RowError& row)
      : gamma_(summation_error(F)),
        error_(row.projection),
        underflow_(static_cast<double>(F) * kSmallestSingle * (1.0 + row.norm * (1.0 + row.norm))),
        doubles_(static_cast<double>(F + 64) * kDoubleRoundoff) {}

  // Bound of |single-precision − double-precision score|.
  [[nodiscard]] double bound(double value, double constant, double p, double w, double bias) const {
    const double e = error_ * w;
    const double Q = distance(value, constant, e * e, p * p);
    const double q = std::sqrt(Q);
    double bound = e * q + 0.5 * (e * e);
    bound += gamma_ * ((q + p) * (0.5 * (q + p) + p) + 0.5 * p * p);
    bound += underflow_;
    bound += doubles_ * (Q + p * p + std::abs(constant) + std::abs(bias));
    return bound + 0.0 * value;
  }

  // An upper bound of `bound` without the square root, which takes most of its time.
  //
  // √x·√y is at most ½(x/θ + θ·y) for any θ > 0. θ = 2⁻¹⁴ for the projection error and θ = 1
  // for rounding leave the bound far below usual differences of two scores. The factor 1.001
  // covers the rounding errors of this sum and of the other.
  template <class V>
  [[nodiscard, gnu::always_inline]] V quick(V value, V constant, V p, V w, V bias) const {
    const V e = error_ * w;
    const V P = p * p;
    const V Q = distance(value, constant, e * e, P);
    V bound = (0.5 + 0x1p13) * (e * e) + 0x1p-15 * Q;
    bound = bound + gamma_ * (1.5 * Q + 3.0 * P);
    bound = bound + underflow_;
    bound = bound + doubles_ * (Q + P + magnitude(constant) + magnitude(bias));
    return 1.001 * bound + 0.0 * value;
  }

 private:
  // An upper bound of Q.
  template <class V>
  [[nodiscard, gnu::always_inline]] V distance(V value, V constant, V e2, V P) const {
    const V seen = 2.0 * (constant - value);
    return 1.05 * ((seen > 0.0 ? seen : seen - seen) + 52.0 * e2 + 6.0 * gamma_ * P);
  }
  template <class V>
  [[gnu::always_inline]] static V magnitude(V value) {
    return value < 0.0 ? -value : value;
  }

  double gamma_;
  double error_;
  double underflow_;
  double doubles_;
};

}  // namespace rpnb::bayes
