// The normal densities of the classes: their moments combined with the prior's.
//
// Predictions read only the densities, equation (4). They are derived from the moments
// whenever these change, which dominates the cost of streams with many mistakes: so
// `learn_density` updates moments and density in one loop over the columns.
#pragma once

#include <cstdint>

#include "../simd.h"
#include "moments.h"

namespace rpnb::bayes {

// Initial mean and variance of every column; they count as `weight` rows.
struct Prior {
  double mean;
  double variance;
  double weight;
  double floor;  // smallest variance that is used
};

// Normal densities of M classes, derived from moments and prior: equation (4).
struct Gaussians {
  Array<double, 2> mean;       // μ
  Array<double, 2> precision;  // 1/σ²
  Array<double, 1> constant;   // −Σ log(√(2π)·σ): a class's log density at its mean
  // Number of updates of each class, by which outdated copies are recognised. Not part of the
  // record; initially empty.
  Array<std::int64_t, 1> version;

  static constexpr auto fields() {
    return std::tuple{field("mean", &Gaussians::mean, "M F"),
                      field("precision", &Gaussians::precision, "M F"),
                      field("constant", &Gaussians::constant, "M")};
  }

  // Densities of M classes, to be filled by `refresh`.
  static Gaussians empty(Index M, Index F);

  [[nodiscard]] Index classes() const { return mean.size(0); }
  [[nodiscard]] Index columns() const { return mean.size(1); }
  [[nodiscard]] std::int64_t version_of(Index m) const {
    return version.size() > 0 ? version[m] : 0;
  }
};

// Derive class m's density: its moments combined with the prior by Theorem 1.
void refresh(Gaussians& gaussians, Index m, const Moments& moments, const Prior& prior);

// Do what `add_observation` and then `refresh` do, to the bit.
void learn_density(Gaussians& gaussians, Index m, Moments& moments, const Prior& prior,
                   Vector<const double> z, double weight);

// A larger variance might overflow when multiplied by the number of columns.
inline constexpr double kLargestVariance = 1e300;

// The factors that combine a class's moments with the prior by Theorem 1, the same in all columns.
class WithPrior {
 public:
  // For moments of total weight `seen`. If neither has any weight, the density is the
  // prior's.
  WithPrior(const Prior& prior, double seen) : mean_(prior.mean), floor_(prior.floor) {
    const double total = prior.weight + seen;
    const bool known = total > 0.0;
    scatter_ = known ? prior.weight * prior.variance : prior.variance;
    share_ = known ? prior.weight / total : 1.0;
    between_ = known ? prior.weight / total * seen : 0.0;
    inverse_ = known ? 1.0 / total : 1.0;
  }

  template <class V>
  struct Density {
    V mean;
    V variance;
  };

  // The density of one column, or of a vector of them.
  template <class V>
  [[gnu::always_inline]] Density<V> density(V mean, V scatter) const {
    const V delta = mean_ - mean;
    const V value = (scatter_ + scatter + delta * delta * between_) * inverse_;
    return {mean + delta * share_, limit(value, floor_, kLargestVariance)};
  }

 private:
  double mean_;
  double floor_;
  double scatter_;  // weight times variance
  double share_;    // the prior's share of the total weight
  double between_;  // factor of the squared distance of the two means
  double inverse_;  // one over the total weight
};

// The product of all variances, as mantissas and sums of exponents.
//
// So the product of F variances does not overflow, and its logarithm takes five logarithms
// instead of F. A mantissa is 1 ≤ m < 2; exponents are biased by 1023 per factor.
class Volume {
 public:
  // Most factors per lane between calls of `normalise`, and columns, four times as many.
  static constexpr Index kFactors = 512;
  static constexpr Index kColumns = kFactors * kDoubles;

  // Multiply by four variances. All vectors must come before the first single variance.
  [[gnu::always_inline]] void multiply(Doubles variance) {
    mantissas_ = mantissas_ * mantissa(variance);
    exponents_ = exponents_ + exponent(variance);
  }
  // Normalise the mantissas to [1, 2); before, they are below 2⁵¹³.
  void normalise() {
    exponents_ = exponents_ + (exponent(mantissas_) - 1023.0);
    mantissas_ = mantissa(mantissas_);
  }
  void end_of_vectors() {
    normalise();
    powers_ = sum(exponents_);
  }
  void multiply(double variance) {
    const double product = rest_ * variance;
    rest_ = mantissa(product);
    powers_ += exponent(product);
  }

  // −Σ log(√(2π)·σ) of F columns.
  [[nodiscard]] double log_density_at_mean(Index F) const {
    return log_density_at_mean(F, mantissas_, rest_, powers_);
  }

 private:
  // Takes values, so that the members can stay in registers.
  static double log_density_at_mean(Index F, Doubles mantissas, double rest, double powers);

  Doubles mantissas_ = repeat(1.0);
  Doubles exponents_ = repeat(0.0);
  double rest_ = 1.0;
  double powers_ = 0.0;
};

}  // namespace rpnb::bayes
