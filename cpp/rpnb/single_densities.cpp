#include "single_densities.h"

namespace rpnb::bayes {

namespace {

// Bound on the factor by which sums of squares in single precision are too small.
constexpr double kSlack = 1.001;
// Variances and sums of precisions up to this, and their inverses, are normal numbers in
// single precision.
constexpr double kLargest = 0x1p120;
static_assert(kPanel + kDoubles <= Volume::kColumns);

// Rows scored at a time, so that a class's numbers are loaded once for all of them; their
// sums fit in registers.
#if defined(__AVX__)
constexpr int kRowsTogether = 8;
#else
constexpr int kRowsTogether = 4;
#endif

// Add the terms of `count` columns of `Rows` rows, which begin at z, to their scores under one
// class.
template <int Rows>
void add_terms(const float* z, Index F, const float* square, const float* linear, Index count,
               double* scores, Index next_row) {
  WideSingles lanes[Rows];
  for (WideSingles& each : lanes) each = WideSingles{};
  Index f = 0;
  for (; f + kWideSingles <= count; f += kWideSingles) {
    const WideSingles a = load<WideSingles>(square + f);
    const WideSingles b = load<WideSingles>(linear + f);
    for (int r = 0; r < Rows; ++r) {
      const WideSingles x = in_register(load<WideSingles>(z + r * F + f));
      lanes[r] = multiply_add(x, multiply_add(x, a, b), lanes[r]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    double total = sum(lanes[r]);
    // The columns that do not fill a vector.
    for (Index rest = f; rest < count; ++rest) {
      const float x = z[r * F + rest];
      total += static_cast<double>(x * (linear[rest] + x * square[rest]));
    }
    scores[r * next_row] += total;
  }
}

// Write the scores of one row under `Classes` classes from m on.
template <int Classes>
void score_classes(const float* z, Index F, const SingleDensities& densities, Index m,
                   double* scores) {
  const float* square = densities.square[m].data();
  const float* linear = densities.linear[m].data();
  for (int c = 0; c < Classes; ++c) scores[c] = densities.constant[m + c];
  for (Index start = 0; start < F; start += kPanel) {
    const Index stop = std::min(start + kPanel, F);
    WideSingles lanes[Classes];
    for (WideSingles& each : lanes) each = WideSingles{};
    Index f = start;
    for (; f + kWideSingles <= stop; f += kWideSingles) {
      const WideSingles x = in_register(load<WideSingles>(z + f));
      for (int c = 0; c < Classes; ++c) {
        const WideSingles slope = multiply_add(x, load<WideSingles>(square + c * F + f),
                                               load<WideSingles>(linear + c * F + f));
        lanes[c] = multiply_add(x, slope, lanes[c]);
      }
    }
    for (int c = 0; c < Classes; ++c) {
      double total = sum(lanes[c]);
      for (Index rest = f; rest < stop; ++rest) {
        const float slope = linear[c * F + rest] + z[rest] * square[c * F + rest];
        total += static_cast<double>(z[rest] * slope);
      }
      scores[c] += total;
    }
  }
}

}  // namespace

SingleDensities SingleDensities::empty(Index M, Index F) {
  SingleDensities densities;
  densities.square = Array<float, 2>({M, F});
  densities.linear = Array<float, 2>({M, F});
  densities.constant = Array<double, 1>({M});
  densities.mean_norm = Array<double, 1>({M});
  densities.precision_norm = Array<double, 1>({M});
  densities.origin = Array<double, 1>({F});
  return densities;
}

void refresh(SingleDensities& densities, Index m, const Gaussians& gaussians) {
  const Index F = gaussians.columns();
  const double* const mean = gaussians.mean[m].data();
  const double* const precision = gaussians.precision[m].data();
  const double* const origin = densities.origin.data();
  float* const square = densities.square[m].data();
  float* const linear = densities.linear[m].data();
  Doubles mean_squares[2] = {};
  Doubles precisions[2] = {};
  Index f = 0;
  for (; f + kSingles <= F; f += kSingles) {
    Doubles w[2];
    Doubles along[2];
    for (int half = 0; half < 2; ++half) {
      const Index at = f + half * kDoubles;
      w[half] = load(precision + at);
      const Doubles centred = load(mean + at) - load(origin + at);
      along[half] = w[half] * centred;
      mean_squares[half] = mean_squares[half] + along[half] * centred;
      precisions[half] = precisions[half] + w[half];
    }
    store(square + f, narrowed(-0.5 * w[0], -0.5 * w[1]));
    store(linear + f, narrowed(along[0], along[1]));
  }
  double mean_square = sum(mean_squares[0] + mean_squares[1]);
  double precision_sum = sum(precisions[0] + precisions[1]);
  for (; f < F; ++f) {
    const double w = precision[f];
    const double centred = mean[f] - origin[f];
    square[f] = static_cast<float>(-0.5 * w);
    linear[f] = static_cast<float>(w * centred);
    mean_square += w * centred * centred;
    precision_sum += w;
  }
  densities.mean_norm[m] = std::sqrt(mean_square);
  densities.precision_norm[m] = std::sqrt(precision_sum);
  densities.constant[m] = gaussians.constant[m] - 0.5 * mean_square;
  if (densities.version.size() == 0) {
    densities.version = Array<std::int64_t, 1>({gaussians.classes()});
    densities.version.fill(-1);
  }
  densities.version[m] = gaussians.version_of(m);
}

namespace {

bool is_outdated(const SingleDensities& densities, Index m, const Gaussians& gaussians) {
  return densities.version.size() == 0 || densities.version[m] != gaussians.version_of(m);
}

}  // namespace

Index count_outdated(const SingleDensities& densities, const Gaussians& gaussians) {
  Index count = 0;
  for (Index m = 0; m < gaussians.classes(); ++m) {
    count += static_cast<Index>(is_outdated(densities, m, gaussians));
  }
  return count;
}

void refresh_outdated(SingleDensities& densities, const Gaussians& gaussians) {
  for (Index m = 0; m < gaussians.classes(); ++m) {
    if (is_outdated(densities, m, gaussians)) refresh(densities, m, gaussians);
  }
}

bool learn_into_singles(SingleDensities& densities, Gaussians& gaussians, Index m, Moments& moments,
                        const Prior& prior, Vector<const double> z, double weight) {
  const Step step = count_observation(moments, m, weight);
  const WithPrior with_prior(prior, moments.weight[m]);
  const Index F = z.size();
  double* const mean = moments.mean[m].data();
  double* const scatter = moments.scatter[m].data();
  const double* const origin = densities.origin.data();
  float* const square = densities.square[m].data();
  float* const linear = densities.linear[m].data();
  // Add four columns of z to the moments; return their density.
  const auto learn_four = [&](Index f) {
    Doubles mu = load(mean + f);
    Doubles s = load(scatter + f);
    add_to(mu, s, load(z.data() + f), step);
    store(mean + f, mu);
    store(scatter + f, s);
    return with_prior.density(mu, s);
  };
  Volume volume;
  Doubles widest = repeat(0.0);
  double mean_square = 0.0;
  double precision_sum = 0.0;
  const Index whole = F - F % kSingles;
  for (Index start = 0; start < whole; start += kPanel) {
    const Index stop = std::min(start + kPanel, whole);
    Singles mean_squares = repeat(0.0F);
    Singles precisions = repeat(0.0F);
    for (Index f = start; f < stop; f += kSingles) {
      const auto low = learn_four(f);
      const auto high = learn_four(f + kDoubles);
      volume.multiply(low.variance);
      volume.multiply(high.variance);
      widest = greater(widest, greater(low.variance, high.variance));
      const Singles w = 1.0F / narrowed(low.variance, high.variance);
      const Singles centred =
          narrowed(low.mean - load(origin + f), high.mean - load(origin + f + kDoubles));
      const Singles along = w * centred;
      store(square + f, w * -0.5F);
      store(linear + f, along);
      mean_squares = multiply_add(along, centred, mean_squares);
      precisions = precisions + w;
    }
    volume.normalise();
    mean_square += sum(mean_squares);
    precision_sum += sum(precisions);
  }
  // The columns that do not fill a vector of eight, four at a time as in `learn_density`.
  Index f = whole;
  for (; f + kDoubles <= F; f += kDoubles) volume.multiply(learn_four(f).variance);
  volume.end_of_vectors();
  for (; f < F; ++f) add_to(mean[f], scatter[f], z[f], step);
  // The sum of the lanes is an upper bound of the largest variance.
  double most = sum(widest);
  for (f = whole; f < F; ++f) {
    const auto density = with_prior.density(mean[f], scatter[f]);
    if (f >= F - F % kDoubles) volume.multiply(density.variance);
    const double w = 1.0 / density.variance;
    const double centred = density.mean - origin[f];
    square[f] = static_cast<float>(-0.5 * w);
    linear[f] = static_cast<float>(w * centred);
    mean_square += w * centred * centred;
    precision_sum += w;
    most = std::max(most, density.variance);
  }
  const double constant = volume.log_density_at_mean(F);
  gaussians.constant[m] = constant;
  densities.constant[m] = constant - 0.5 * mean_square;
  densities.mean_norm[m] = std::sqrt(mean_square) * kSlack;
  densities.precision_norm[m] = std::sqrt(precision_sum) * kSlack;
  return precision_sum < kLargest && most < kLargest;
}

void score_centred(Matrix<const float> Z, const SingleDensities& densities, Index first, Index last,
                   Matrix<double> scores) {
  const Index n = Z.size(0);
  const Index F = Z.size(1);
  const Index M = scores.size(1);
  for (Index b = 0; b < n; ++b) {
    for (Index m = first; m < last; ++m) scores(b, m) = densities.constant[m];
  }
  // The rows' columns of a panel stay in the first-level cache while all classes are scored.
  for (Index start = 0; start < F; start += kPanel) {
    const Index count = std::min(kPanel, F - start);
    const float* const z = Z.data() + start;
    for (Index m = first; m < last; ++m) {
      const float* const square = densities.square[m].data() + start;
      const float* const linear = densities.linear[m].data() + start;
      double* const to = scores.data() + m;
      Index b = 0;
      for (; b + kRowsTogether <= n; b += kRowsTogether) {
        add_terms<kRowsTogether>(z + b * F, F, square, linear, count, to + b * M, M);
      }
      for (; b < n; b += 4) add_terms<4>(z + b * F, F, square, linear, count, to + b * M, M);
    }
  }
}

void score_one(Vector<const float> z, const SingleDensities& densities, Vector<double> scores) {
  constexpr int kClasses = 4;
  const Index M = densities.square.size(0);
  const Index F = z.size();
  Index m = 0;
  for (; m + kClasses <= M; m += kClasses) {
    score_classes<kClasses>(z.data(), F, densities, m, scores.data() + m);
  }
  for (; m < M; ++m) score_classes<1>(z.data(), F, densities, m, scores.data() + m);
}

Centring::Centring(Vector<const double> x0, double scale, double max_column_norm)
    : x0_(x0), scale_(scale), max_column_norm_(max_column_norm) {
  const Index p = x0.size();
  const Index group = std::max(features_per_sum(p), Index{1});
  double square = 0.0;
  for (const double x : x0) square += x * x;
  away_ = std::sqrt(square);
  const Index roundings = group + (p - 1) / group + 8;
  roundings_ = static_cast<double>(roundings);
}

RowError Centring::centre(Vector<const double> x, Vector<float> out) const {
  const auto p = static_cast<double>(x.size());
  double moved_square = 0.0;
  double square = 0.0;
  for (Index i = 0; i < x.size(); ++i) {
    const double centred = (x[i] - x0_[i]) * scale_;
    out[i] = static_cast<float>(centred);
    moved_square += centred * centred;
    square += x[i] * x[i];
  }
  const double moved = std::sqrt(moved_square);
  const double in_singles = roundings_ * kSingleRoundoff * 1.01 * moved;
  const double in_doubles = (2 * p + 16) * kDoubleRoundoff * scale_ * (std::sqrt(square) + away_);
  return {
      (in_singles + in_doubles) * max_column_norm_ + p * kSmallestSingle * (1.0 + max_column_norm_),
      moved * max_column_norm_};
}

RowError centre_projected(Vector<const double> z, Vector<const double> z0, Vector<float> out) {
  Doubles squares[2] = {};
  Index f = 0;
  for (; f + kSingles <= z.size(); f += kSingles) {
    Doubles centred[2];
    for (int half = 0; half < 2; ++half) {
      const Index at = f + half * kDoubles;
      centred[half] = load(z.data() + at) - load(z0.data() + at);
      squares[half] = squares[half] + centred[half] * centred[half];
    }
    store(out.data() + f, narrowed(centred[0], centred[1]));
  }
  double square = sum(squares[0] + squares[1]);
  for (; f < z.size(); ++f) {
    const double centred = z[f] - z0[f];
    out[f] = static_cast<float>(centred);
    square += centred * centred;
  }
  return {kSmallestSingle, std::sqrt(square)};
}

}  // namespace rpnb::bayes
