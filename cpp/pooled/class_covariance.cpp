#include "class_covariance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include "../math.h"
#include "../workspace.h"
#include "algebra/triangles.h"

namespace rpnb {

namespace {

// Weight of the mean of all rows in the mean of each class.
constexpr double kMeanWeight = 0.3;
// Everything is recomputed when the number of rows has grown by this factor.
constexpr double kGrowth = 1.15;
// Classes handled at once.
constexpr Index kLanes = kDoubles;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr Index groups_of(Index M) { return (M + kLanes - 1) / kLanes; }

// Set μ_cᵀ Ψ⁻¹ μ_c, which is read only if there are many classes.
void set_spread(ClassCovariance& state, Index c) {
  if (state.classes() <= ClassCovariance::kScored) return;
  const Index d = state.mean.size(1);
  Workspace space;
  const auto mean = space.take<double>(d);
  const auto v = space.take<double>(d);
  const double* const lane = state.mean[c / kLanes].data() + c % kLanes;
  for (Index j = 0; j < d; ++j) mean[j] = lane[kLanes * j];
  state.spread[c] = form<1>(state.prior_inverse.data(), mean, v);
}

void set_constant(ClassCovariance& state, Index c) {
  const auto d = static_cast<double>(state.mean.size(1));
  const double n = state.class_weight[c];
  const double kappa = n + kMeanWeight;
  const double nu = 2.0 * d + 1.0 + n - d + 1.0;
  state.constant[c] = log(n + 1.0) + lgamma(0.5 * (nu + d)) - lgamma(0.5 * nu) -
                      0.5 * (state.log_volume[c] + d * log((kappa + 1.0) / kappa));
}

// Working memory for scoring and learning rows. Terms that depend on the weight of a class
// are updated with it.
class Pass {
 public:
  Pass(const ClassCovariance& state, Workspace& space) {
    const Index G = state.mean.size(0);
    const Index d = state.mean.size(1);
    share_ = space.take_zeros<double>(kLanes * G);
    rest_ = space.take_zeros<double>(kLanes * G);
    factor_ = space.take_zeros<double>(kLanes * G);
    power_ = space.take_zeros<double>(kLanes * G);
    logs_ = space.take<double>(kLanes * G);
    x_ = space.take<double>(d);
    common_mean_ = space.take_zeros<double>(d);
    deltas_ = space.take<double>(kLanes * d);
    delta_ = space.take<double>(d);
    v_ = space.take<double>(d);
    chosen_ = space.take_zeros<bool>(G);
    logs_.fill(1.0);
    for (Index c = 0; c < state.classes(); ++c) {
      weigh_class(c, state.class_weight[c]);
      if (state.active[c]) activate(c);
    }
    if (state.classes() > ClassCovariance::kScored) {
      promise_ = space.take<double>(state.classes());
      sorted_ = space.take<double>(state.classes());
    }
  }

  void read_row(Vector<const float> row) {
    for (Index j = 0; j < x_.size(); ++j) x_[j] = row[j];
  }

  void score(const ClassCovariance& state, Vector<double> scores) {
    if (state.weight[0] > 0.0) {
      const double weight = state.weight[0];
      for (Index j = 0; j < x_.size(); ++j) common_mean_[j] = state.total[j] / weight;
    }
    if (active_ <= ClassCovariance::kScored) {
      score_chosen(state);
      for (Index c = 0; c < scores.size(); ++c) scores[c] = class_score(state, c);
    } else {
      score_promising(state, scores);
    }
  }

  // Learn the row as one of class c: mean, scatter, inverse and determinant.
  void observe(ClassCovariance& state, Index c, double weight) {
    const Index d = x_.size();
    if (!state.active[c]) activate(c);
    const double n = state.class_weight[c];
    const double after = n + weight;
    const double f = n * weight / after;
    double* const mean = state.mean[c / kLanes].data() + c % kLanes;
    for (Index j = 0; j < d; ++j) {
      delta_[j] = x_[j] - mean[kLanes * j];
      mean[kLanes * j] += weight / after * delta_[j];
      state.total[j] += weight * x_[j];
    }
    state.weight[0] += weight;
    state.class_weight[c] = after;
    state.active[c] = true;
    state.seen[0] += 1;
    weigh_class(c, after);
    if (f > 0.0) add_scatter(state, c, f);
    set_spread(state, c);
    set_constant(state, c);
  }

 private:
  void activate(Index c) {
    ++active_;
    chosen_[c / kLanes] = true;
  }

  void weigh_class(Index c, double n) {
    const auto d = static_cast<double>(x_.size());
    const double kappa = n + kMeanWeight;
    share_[c] = n / kappa;
    rest_[c] = kMeanWeight / kappa;
    factor_[c] = kappa / (kappa + 1.0);
    power_[c] = 0.5 * (2.0 * d + 1.0 + n + 1.0);
  }

  // Set log(1 + q) of the classes in the chosen groups; other entries are undefined.
  void score_chosen(const ClassCovariance& state) {
    const FormTerms terms{share_, rest_, factor_};
    fill_forms(state.inverse, state.mean, chosen_, x_, common_mean_, terms, deltas_, logs_);
    fill_logs(logs_);
  }

  [[nodiscard]] double class_score(const ClassCovariance& state, Index c) const {
    return state.constant[c] - power_[c] * logs_[c];
  }

  // Score the most promising classes; the others get the lowest of these scores.
  void score_promising(const ClassCovariance& state, Vector<double> scores) {
    fill_promises(state);
    copy_into(sorted_, Vector<const double>(promise_));
    double* const bound = sorted_.end() - ClassCovariance::kScored;
    // NaN, which only overflow can give, comes last, for a strict weak ordering.
    std::nth_element(sorted_.begin(), bound, sorted_.end(),
                     [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    const double least = *bound;
    chosen_.fill(false);
    for (Index c = 0; c < scores.size(); ++c) {
      if (promise_[c] >= least) chosen_[c / kLanes] = true;
    }
    score_chosen(state);
    double lowest = kInfinity;
    for (Index c = 0; c < scores.size(); ++c) {
      if (promise_[c] >= least) {
        scores[c] = class_score(state, c);
        lowest = std::min(lowest, scores[c]);
      }
    }
    for (Index c = 0; c < scores.size(); ++c) {
      if (promise_[c] < least) scores[c] = lowest;
    }
  }

  // Set the linear discriminants of the active classes, −∞ for the others.
  void fill_promises(const ClassCovariance& state) {
    const Index d = x_.size();
    form<1>(state.prior_inverse.data(), x_, v_);
    const double nu = 2.0 * static_cast<double>(d) + 1.0;
    promise_.fill(-kInfinity);
    for (Index c = 0; c < promise_.size(); ++c) {
      if (!state.active[c]) continue;
      const double* const mean = state.mean[c / kLanes].data() + c % kLanes;
      double product = 0.0;
      for (Index j = 0; j < d; ++j) product += mean[kLanes * j] * v_[j];
      const double distance = state.spread[c] - 2.0 * product;
      promise_[c] = log(state.class_weight[c] + 1.0) - 0.5 * nu * distance;
    }
  }

  // Add f·δδᵀ to the scatter of class c, and update the inverse and the determinant.
  void add_scatter(ClassCovariance& state, Index c, double f) {
    double* const entries = state.inverse[c / kLanes].data() + c % kLanes;
    double* const scatter = state.scatter[c].data();
    const double grown = 1.0 + f * form<kLanes>(entries, delta_, v_);
    for (Index j = 0; j < x_.size(); ++j) {
      const Index first = triangle_size(j);
      const double a = f * delta_[j];
      const double b = f / grown * v_[j];
      for (Index k = 0; k <= j; ++k) scatter[first + k] += a * delta_[k];
      for (Index k = 0; k <= j; ++k) entries[kLanes * (first + k)] -= b * v_[k];
    }
    if (grown >= 1.0) {
      state.log_volume[c] += log(grown);
    } else {  // rounding has made the inverse indefinite, as weights of very different size do
      state.refresh();
    }
  }

  Vector<double> share_;        // (4G,) weight of a class's mean in its centre
  Vector<double> rest_;         // (4G,) weight of the mean of all rows in it
  Vector<double> factor_;       // (4G,) κ/(κ + 1)
  Vector<double> power_;        // (4G,) half of ν + d
  Vector<double> logs_;         // (4G,) log(1 + q)
  Vector<double> x_;            // (d,) the row
  Vector<double> common_mean_;  // (d,) of all rows
  Vector<double> deltas_;       // (4d,)
  Vector<double> delta_;        // (d,) of the row from the mean of its class
  Vector<double> v_;            // (d,)
  Vector<bool> chosen_;         // (G,) groups that are scored
  Vector<double> promise_;      // (M,) if there are many classes
  Vector<double> sorted_;       // (M,)
  Index active_ = 0;
};

// Set the inverse of a class without rows to that of Ψ; `volume` is log |Ψ|.
void take_prior(ClassCovariance& state, Index c, double volume) {
  double* const lane = state.inverse[c / kLanes].data() + c % kLanes;
  for (Index i = 0; i < state.prior_inverse.size(); ++i) lane[kLanes * i] = state.prior_inverse[i];
  state.log_volume[c] = volume;
}

// Set Ψ.
void pool_scatters(ClassCovariance& state) {
  const auto d = static_cast<double>(state.mean.size(1));
  const Vector<double> prior = state.prior;
  prior.fill(0.0);
  double df = d;
  for (Index c = 0; c < state.classes(); ++c) {
    if (state.class_weight[c] > 0.0) {
      df += std::max(state.class_weight[c] - 1.0, 0.0);
      for (Index i = 0; i < prior.size(); ++i) prior[i] += state.scatter(c, i);
    }
  }
  for (Index j = 0; j < state.mean.size(1); ++j) prior[diagonal_entry(j)] += d;
  for (double& entry : prior) entry *= (2.0 * d + 1.0) / df;
}

// Recompute the inverses and determinants of up to four classes at once.
void refresh_classes(ClassCovariance& state, std::span<const Index> classes) {
  const Index P = state.prior.size();
  Workspace space;
  const auto matrix = space.take<Doubles>(P);
  const auto inverse = space.take<Doubles>(P);
  for (Index i = 0; i < P; ++i) matrix[i] = repeat(state.prior[i]);
  for (std::size_t lane = 0; lane < classes.size(); ++lane) {
    const auto scatter = state.scatter[classes[lane]];
    for (Index i = 0; i < P; ++i) matrix[i][lane] += scatter[i];
  }
  const Doubles volume = invert<Doubles>(matrix, state.mean.size(1), inverse);
  for (std::size_t lane = 0; lane < classes.size(); ++lane) {
    const Index c = classes[lane];
    state.log_volume[c] = volume[lane];
    double* const entries = state.inverse[c / kLanes].data() + c % kLanes;
    for (Index i = 0; i < P; ++i) entries[kLanes * i] = inverse[i][lane];
  }
}

// Reject a block that does not have n rows of d values.
void check_rows(const ClassCovariance& state, const Rows& rows, Index n) {
  require_length("low", rows.low.size(0), n);
  require_length("a row of low", rows.low.size(1), state.mean.size(1));
}

}  // namespace

void ClassCovariance::check() const {
  require_length("class_covariance.mean", mean.size(0), groups_of(active.size()));
  require_length("class_covariance.prior", prior.size(), triangle_size(mean.size(1)));
}

ClassCovariance ClassCovariance::begin(const Shape& shape, Vector<const bool> active) {
  const Index M = active.size();
  const Index G = groups_of(M);
  const Index d = shape.d;
  const Index P = triangle_size(d);
  ClassCovariance state;
  state.active = Array<bool, 1>({M});
  copy_into(state.active, active);
  state.class_weight = Array<double, 1>({M});
  state.mean = Array<double, 3>({G, d, kLanes});
  state.scatter = Array<double, 2>({M, P});
  state.inverse = Array<double, 3>({G, P, kLanes});
  state.log_volume = Array<double, 1>({M});
  state.constant = Array<double, 1>({M});
  state.spread = Array<double, 1>({M});
  state.total = Array<double, 1>({d});
  state.weight = Array<double, 1>({1});
  state.prior = Array<double, 1>({P});
  state.prior_inverse = Array<double, 1>({P});
  state.seen = Array<std::int64_t, 1>({1});
  state.next = Array<std::int64_t, 1>({1});
  state.refresh();
  return state;
}

void ClassCovariance::refresh() {
  pool_scatters(*this);
  const double volume = invert<double>(prior, mean.size(1), prior_inverse);
  std::array<Index, kLanes> with_rows;
  Index count = 0;
  for (Index c = 0; c < classes(); ++c) {
    if (class_weight[c] > 0.0) {
      with_rows[count++] = c;
      if (count == kLanes) {
        refresh_classes(*this, with_rows);
        count = 0;
      }
      set_spread(*this, c);
    } else {
      take_prior(*this, c, volume);
    }
  }
  if (count > 0) refresh_classes(*this, {with_rows.data(), static_cast<std::size_t>(count)});
  for (Index c = 0; c < classes(); ++c) set_constant(*this, c);
  const auto grown = static_cast<std::int64_t>(static_cast<double>(seen[0]) * kGrowth);
  next[0] = std::max(seen[0] + 1, grown);
}

void ClassCovariance::begin_classes(Vector<const std::int64_t> classes_begun) {
  const double volume = invert<double>(prior, mean.size(1), prior_inverse);
  for (const std::int64_t c : classes_begun) {
    take_prior(*this, c, volume);
    set_constant(*this, c);
  }
  for (Index c = 0; c < classes(); ++c) {
    if (class_weight[c] > 0.0) set_spread(*this, c);
  }
}

void ClassCovariance::score_rows(const Rows& rows, const Scores& scores) const {
  check_rows(*this, rows, scores.rows());
  Workspace space;
  Pass pass(*this, space);
  for (Index i = 0; i < scores.rows(); ++i) {
    pass.read_row(rows.low[i]);
    pass.score(*this, scores(i));
  }
}

void ClassCovariance::learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) {
  check_rows(*this, rows, labels.y.size());
  Workspace space;
  Pass pass(*this, space);
  for (Index i = 0; i < labels.y.size(); ++i) {
    pass.read_row(rows.low[i]);
    if (scores.wanted()) pass.score(*this, scores(i));
    if (labels.known(i)) {
      pass.observe(*this, labels.y[i], labels.weight[i]);
      if (scores.wanted() && seen[0] >= next[0]) refresh();
    }
  }
  if (!scores.wanted()) refresh();
}

void ClassCovariance::check_shape(const Shape& shape) const {
  require_length("a mean of class_covariance", mean.size(1), shape.d);
}

std::shared_ptr<Member> ClassCovariance::begin_again(const Shape& shape,
                                                     Vector<const bool> active_classes,
                                                     std::uint64_t /*seed*/) const {
  return std::make_shared<ClassCovariance>(begin(shape, active_classes));
}

}  // namespace rpnb
