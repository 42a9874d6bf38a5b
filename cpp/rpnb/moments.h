// Observed moments of each class: weight, mean and scatter of every column.
//
// Theorem 1 of the paper, and with it equations (7) to (10), gives the mean and the variance
// of all observations from those of two parts. The state is the weight of the observations,
// their mean and their *scatter*, the sum of squared deviations from the mean: in this form
// the theorem involves no cancellation. The prior's mean and variance are not observations;
// they are combined with the moments in densities.h.
#pragma once

#include "../record.h"

namespace rpnb::bayes {

// Moments of M classes and F columns: everything that a model has learned.
struct Moments {
  Array<double, 1> weight;   // total weight of the observations learned
  Array<double, 2> mean;     // their mean
  Array<double, 2> scatter;  // their summed squared deviations from the mean

  static constexpr auto fields() {
    return std::tuple{field("weight", &Moments::weight, "M"), field("mean", &Moments::mean, "M F"),
                      field("scatter", &Moments::scatter, "M F")};
  }

  // Moments of classes without observations: zeros.
  static Moments empty(Index M, Index F);

  [[nodiscard]] Index classes() const { return mean.size(0); }
  [[nodiscard]] Index columns() const { return mean.size(1); }
};

// How an observation of weight w changes a class of weight n, the same in all columns.
struct Step {
  double share;    // w/(n + w)
  double between;  // n·w/(n + w)
};

// Count an observation of weight w of class m.
[[gnu::always_inline]] inline Step count_observation(Moments& moments, Index m, double w) {
  const double before = moments.weight[m];
  const double share = w / (before + w);
  moments.weight[m] = before + w;
  return {share, before * share};
}

// Update mean and scatter, of one column or of a vector of them, by an observation z.
template <class V>
[[gnu::always_inline]] inline void add_to(V& mean, V& scatter, V z, const Step& step) {
  const V delta = z - mean;
  mean = mean + delta * step.share;
  scatter = scatter + delta * delta * step.between;
}

// Add one projected observation z (F,) to class m: equations (9) and (10).
//
// A weight w > 0 counts as w equal observations in one step, equations (7) and (8).
void add_observation(Moments& moments, Index m, Vector<const double> z, double weight);

// Multiply the weight of all that class m has learned by keepʷ, w being `weight`.
//
// The result is that of observations of smaller weight: the mean stays, weight and scatter
// shrink, and Theorem 1 still holds.
void fade(Moments& moments, Index m, double keep, double weight);

// Add the moments of class o of `other` to class m of `into`: Theorem 1.
//
// In the theorem's letters, with n the old weight and n' the other's, the new mean is
// μ + δ·n'/(n + n') and the scatters add, with (n·n'/(n + n'))·δ² on top, where δ is the
// difference of the means.
void merge(Moments& into, Index m, const Moments& other, Index o);

// Subtract the moments of class o of `part` from class m of `out`.
//
// The inverse of `merge`. Exact up to rounding if `part` was merged into `out` before. A
// scatter that rounding makes negative is set to zero.
void unmerge(Moments& out, Index m, const Moments& part, Index o);

// Set the moments of class m to zero.
void clear(Moments& moments, Index m);

}  // namespace rpnb::bayes
