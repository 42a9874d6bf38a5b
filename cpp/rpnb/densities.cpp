#include "densities.h"

#include <algorithm>

#include "../math.h"

namespace rpnb::bayes {

namespace {

constexpr double kLogTwo = 0.6931471805599453;
constexpr double kLogTwoPi = 1.8378770664093453;

// Write one column's density, or those of a vector of them; return the variances.
template <class V>
[[gnu::always_inline]] inline V write_density(const WithPrior& prior, V mean, V scatter,
                                              V& density_mean, V& precision) {
  const auto density = prior.density(mean, scatter);
  density_mean = density.mean;
  precision = 1.0 / density.variance;
  return density.variance;
}

// Derive the density of a class. With Learn, its moments first move by z.
template <bool Learn>
void derive(Gaussians& gaussians, Index m, View<double, 2> means, View<double, 2> scatters,
            const WithPrior& prior, const double* z, const Step& step) {
  const Index F = gaussians.columns();
  double* const mean = means[m].data();
  double* const scatter = scatters[m].data();
  double* const density_mean = gaussians.mean[m].data();
  double* const precision = gaussians.precision[m].data();
  Volume volume;
  Index f = 0;
  for (const Index whole = F - F % kDoubles; f < whole;) {
    for (const Index stop = std::min(f + Volume::kColumns, whole); f < stop; f += kDoubles) {
      Doubles mu = load(mean + f);
      Doubles s = load(scatter + f);
      if constexpr (Learn) {
        add_to(mu, s, load(z + f), step);
        store(mean + f, mu);
        store(scatter + f, s);
      }
      Doubles of_density;
      Doubles inverse;
      volume.multiply(write_density(prior, mu, s, of_density, inverse));
      store(density_mean + f, of_density);
      store(precision + f, inverse);
    }
    volume.normalise();
  }
  volume.end_of_vectors();
  for (; f < F; ++f) {
    if constexpr (Learn) add_to(mean[f], scatter[f], z[f], step);
    volume.multiply(write_density(prior, mean[f], scatter[f], density_mean[f], precision[f]));
  }
  gaussians.constant[m] = volume.log_density_at_mean(F);
  if (gaussians.version.size() == 0)
    gaussians.version = Array<std::int64_t, 1>({gaussians.classes()});
  ++gaussians.version[m];
}

}  // namespace

Gaussians Gaussians::empty(Index M, Index F) {
  Gaussians gaussians;
  gaussians.mean = Array<double, 2>({M, F});
  gaussians.precision = Array<double, 2>({M, F});
  gaussians.constant = Array<double, 1>({M});
  return gaussians;
}

void refresh(Gaussians& gaussians, Index m, const Moments& moments, const Prior& prior) {
  const WithPrior with_prior(prior, moments.weight[m]);
  derive<false>(gaussians, m, moments.mean, moments.scatter, with_prior, nullptr, {});
}

void learn_density(Gaussians& gaussians, Index m, Moments& moments, const Prior& prior,
                   Vector<const double> z, double weight) {
  const Step step = count_observation(moments, m, weight);
  const WithPrior with_prior(prior, moments.weight[m]);
  derive<true>(gaussians, m, moments.mean, moments.scatter, with_prior, z.data(), step);
}

double Volume::log_density_at_mean(Index F, Doubles mantissas, double rest, double powers) {
  const auto columns = static_cast<double>(F);
  double logarithms = log(rest);
  for (int lane = 0; lane < kDoubles; ++lane) logarithms += log(mantissas[lane]);
  logarithms += (powers - 1023.0 * columns) * kLogTwo;
  return -0.5 * (columns * kLogTwoPi + logarithms);
}

}  // namespace rpnb::bayes
