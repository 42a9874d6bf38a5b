#include "binned_bayes.h"

#include <cmath>

#include "../math.h"
#include "../simd.h"
#include "../workspace.h"

namespace rpnb {

namespace {

constexpr Index kBins = 16;
// Weight of the prior of a feature, spread over its bins.
constexpr double kPrior = 2.0;
// Most pairs of feature and class for which bins are counted.
constexpr Index kMostPairs = 1'000'000;
// The normal quantiles of 1/16 … 15/16.
constexpr std::array kQuantiles{-1.5341206F, -1.1503494F, -0.8871466F, -0.6744898F, -0.4887764F,
                                -0.3186394F, -0.1573107F, 0.0F,        0.1573107F,  0.3186394F,
                                0.4887764F,  0.6744898F,  0.8871466F,  1.1503494F,  1.5341206F};

// log(count + 2/16), from a table if the count is a small integer.
double log_of(float count) {
  static const auto table = [] {
    std::array<double, 1024> logs{};
    for (std::size_t n = 0; n < logs.size(); ++n) {
      logs[n] = log(static_cast<double>(n) + kPrior / kBins);
    }
    return logs;
  }();
  if (count < static_cast<float>(table.size())) {
    const auto whole = static_cast<Index>(count);
    if (static_cast<float>(whole) == count) return table[whole];
  }
  return log(static_cast<double>(count) + kPrior / kBins);
}

// Whether there are few enough pairs of feature and active class.
bool is_usable(const BinnedBayes& state, Index p) {
  Index active = 0;
  for (const bool is_active : state.active) active += static_cast<Index>(is_active);
  return state.bins.size() == p && p * active <= kMostPairs;
}

// List 16·j + v for the features that are present; return their number.
Index find_bins(Vector<const double> raw, Vector<const float> z, Vector<std::int32_t> above,
                Vector<Index> bins) {
  const Index p = z.size();
  above.fill(0);
  for (const float quantile : kQuantiles) {
    for (Index j = 0; j < p; ++j) above[j] += static_cast<std::int32_t>(z[j] > quantile);
  }
  Index present = 0;
  for (Index j = 0; j < p; ++j) {
    bins[present] = kBins * j + above[j];
    present += static_cast<Index>(!std::isnan(raw[j]));
  }
  return present;
}

// Sum the logarithms of the bins: one chain of additions per class.
void add_logs(const View<float, 3>& logs, Vector<const Index> bins, Index present,
              Vector<float> sums) {
  const Index C = sums.size();
  for (Index c = 0; c < C; c += kSingles) {
    Singles total = repeat(0.0F);
    for (Index k = 0; k < present; ++k) total += load(logs.data() + bins[k] * C + c);
    store(sums.data() + c, total);
  }
}

void observe(BinnedBayes& state, Vector<const Index> bins, Index present, Index c, double weight) {
  const Index C = state.bins.size(2);
  const auto added = static_cast<float>(weight);
  for (Index k = 0; k < present; ++k) {
    const Index at = bins[k] * C + c;
    const float count = state.bins.data()[at] + added;
    state.bins.data()[at] = count;
    state.logs.data()[at] = static_cast<float>(log_of(count));
  }
  state.class_weight[c] += weight;
  state.active[c] = true;
  state.log_class[c] = log(state.class_weight[c] + 1.0);
  state.log_bins[c] = log(state.class_weight[c] + 2.0);
}

// Working space for one row.
struct RowSpace {
  RowSpace(Workspace& space, Index p, Index C)
      : bins(space.take<Index>(p)),
        above(space.take<std::int32_t>(p)),
        sums(space.take<float>(C)) {}

  Vector<Index> bins;
  Vector<std::int32_t> above;
  Vector<float> sums;
};

void score(const BinnedBayes& state, const RowSpace& space, Index present, Vector<double> scores) {
  add_logs(state.logs, space.bins, present, space.sums);
  const auto features = static_cast<double>(present);
  for (Index c = 0; c < scores.size(); ++c) {
    scores[c] = state.log_class[c] - features * state.log_bins[c] + space.sums[c];
  }
}

}  // namespace

BinnedBayes BinnedBayes::begin(const Shape& shape, Vector<const bool> active_classes) {
  const Index M = active_classes.size();
  Index active = 0;
  for (const bool is_active : active_classes) active += static_cast<Index>(is_active);
  const Index p = shape.p * active <= kMostPairs ? shape.p : 0;
  const Index C = (std::max<Index>(M, 1) + 7) / 8 * 8;
  BinnedBayes state;
  state.active = Array<bool, 1>({M});
  copy_into(state.active, active_classes);
  state.class_weight = Array<double, 1>({M});
  state.bins = Array<float, 3>({p, kBins, C});
  state.logs = Array<float, 3>({p, kBins, C});
  state.logs.fill(static_cast<float>(log(kPrior / kBins)));
  state.log_class = Array<double, 1>({M});
  state.log_bins = Array<double, 1>({M});
  state.log_bins.fill(log(2.0));
  return state;
}

void BinnedBayes::derive() {
  for (Index k = 0; k < bins.total(); ++k) {
    logs.data()[k] = static_cast<float>(log_of(bins.data()[k]));
  }
  for (Index c = 0; c < classes(); ++c) {
    log_class[c] = log(class_weight[c] + 1.0);
    log_bins[c] = log(class_weight[c] + 2.0);
  }
}

void BinnedBayes::score_rows(const Rows& rows, const Scores& scores) const {
  const Index p = rows.z.size(1);
  require_length("a row of raw", rows.raw.size(1), p);
  Workspace memory;
  const RowSpace space(memory, p, bins.size(2));
  const bool usable = is_usable(*this, p);
  for (Index i = 0; i < scores.rows(); ++i) {
    const Index present = usable ? find_bins(rows.raw[i], rows.z[i], space.above, space.bins) : 0;
    score(*this, space, present, scores(i));
  }
}

void BinnedBayes::learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) {
  const Index p = rows.z.size(1);
  require_length("a row of raw", rows.raw.size(1), p);
  Workspace memory;
  const RowSpace space(memory, p, bins.size(2));
  bool usable = is_usable(*this, p);
  for (Index i = 0; i < labels.y.size(); ++i) {
    const Index present = usable ? find_bins(rows.raw[i], rows.z[i], space.above, space.bins) : 0;
    if (scores.wanted()) score(*this, space, present, scores(i));
    if (labels.known(i)) {
      observe(*this, space.bins, present, labels.y[i], labels.weight[i]);
      usable = is_usable(*this, p);
    }
  }
}

void BinnedBayes::check_shape(const Shape& shape) const {
  if (bins.size() != 0) require_length("binned_bayes.bins", bins.size(), shape.p);
  require_length("axis 2 of binned_bayes.bins", bins.size(2),
                 (std::max<Index>(classes(), 1) + 7) / 8 * 8);
}

std::shared_ptr<Member> BinnedBayes::begin_again(const Shape& shape,
                                                 Vector<const bool> active_classes,
                                                 std::uint64_t /*seed*/) const {
  return std::make_shared<BinnedBayes>(begin(shape, active_classes));
}

}  // namespace rpnb
