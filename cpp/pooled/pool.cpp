#include "pool.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "../math.h"
#include "../simd.h"
#include "../workspace.h"

namespace rpnb {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Scores more than 6 below the best class are compressed to at most kBeyond further below.
constexpr double kLowest = -6.0;
constexpr double kBeyond = 6.0;
constexpr double kMemory = 0.995;
constexpr double kClassMemory = 0.99;
constexpr double kRidge = 30.0;
// Slows down the class weights v of classes with few rows.
constexpr double kClassRows = 10.0;
// Rows averaged by the means of weights and terms: a share of all, within these bounds.
constexpr double kLeastMean = 20.0;
constexpr double kMeanShare = 0.25;
constexpr double kMostMean = 2000.0;
// Curvature of α.
constexpr double kMixMemory = 0.998;
constexpr double kMixRidge = 10.0;
// Curvature and limits of the temperature τ.
constexpr double kSlowMemory = 0.999;
constexpr double kSlowRidge = 0.03;
constexpr double kLeastPower = 0.2;
constexpr double kMostPower = 4.0;
// Limits of the share ε of noisy labels, and lengths of its running mean.
constexpr double kLeastNoise = 1e-4;
constexpr double kMostNoise = 0.5;
constexpr double kFirstRows = 50.0;
constexpr double kMostRows = 1000.0;

// Working memory for one row. Columns are padded by zeros to a multiple of four.
struct RowSpace {
  RowSpace(Workspace& space, Index K, Index M)
      : K(K),
        M(M),
        C((M + kDoubles - 1) / kDoubles * kDoubles),
        f(space.take_zeros<double>(K, C)),
        weighted(space.take_zeros<double>(K, C)),
        best(space.take<Index>(K)),
        posterior(space.take_zeros<double>(C)),
        tempered(space.take_zeros<double>(C)),
        given(space.take_zeros<double>(C)),
        logs(space.take_zeros<double>(C)),
        apart(space.take_zeros<double>(C)),
        mixed(space.take_zeros<double>(C)),
        ones(space.take<double>(C)),
        penalty(space.take<double>(C)),
        mean(space.take<double>(K)),
        gradient(space.take<double>(K)),
        factor(space.take<double>(K, K)) {
    ones.fill(1.0);
    penalty.fill(-kInfinity);
  }

  // Update the penalties after a class has become active.
  void find_active(const Pool& pool) const {
    for (Index c = 0; c < M; ++c) penalty[c] = pool.active[c] ? 0.0 : -kInfinity;
  }

  Index K;
  Index M;
  Index C;
  Matrix<double> f;         // clipped scores
  Matrix<double> weighted;  // P·f
  Vector<Index> best;       // each member's best class
  Vector<double> posterior;
  Vector<double> tempered;  // Q
  Vector<double> given;     // P'
  Vector<double> logs;      // L
  Vector<double> apart;     // L − L̄
  Vector<double> mixed;     // log P̃, less the largest
  Vector<double> ones;
  Vector<double> penalty;  // 0 for active classes, −∞ for others and for padding
  Vector<double> mean;
  Vector<double> gradient;
  Matrix<double> factor;
};

// Set `posterior` to exp(power·logs) over its sum, 0 for classes that are not active.
//
// `highest` is the largest of power·logs.
void normalise(const Pool& pool, Vector<const double> logs, double power, double highest,
               Vector<double> posterior) {
  const Index M = pool.classes();
  const bool* const active = pool.active.data();
  double* const out = posterior.data();
  for (Index c = 0; c < M; ++c) out[c] = active[c] ? power * logs[c] - highest : 0.0;
  fill_exponentials(posterior.slice(0, M), kLeastExponent);
  double total = 0.0;
  for (Index c = 0; c < M; ++c) {
    out[c] = active[c] ? out[c] : 0.0;
    total += out[c];
  }
  for (Index c = 0; c < M; ++c) out[c] /= total;
}

// The active class with the largest value, the first of equals; −1 if none is active.
//
// `values` is (C,), and may be anything where `penalty` is −∞.
Index best_class(const RowSpace& space, const double* values) {
  Doubles highest = repeat(-kInfinity);
  for (Index c = 0; c < space.C; c += kDoubles) {
    highest = greater(load(values + c) + load(space.penalty.data() + c), highest);
  }
  const double top = std::max(std::max(highest[0], highest[1]), std::max(highest[2], highest[3]));
  for (Index c = 0; c < space.C; c += kDoubles) {
    const Doubles penalty = load(space.penalty.data() + c);
    const unsigned found =
        equal_lanes(load(values + c), repeat(top)) & equal_lanes(penalty, repeat(0.0));
    if (found != 0) return c + std::countr_zero(found);
  }
  return -1;
}

// Set Q and P', given log P̃.
void temper(const Pool& pool, const RowSpace& space) {
  double rows = 0.0;
  for (Index c = 0; c < space.M; ++c) {
    if (pool.active[c]) rows += pool.class_weight[c] + 0.5;
  }
  normalise(pool, space.mixed, pool.power[0], 0.0, space.tempered);
  const double noise = pool.noise[0];
  for (Index c = 0; c < space.M; ++c) {
    const double share = noise / rows * (pool.class_weight[c] + 0.5);
    space.given[c] = (1.0 - noise) * space.tempered[c] + share;
  }
}

// Compute f, each member's best class, P, P̃, Q and P'; return the best class.
Index combine(const Pool& pool, Matrix<const double> scores, const RowSpace& space) {
  const Index K = space.K;
  const Index M = space.M;
  double* const __restrict logs = space.logs.data();
  double* const __restrict mixed = space.mixed.data();
  std::copy_n(pool.class_terms[K].data(), M, logs);
  std::copy_n(pool.mean_terms[K].data(), M, mixed);
  for (Index k = 0; k < K; ++k) {
    const double* const __restrict added = pool.class_terms[k].data();
    const double* const __restrict mean_added = pool.mean_terms[k].data();
    double* const __restrict f = space.f[k].data();
    std::copy_n(scores[k].data(), M, f);
    const Index top = best_class(space, f);
    space.best[k] = top;
    if (top < 0) return -1;
    const double highest = f[top];
    const double w = pool.weights[k];
    const double mean_w = pool.mean_weights[k];
    for (Index c = 0; c < M; ++c) {
      const double value = f[c] - highest;
      // Written so that NaN and ±∞ become −6: scores of classes that are not active, or that
      // delayed members do not know yet.
      const double x = value <= kLowest && value > -kInfinity ? kLowest - value : 0.0;
      const double low = (kLowest - kBeyond) + kBeyond * kBeyond / (kBeyond + x);
      f[c] = value > kLowest && value <= 0.0 ? value : low;
      logs[c] += (w + added[c]) * f[c];
      mixed[c] += (mean_w + mean_added[c]) * f[c];
    }
  }
  normalise(pool, space.logs, 1.0, logs[best_class(space, logs)], space.posterior);
  const double mix = pool.mix[0];
  for (Index c = 0; c < M; ++c) {
    space.apart[c] = logs[c] - mixed[c];
    mixed[c] += mix * space.apart[c];
  }
  const double highest = mixed[best_class(space, mixed)];
  for (Index c = 0; c < M; ++c) mixed[c] -= highest;
  temper(pool, space);
  return best_class(space, space.given.data());
}

// Write log P' to `out`, −∞ for classes that are not active.
void write_log_posteriors(const Pool& pool, const RowSpace& space, Index best, Vector<double> out) {
  if (best < 0) {
    out.fill(-kInfinity);
    return;
  }
  std::copy_n(space.given.data(), space.M, out.data());
  fill_logs(out);
  for (Index c = 0; c < space.M; ++c) out[c] = pool.active[c] ? out[c] : -kInfinity;
}

// Count a row, and the members that predicted it wrongly.
void count(Pool& pool, Vector<const Index> best, Index label, Index y, double weight) {
  const Index K = pool.members();
  for (Index k = 0; k < K; ++k) {
    if (best[k] != y) pool.mistakes[k] += weight;
  }
  if (label != y) {
    pool.mistakes[K] += weight;
    pool.seen[1] += 1;
  }
  pool.weight[0] += weight;
  pool.seen[0] += 1;
}

// r, the probability that the label of a row is not noise.
double trust_in(const Pool& pool, const RowSpace& space, Index y) {
  return (1.0 - pool.noise[0]) * space.tempered[y] / space.given[y];
}

// Slope and curvature of −log Q(y) along `values` (M,), where Q ∝ exp(s·values + …), s = 1.
struct Slope {
  Slope(const Pool& pool, const RowSpace& space, Vector<const double> values, Index y) {
    double mean = 0.0;
    double square = 0.0;
    for (Index c = 0; c < space.M; ++c) {
      if (pool.active[c]) {
        mean += space.tempered[c] * values[c];
        square += space.tempered[c] * values[c] * values[c];
      }
    }
    slope = mean - values[y];
    curvature = std::max(square - mean * mean, 0.0);
  }

  double slope;
  double curvature;
};

// Move α and τ by Newton steps of the log-loss of P', and ε; return r.
double learn_output(Pool& pool, const RowSpace& space, Index y) {
  const double trust = trust_in(pool, space, y);
  const double power = pool.power[0];
  const Slope of_mix(pool, space, space.apart, y);
  const Slope of_power(pool, space, space.mixed, y);
  double& mix_curvature = pool.mix_curvature[0];
  mix_curvature = kMixMemory * mix_curvature + (1.0 - kMixMemory) * kMixRidge +
                  power * power * of_mix.curvature;
  const double mix = pool.mix[0] - trust * power * of_mix.slope / mix_curvature;
  pool.mix[0] = std::min(std::max(mix, 0.0), 1.0);
  double& power_curvature = pool.power_curvature[0];
  power_curvature = kSlowMemory * power_curvature + kSlowRidge + of_power.curvature;
  const double next = power - trust * of_power.slope / power_curvature;
  pool.power[0] = std::min(std::max(next, kLeastPower), kMostPower);
  double noise = pool.noise[0];
  // This row is counted already.
  const double rows = std::min(static_cast<double>(pool.seen[0] - 1) + kFirstRows, kMostRows);
  noise += ((1.0 - trust) - noise) / rows;
  pool.noise[0] = std::min(std::max(noise, kLeastNoise), kMostNoise);
  return trust;
}

// Replace b by H⁻¹ b, by the Cholesky factor L, which is working memory.
void solve_small(Matrix<const double> H, Vector<double> b, Matrix<double> L) {
  const Index K = b.size();
  for (Index k = 0; k < K; ++k) {
    for (Index i = k; i < K; ++i) {
      double value = H(i, k);
      for (Index j = 0; j < k; ++j) value -= L(i, j) * L(k, j);
      L(i, k) = i == k ? std::sqrt(value) : value / L(k, k);
    }
  }
  for (Index k = 0; k < K; ++k) {
    for (Index j = 0; j < k; ++j) b[k] -= L(k, j) * b[j];
    b[k] /= L(k, k);
  }
  for (Index k = K - 1; k >= 0; --k) {
    for (Index j = k + 1; j < K; ++j) b[k] -= L(j, k) * b[j];
    b[k] /= L(k, k);
  }
}

// Compute g of a row.
void fill_gradient(const RowSpace& space, Index y, double trust) {
  for (Index k = 0; k < space.K; ++k) {
    const double* const f = space.f[k].data();
    double* const weighted = space.weighted[k].data();
    for (Index c = 0; c < space.C; ++c) weighted[c] = space.posterior[c] * f[c];
    double total = 0.0;
    for (Index c = 0; c < space.C; ++c) total += weighted[c];
    space.mean[k] = total;
    space.gradient[k] = trust * (total - f[y]);
  }
}

// An entry of r Cov_P f + g gᵀ.
double curvature(const RowSpace& space, Index k, Index j, double trust) {
  Doubles lanes = repeat(0.0);
  for (Index c = 0; c < space.C; c += kDoubles) {
    lanes = fused(load(space.f[k].data() + c), load(space.weighted[j].data() + c), lanes);
  }
  const double covariance = trust * (sum(lanes) - space.mean[k] * space.mean[j]);
  return covariance + space.gradient[k] * space.gradient[j];
}

// Fade H, and add half of each `entry(k, j)`.
template <typename Entry>
void add_curvature(Pool& pool, const Entry& entry) {
  const Matrix<double> H = pool.curvature;
  for (Index k = 0; k < pool.members(); ++k) {
    for (Index j = 0; j <= k; ++j) {
      double value = kMemory * H(k, j) + 0.5 * entry(k, j);
      if (k == j) value += (1.0 - kMemory) * kRidge;
      H(k, j) = value;
      H(j, k) = value;
    }
  }
}

// Update w by a Newton step on the log-loss, whose gradient is in `space`.
void step_weights(Pool& pool, const RowSpace& space) {
  solve_small(pool.curvature, space.gradient, space.factor);
  for (Index k = 0; k < space.K; ++k) {
    pool.weights[k] = std::max(0.0, pool.weights[k] - space.gradient[k]);
  }
}

// Update v and b of the active classes.
void learn_class_terms(Pool& pool, const RowSpace& space, Index y, double weight, double trust) {
  const Index K = space.K;
  const Index M = space.M;
  const double beyond = trust * std::max(weight - 1.0, 0.0);
  const double share = trust * weight;
  // Terms common to all members; these arrays are not needed any more.
  double* const slope = space.tempered.data();
  double* const spread = space.logs.data();
  for (Index c = 0; c < M; ++c) {
    const double P = space.posterior[c];
    slope[c] = P - static_cast<double>(c == y);
    spread[c] = share * P * (1.0 - P) + beyond * std::abs(slope[c]);
  }
  for (Index c = 0; c < M; ++c) slope[c] *= share;
  // The constants, in the last row, come first.
  for (Index k = K; k >= 0; --k) {
    const double ridge = (1.0 - kClassMemory) * pool.class_ridge[k];
    double* const __restrict terms = pool.class_terms[k].data();
    double* const __restrict curvature = pool.class_curvature[k].data();
    const bool* const __restrict active = pool.active.data();
    const double* const __restrict f = k < K ? space.f[k].data() : space.ones.data();
    for (Index c = 0; c < M; ++c) {
      const double h = kClassMemory * curvature[c] + ridge + spread[c] * f[c] * f[c];
      const double step = slope[c] * f[c] / h;
      curvature[c] = active[c] ? h : curvature[c];
      terms[c] = active[c] ? terms[c] - step : terms[c];
    }
    if (k == K) {
      for (Index c = 0; c < M; ++c) {
        const double rows = pool.class_weight[c] + 0.5;
        slope[c] *= rows / (rows + kClassRows);
      }
    }
  }
}

// Move the means towards the current weights and terms. The row is counted already.
void average(Pool& pool) {
  const double rows = kMeanShare * static_cast<double>(pool.seen[0]);
  const double rate = 1.0 / std::min(std::max(rows, kLeastMean), kMostMean);
  const auto follow = [rate](const double* now, double* mean, Index size) {
    for (Index i = 0; i < size; ++i) mean[i] += rate * (now[i] - mean[i]);
  };
  const Index K = pool.members();
  follow(pool.weights.data(), pool.mean_weights.data(), K);
  for (Index k = 0; k <= K; ++k) {
    follow(pool.class_terms[k].data(), pool.mean_terms[k].data(), pool.classes());
  }
}

// Learn a row, given its f, P, P̃, Q and P' in `space`.
void learn_row(Pool& pool, const RowSpace& space, Index y, double weight) {
  const double trust = learn_output(pool, space, y);
  fill_gradient(space, y, trust);
  add_curvature(pool, [&](Index k, Index j) { return curvature(space, k, j, trust); });
  step_weights(pool, space);
  learn_class_terms(pool, space, y, weight, trust);
  average(pool);
}

// Learn a row with a delayed label: `then` holds its terms at the prediction, `now` those at
// the arrival of its label.
//
// If both are equal, the result is that of `learn_row`, to the bit.
void learn_late_row(Pool& pool, const RowSpace& then, const RowSpace& now, Index y, double weight) {
  const double trust_now = trust_in(pool, now, y);
  const double trust_then = learn_output(pool, then, y);
  fill_gradient(then, y, trust_then);
  fill_gradient(now, y, trust_now);
  add_curvature(pool, [&](Index k, Index j) {
    return 0.5 * (curvature(then, k, j, trust_then) + curvature(now, k, j, trust_now));
  });
  for (Index k = 0; k < then.K; ++k) {
    then.gradient[k] = 0.5 * (then.gradient[k] + now.gradient[k]);
  }
  step_weights(pool, then);
  learn_class_terms(pool, now, y, weight, trust_now);
  average(pool);
}

// Add an entry to the history; when it is full, keep every second entry.
void record(Pool& pool) {
  const Index K = pool.members();
  const Index length = pool.history.size();
  Index at = pool.clock[0];
  const auto entry = pool.history[at];
  entry[0] = static_cast<double>(pool.seen[0]);
  entry[1] = pool.weight[0];
  std::copy_n(pool.mistakes.data(), K + 1, &entry[2]);
  for (Index k = 0; k < K; ++k) {
    const double mean = pool.mean_weights[k];
    entry[K + 3 + k] = mean + pool.mix[0] * (pool.weights[k] - mean);
  }
  at += 1;
  if (at == length) {
    at = length / 2;
    for (Index i = 0; i < at; ++i) {
      copy_into(pool.history[i], View<const double, 1>(pool.history[2 * i + 1]));
    }
    pool.clock[1] *= 2;
  }
  pool.clock[0] = at;
}

// Count a row that was learned before any class was active.
void count_unpredicted(Pool& pool, double weight) {
  for (double& mistakes : pool.mistakes) mistakes += weight;
  pool.weight[0] += weight;
  pool.seen[0] += 1;
  pool.seen[1] += 1;
}

}  // namespace

void pool_rows(Pool& pool, const View<const double, 3>& scores, const Labels& labels,
               Vector<std::int64_t> predicted, Matrix<double> log_posteriors,
               const View<const double, 3>& learned_from) {
  Workspace memory;
  const RowSpace space(memory, pool.members(), pool.classes());
  const bool late = learned_from.size() > 0;
  const RowSpace then(memory, late ? pool.members() : 0, late ? pool.classes() : 0);
  space.find_active(pool);
  if (late) then.find_active(pool);
  for (Index i = 0; i < predicted.size(); ++i) {
    Index label = combine(pool, scores[i], space);
    predicted[i] = label;
    if (log_posteriors.size() > 0) write_log_posteriors(pool, space, label, log_posteriors[i]);
    if (!labels.known(i)) continue;
    const std::int64_t y = labels.y[i];
    if (late) label = combine(pool, learned_from[i], then);
    if (label >= 0) {
      count(pool, late ? then.best : space.best, label, y, labels.weight[i]);
      if (pool.active[y] && late) {
        learn_late_row(pool, then, space, y, labels.weight[i]);
      } else if (pool.active[y]) {
        learn_row(pool, space, y, labels.weight[i]);
      }
    } else {
      count_unpredicted(pool, labels.weight[i]);
    }
    pool.class_weight[y] += labels.weight[i];
    if (!pool.active[y]) {
      pool.active[y] = true;
      space.find_active(pool);
      if (late) then.find_active(pool);
    }
    if (pool.seen[0] % pool.clock[1] == 0) record(pool);
  }
}

void predict_rows(const Pool& pool, const View<const double, 3>& scores,
                  Vector<std::int64_t> predicted, Matrix<double> log_posteriors) {
  Workspace memory;
  const RowSpace space(memory, pool.members(), pool.classes());
  space.find_active(pool);
  for (Index i = 0; i < predicted.size(); ++i) {
    const Index label = combine(pool, scores[i], space);
    predicted[i] = label;
    if (log_posteriors.size() > 0) write_log_posteriors(pool, space, label, log_posteriors[i]);
  }
}

void learn_scored_rows(Pool& pool, const View<const double, 3>& scores, const Labels& labels,
                       Vector<const std::int64_t> predicted) {
  Workspace memory;
  const RowSpace space(memory, pool.members(), pool.classes());
  space.find_active(pool);
  for (Index i = 0; i < labels.y.size(); ++i) {
    combine(pool, scores[i], space);
    const std::int64_t y = labels.y[i];
    count(pool, space.best, predicted[i], y, labels.weight[i]);
    if (pool.active[y]) learn_row(pool, space, y, labels.weight[i]);
    pool.class_weight[y] += labels.weight[i];
    if (pool.seen[0] % pool.clock[1] == 0) record(pool);
  }
}

}  // namespace rpnb
