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
// From where on scores below the best class are compressed, and by how much in the end.
constexpr double kLowest = -6.0;
constexpr double kBeyond = 6.0;
constexpr double kMemory = 0.995;
constexpr double kClassMemory = 0.99;
constexpr double kRidge = 30.0;
// Of the temperature.
constexpr double kSlowMemory = 0.999;
constexpr double kSlowRidge = 0.03;
constexpr double kLeastPower = 0.2;
constexpr double kMostPower = 4.0;
// Of the share of labels that are noise.
constexpr double kLeastNoise = 1e-4;
constexpr double kMostNoise = 0.5;
constexpr double kFirstRows = 50.0;
constexpr double kMostRows = 1000.0;

// Working space for one row. Columns are padded to a multiple of four; those of no class
// are zero.
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
        logs(space.take_zeros<double>(C)),
        ones(space.take<double>(C)),
        penalty(space.take<double>(C)),
        mean(space.take<double>(K)),
        gradient(space.take<double>(K)),
        factor(space.take<double>(K, K)) {
    ones.fill(1.0);
    penalty.fill(-kInfinity);
  }

  // Take note of which classes are active.
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
  Vector<double> tempered;
  Vector<double> logs;  // log P
  Vector<double> ones;
  Vector<double> penalty;  // 0 for active classes, −∞ for others and for padding
  Vector<double> mean;
  Vector<double> gradient;
  Matrix<double> factor;
};

Index count_active(const Pool& pool) {
  Index count = 0;
  for (const bool active : pool.active) count += static_cast<Index>(active);
  return count;
}

// Set `posterior` to exp(power·logs) over its sum, and return that sum's logarithm.
//
// Classes that are not active get 0; `highest` is the largest of power·logs.
double normalise(const Pool& pool, Vector<const double> logs, double power, double highest,
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
  return highest + log(total);
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

// Set f, each member's best class, log P and P; return the best class.
Index combine(const Pool& pool, Matrix<const double> scores, const RowSpace& space) {
  const Index K = space.K;
  const Index M = space.M;
  double* const __restrict logs = space.logs.data();
  std::copy_n(pool.class_terms[K].data(), M, logs);
  for (Index k = 0; k < K; ++k) {
    const double* const __restrict added = pool.class_terms[k].data();
    double* const __restrict f = space.f[k].data();
    std::copy_n(scores[k].data(), M, f);
    const Index top = best_class(space, f);
    space.best[k] = top;
    if (top < 0) return -1;
    const double highest = f[top];
    const double w = pool.weights[k];
    for (Index c = 0; c < M; ++c) {
      const double value = f[c] - highest;
      // Written so that NaN and ±∞ become −6: of a class that is not active, or that
      // members do not know yet where labels come late.
      const double x = value <= kLowest && value > -kInfinity ? kLowest - value : 0.0;
      const double low = (kLowest - kBeyond) + kBeyond * kBeyond / (kBeyond + x);
      f[c] = value > kLowest && value <= 0.0 ? value : low;
      logs[c] += (w + added[c]) * f[c];
    }
  }
  const Index label = best_class(space, logs);
  const double shift = normalise(pool, space.logs, 1.0, logs[label], space.posterior);
  for (Index c = 0; c < M; ++c) logs[c] -= shift;
  return label;
}

// Set `tempered` to Q.
void temper(const Pool& pool, const RowSpace& space) {
  double highest = -kInfinity;
  for (Index c = 0; c < space.M; ++c) {
    if (pool.active[c]) highest = std::max(highest, space.logs[c]);
  }
  const double power = pool.power[0];
  normalise(pool, space.logs, power, power * highest, space.tempered);
}

// Set `out` to log P', −∞ for classes not active.
void give_out(const Pool& pool, const RowSpace& space, Vector<double> out) {
  const Index active = count_active(pool);
  if (active == 0) {
    out.fill(-kInfinity);
    return;
  }
  temper(pool, space);
  const double noise = pool.noise[0];
  const double floor = noise / static_cast<double>(active);
  for (Index c = 0; c < space.M; ++c) out[c] = (1.0 - noise) * space.tempered[c] + floor;
  fill_logs(out);
  for (Index c = 0; c < space.M; ++c) out[c] = pool.active[c] ? out[c] : -kInfinity;
}

// Count a row, and which members got it wrong.
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

// Move τ by a Newton step of the log-loss of P', and ε; return r.
double learn_power(Pool& pool, const RowSpace& space, Index y) {
  temper(pool, space);
  double mean = 0.0;
  double square = 0.0;
  for (Index c = 0; c < space.M; ++c) {
    if (pool.active[c]) {
      mean += space.tempered[c] * space.logs[c];
      square += space.tempered[c] * space.logs[c] * space.logs[c];
    }
  }
  double h = kSlowMemory * pool.power_curvature[0] + kSlowRidge;
  h += std::max(square - mean * mean, 0.0);
  pool.power_curvature[0] = h;
  double noise = pool.noise[0];
  const double right = (1.0 - noise) * space.tempered[y];
  const double trust = right / (right + noise / static_cast<double>(count_active(pool)));
  const double power = pool.power[0] - trust * (mean - space.logs[y]) / h;
  pool.power[0] = std::min(std::max(power, kLeastPower), kMostPower);
  // This row has been counted already.
  const double rows = std::min(static_cast<double>(pool.seen[0] - 1) + kFirstRows, kMostRows);
  noise += ((1.0 - trust) - noise) / rows;
  pool.noise[0] = std::min(std::max(noise, kLeastNoise), kMostNoise);
  return trust;
}

// Replace b by H⁻¹ b, by Cholesky's factor L, for which there is space.
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

// Move w by a Newton step of the log-loss.
void learn_weights(Pool& pool, const RowSpace& space, Index y, double trust) {
  const Index K = space.K;
  const Index C = space.C;
  for (Index k = 0; k < K; ++k) {
    const double* const f = space.f[k].data();
    double* const weighted = space.weighted[k].data();
    for (Index c = 0; c < C; ++c) weighted[c] = space.posterior[c] * f[c];
    double total = 0.0;
    for (Index c = 0; c < C; ++c) total += weighted[c];
    space.mean[k] = total;
    space.gradient[k] = trust * (total - f[y]);
  }
  const Matrix<double> H = pool.curvature;
  for (Index k = 0; k < K; ++k) {
    for (Index j = 0; j <= k; ++j) {
      Doubles lanes = repeat(0.0);
      for (Index c = 0; c < C; c += kDoubles) {
        lanes = fused(load(space.f[k].data() + c), load(space.weighted[j].data() + c), lanes);
      }
      const double covariance = trust * (sum(lanes) - space.mean[k] * space.mean[j]);
      double value = kMemory * H(k, j) + 0.5 * (covariance + space.gradient[k] * space.gradient[j]);
      if (k == j) value += (1.0 - kMemory) * kRidge;
      H(k, j) = value;
      H(j, k) = value;
    }
  }
  solve_small(H, space.gradient, space.factor);
  for (Index k = 0; k < K; ++k) {
    pool.weights[k] = std::max(0.0, pool.weights[k] - space.gradient[k]);
  }
}

// Move what active classes add to the weights, and their constants.
void learn_class_terms(Pool& pool, const RowSpace& space, Index y, double weight, double trust) {
  const Index K = space.K;
  const Index M = space.M;
  const double beyond = trust * std::max(weight - 1.0, 0.0);
  const double share = trust * weight;
  // What is the same for all members, in the space of what is used no more.
  double* const slope = space.tempered.data();
  double* const spread = space.logs.data();
  for (Index c = 0; c < M; ++c) {
    const double P = space.posterior[c];
    slope[c] = P - static_cast<double>(c == y);
    spread[c] = share * P * (1.0 - P) + beyond * std::abs(slope[c]);
  }
  for (Index c = 0; c < M; ++c) slope[c] *= share;
  for (Index k = 0; k <= K; ++k) {
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
  }
}

// Learn a row whose f, log P and P are in `space`.
void learn_row(Pool& pool, const RowSpace& space, Index y, double weight) {
  const double trust = learn_power(pool, space, y);
  learn_weights(pool, space, y, trust);
  learn_class_terms(pool, space, y, weight, trust);
}

// Add an entry to the history; where that fills it, keep every second entry.
void record(Pool& pool) {
  const Index K = pool.members();
  const Index length = pool.history.size();
  Index at = pool.clock[0];
  const auto entry = pool.history[at];
  entry[0] = static_cast<double>(pool.seen[0]);
  entry[1] = pool.weight[0];
  std::copy_n(pool.mistakes.data(), K + 1, &entry[2]);
  std::copy_n(pool.weights.data(), K, &entry[K + 3]);
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
  space.find_active(pool);
  for (Index i = 0; i < predicted.size(); ++i) {
    Index label = combine(pool, scores[i], space);
    predicted[i] = label;
    if (log_posteriors.size() > 0) give_out(pool, space, log_posteriors[i]);
    if (!labels.known(i)) continue;
    const std::int64_t y = labels.y[i];
    if (learned_from.size() > 0) label = combine(pool, learned_from[i], space);
    if (label >= 0) {
      count(pool, space.best, label, y, labels.weight[i]);
      if (pool.active[y]) learn_row(pool, space, y, labels.weight[i]);
    } else {
      count_unpredicted(pool, labels.weight[i]);
    }
    if (!pool.active[y]) {
      pool.active[y] = true;
      space.find_active(pool);
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
    predicted[i] = combine(pool, scores[i], space);
    if (log_posteriors.size() > 0) give_out(pool, space, log_posteriors[i]);
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
    if (pool.seen[0] % pool.clock[1] == 0) record(pool);
  }
}

}  // namespace rpnb
