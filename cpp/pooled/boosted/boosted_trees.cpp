#include "boosted_trees.h"

#include <array>

#include "../../math.h"
#include "../../random.h"
#include "../../workspace.h"

namespace rpnb {

using namespace boosted;

namespace {

// Rows whose leaves are found at once.
constexpr Index kAhead = 32;
// Addresses of the draws of features.
constexpr std::uint32_t kFeatureDraws = 6;
// Logarithms of class frequencies are at least this.
constexpr double kLeastBase = -20.0;

std::int32_t as_steps(double value) {
  return static_cast<std::int32_t>(std::floor(value * boosted::kSteps + 0.5));
}

double log_of(double x) {
  std::array<double, 1> value{x};
  fill_logs(Vector<double>(value.data(), {1}));
  return value[0];
}

std::uint32_t as_weight(double weight) {
  const double most = kMostWeight;
  return static_cast<std::uint32_t>(
      std::floor((weight < most ? weight : most) * kWeightSteps + 0.5));
}

}  // namespace

struct BoostedTrees::Ahead {
  Ahead(Workspace& space, Index p)
      : X(space.take<float>(kAhead, p)), leaves(space.take<std::uint8_t>(kAhead, kMostTrees)) {}

  // Find the leaves of rows `begin` to `end`, at most kAhead.
  void find(const BoostedTrees& state, Matrix<const double> raw, Index begin, Index end) {
    first = begin;
    last = end;
    for (Index i = begin; i < end; ++i) {
      const auto row = raw[i];
      const auto x = X[i - begin];
      for (Index j = 0; j < row.size(); ++j) x[j] = as_single(row[j]);
    }
    find_leaves(state.trees_, state.slots_, X.slice(0, end - begin), leaves);
  }
  // Find the leaves of rows from `begin` on again, in one tree.
  void find_again(const BoostedTrees& state, Index begin, Index slot) const {
    if (begin >= last) return;
    const Index skipped = begin - first;
    find_leaves(state.trees_, {slot}, X.slice(skipped, last - first),
                leaves.slice(skipped, last - first));
  }

  Matrix<float> X;
  Matrix<std::uint8_t> leaves;
  Index first = 0;
  Index last = 0;
};

BoostedTrees::BoostedTrees(Index p, Vector<const bool> active, std::uint64_t seed)
    : seed_(seed), rank_(static_cast<std::size_t>(active.size()), -1), cuts_(p), window_(p, 1) {
  for (Index c = 0; c < active.size(); ++c) {
    if (active[c]) activate(c);
  }
}

BoostedTrees BoostedTrees::begin(const Shape& shape, Vector<const bool> active,
                                 std::uint64_t seed) {
  return {shape.p, active, seed};
}

// Scores

// Set the margins (C,) of a row, given its leaves.
void BoostedTrees::fill_margin(const std::uint8_t* leaves, std::int32_t* __restrict margin) const {
  const Index C = window_.margins();
  std::fill_n(margin, C, 0);
  if (C == 1) {
    margin[0] = base_[1] - base_[0];
  } else {
    std::copy(base_.begin(), base_.end(), margin);
  }
  for (const Index slot : slots_) {
    const std::int32_t* const __restrict value = trees_[slot].value.data() + leaves[slot] * C;
    for (Index c = 0; c < C; ++c) margin[c] += value[c];
  }
}

void BoostedTrees::write_scores(const std::int32_t* margin, Vector<double> scores) const {
  const Index Q = n_ranked();
  if (window_.margins() == 1) {
    const double half = margin[0] / (2.0 * boosted::kSteps);
    scores[class_of_[0]] = -half;
    scores[class_of_[1]] = half;
    return;
  }
  for (Index r = 0; r < Q; ++r) scores[class_of_[r]] = margin[r] / boosted::kSteps;
}

// Write log π_c, the logarithms of the smoothed frequencies of classes.
void BoostedTrees::write_frequencies(Vector<double> scores) const {
  const Index Q = n_ranked();
  Workspace space;
  const auto logs = space.take<double>(Q);
  const double total = total_weight_ + 0.5 * static_cast<double>(Q);
  for (Index r = 0; r < Q; ++r) logs[r] = (class_weight_[r] + 0.5) / total;
  fill_logs(logs);
  for (Index r = 0; r < Q; ++r) scores[class_of_[r]] = logs[r];
}

void BoostedTrees::score_rows(const Rows& rows, const Scores& scores) const {
  require_length("a row of raw", rows.raw.size(1), window_.features());
  const Index n = scores.rows();
  if (!started()) {
    for (Index i = 0; i < n; ++i) write_frequencies(scores(i));
    return;
  }
  Workspace space;
  Ahead ahead(space, window_.features());
  const auto margin = space.take<std::int32_t>(window_.margins());
  for (Index i = 0; i < n; ++i) {
    if (i >= ahead.last) ahead.find(*this, rows.raw, i, std::min(i + kAhead, n));
    fill_margin(ahead.leaves[i - ahead.first].data(), margin.data());
    write_scores(margin.data(), scores(i));
  }
}

// The log-loss of margins for a class.
double BoostedTrees::loss(const std::int32_t* margin, Index rank) const {
  Workspace space;
  if (window_.margins() == 1) {
    const double z = (rank == 1 ? -margin[0] : margin[0]) / boosted::kSteps;
    const auto e = space.take<double>(1);
    e[0] = -std::abs(z);
    fill_exponentials(e, kLeastExponent);
    return std::max(z, 0.0) + log_of(1.0 + e[0]);
  }
  const Index Q = n_ranked();
  const auto e = space.take<double>(Q);
  const std::int32_t highest = *std::max_element(margin, margin + Q);
  for (Index r = 0; r < Q; ++r) e[r] = (margin[r] - highest) / boosted::kSteps;
  const double own = e[rank];
  fill_exponentials(e, kLeastExponent);
  double total = 0.0;
  for (Index r = 0; r < Q; ++r) total += e[r];
  return log_of(total) - own;
}

// Learning

void BoostedTrees::learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) {
  const Index p = window_.features();
  require_length("a row of raw", rows.raw.size(1), p);
  const Index n = rows.size();
  Workspace space;
  Ahead ahead(space, p);
  const auto margin = space.take_zeros<std::int32_t>(margins_for(kMostClasses));
  for (Index i = 0; i < n; ++i) {
    const bool learns = labels.known(i) && labels.weight[i] > 0.0;
    if (!scores.wanted() && !learns) continue;
    if (i >= ahead.last) ahead.find(*this, rows.raw, i, std::min(i + kAhead, n));
    // Where a tree has been replaced, rows from `begin` on have other leaves in it.
    Index found = round_;
    const auto follow = [&](Index begin) {
      if (round_ != found) ahead.find_again(*this, begin, plan_.slot);
      found = round_;
    };
    const std::uint8_t* const leaves = ahead.leaves[i - ahead.first].data();
    if (started()) fill_margin(leaves, margin.data());
    if (scores.wanted()) {
      if (started()) {
        write_scores(margin.data(), scores(i));
      } else {
        write_frequencies(scores(i));
      }
    }
    if (!learns) continue;
    const Index label = labels.y[i];
    if (rank_[label] < 0) {
      activate(label);
      follow(i);
      if (started()) fill_margin(leaves, margin.data());
    }
    learn(ahead.X[i - ahead.first].data(), leaves, margin.data(), label, labels.weight[i]);
    follow(i + 1);
    if (phase_ == Phase::kOff) continue;
    credit_ += window_.end() <= kEarlyRows ? kEarlyBudget : kBudget;
    for (; credit_ > 0; follow(i + 1)) credit_ -= step();
  }
}

// Learn a row of a class that is active.
void BoostedTrees::learn(const float* x, const std::uint8_t* leaves, const std::int32_t* margin,
                         Index label, double weight) {
  const Index rank = rank_[label];
  class_weight_[rank] += weight;
  total_weight_ += weight;
  if (phase_ == Phase::kOff) return;
  append(x, leaves, margin, rank, weight);
  if (window_.end() == next_event_) {
    ++event_;
    next_event_ = 2 * next_event_ <= kLastCuts ? 2 * next_event_ : -1;
  }
  if (started() && is_alarm(loss(margin, rank))) forget();
}

// Take the loss of the newest row; return whether the stream has changed.
bool BoostedTrees::is_alarm(double newest) {
  Workspace space;
  const auto margin = space.take<std::int32_t>(window_.margins());
  double older = 0.0;
  for (Index k = 0; k < 2; ++k) {
    const Index row = window_.first() + (2 * drift_.rows + k) * window_.size() / (2 * kLossRows);
    window_.get_margin(row, margin.data());
    older += Drift::clip(loss(margin.data(), window_.label(row)));
  }
  return drift_.add(Drift::clip(newest), older, window_.end());
}

// Keep a row whose leaves and margins are known.
Index BoostedTrees::append(const float* x, const std::uint8_t* leaves, const std::int32_t* margin,
                           Index rank, double weight) {
  const Index p = window_.features();
  const Index row = window_.append(rank, as_weight(weight));
  std::copy_n(x, p, window_.raw(row));
  std::uint8_t* const bins = window_.bins(row);
  for (Index j = 0; j < p; ++j) bins[j] = cuts_.bin(j, x[j]);
  std::uint8_t* const own = window_.leaves(row);
  std::fill_n(own, kMostTrees, 0);
  for (const Index slot : slots_) own[slot] = leaves[slot];
  window_.set_margin(row, margin);
  return row;
}

// Make a class active.
void BoostedTrees::activate(Index label) {
  rank_[label] = n_ranked();
  class_of_.push_back(label);
  class_weight_.push_back(0.0);
  if (n_ranked() > kMostClasses) {
    turn_off();
  } else if (started()) {
    stop_round();
    add_margins();
  } else if (margins_for(n_ranked()) != window_.margins()) {
    window_.change_margins(margins_for(n_ranked()), [](const std::int32_t*, std::int32_t*) {});
  }
}

// Make room for the newest class in the margins of all rows and the values of all trees.
void BoostedTrees::add_margins() {
  const Index Q = n_ranked();
  const Index before = window_.margins();
  const Index C = margins_for(Q);
  const double share = 0.5 / (total_weight_ + 0.5 * static_cast<double>(Q));
  base_.push_back(as_steps(std::max(log_of(share), kLeastBase)));
  if (C == before) {  // padding, in which the values of trees are zero
    window_.fill_margin(Q - 1, base_[Q - 1]);
    return;
  }
  // From the log odds of two classes to a margin for each; margins are `step` apart.
  const auto change = [&](const std::int32_t* from, std::int32_t* to, const std::int32_t* base,
                          Index step) {
    for (Index c = 0; c < C; ++c) to[c * step] = 0;
    if (before == 1) {
      to[0] = base[0];
      to[step] = base[0] + from[0];
    } else {
      for (Index c = 0; c < Q - 1; ++c) to[c * step] = from[c * step];
    }
    to[(Q - 1) * step] = base[Q - 1];
  };
  window_.change_margins(C, [&](const std::int32_t* from, std::int32_t* to) {
    change(from, to, base_.data(), kBlockRows);
  });
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(Q), 0);
  for (Tree& tree : trees_) {
    std::vector<std::int32_t> value(static_cast<std::size_t>(tree.n_leaves * C));
    for (Index l = 0; l < tree.n_leaves && tree.in_use(); ++l) {
      change(tree.value.data() + l * before, value.data() + l * C, zeros.data(), 1);
    }
    tree.value = std::move(value);
  }
}

void BoostedTrees::turn_off() {
  phase_ = Phase::kOff;
  const Index end = window_.end();
  window_ = RowWindow(window_.features(), 1);
  window_.begin_at(end);
  cuts_ = Cuts(window_.features());
  trees_.clear();
  slots_.clear();
  base_.clear();
  grower_ = Grower{};
  drift_ = Drift{};
}

// Set the margins of all rows to the current class frequencies.
void BoostedTrees::start() {
  const Index Q = n_ranked();
  const double total = total_weight_ + 0.5 * static_cast<double>(Q);
  for (Index r = 0; r < Q; ++r) {
    base_.push_back(as_steps(std::max(log_of((class_weight_[r] + 0.5) / total), kLeastBase)));
  }
  Workspace space;
  const auto margin = space.take<std::int32_t>(window_.margins());
  fill_margin(nullptr, margin.data());
  for (Index row = window_.first(); row < window_.end(); ++row) {
    window_.set_margin(row, margin.data());
  }
}

// Keep the latest quarter of the rows.
void BoostedTrees::forget() {
  stop_round();
  change_ = round_;
  const Index kept = std::min(window_.size(), std::max(kLeastKept, window_.size() / 4));
  window_.drop_before(window_.end() - kept);
  drift_.note_cut(kept, window_.end());
  if (kept <= kLastCuts) {
    event_ += 2;  // for all features
    next_event_ = window_.end() + kLastCuts / 2;
  }
}

// The work that rows pay for

// Do a piece of work; return its units.
Index BoostedTrees::step() {
  switch (phase_) {
    case Phase::kCutting:
      return cut_feature();
    case Phase::kGrowing: {
      const Index units = grower_.step(window_, cuts_, trees_);
      if (units > 0) {
        ++steps_;
        return units;
      }
      phase_ = Phase::kApplying;
      cursor_ = window_.first();
      grown_ = grower_.tree();
      known_leaves_ = plan_.rows;
      return apply();
    }
    case Phase::kApplying:
      return apply();
    default:
      return begin_round();
  }
}

Index BoostedTrees::begin_round() {
  // Before the first tree, rows are useful only while their raw values are kept.
  if (!started()) window_.drop_before(window_.first_raw());
  if (event_ < 0 || n_ranked() < 2) return credit_;
  if (!started()) start();
  drop_rows();
  draw_features();
  phase_ = Phase::kCutting;
  cursor_ = 0;
  return 200 + window_.features();
}

// Choose the features that the next tree may read, in their order, among those that have cuts or
// whose cuts are due.
void BoostedTrees::draw_features() {
  std::vector<std::int32_t> usable;
  for (Index j = 0; j < cuts_.features(); ++j) {
    if (cuts_.count(j) > 0 || cuts_due(j)) usable.push_back(static_cast<std::int32_t>(j));
  }
  const auto count = static_cast<Index>(usable.size());
  if (count > kTreeFeatures) {
    for (Index k = 0; k < kTreeFeatures; ++k) {
      const Counter bits =
          philox({static_cast<std::uint32_t>(k), kFeatureDraws, static_cast<std::uint32_t>(round_),
                  static_cast<std::uint32_t>(static_cast<std::uint64_t>(round_) >> 32)},
                 seed_);
      const auto left = static_cast<std::uint64_t>(count - k);
      std::swap(usable[k], usable[k + static_cast<Index>((bits[0] * left) >> 32)]);
    }
    usable.resize(kTreeFeatures);
    std::sort(usable.begin(), usable.end());
  }
  plan_.features = std::move(usable);
}

// Compute the cut points of the next feature of the tree for which they are due.
Index BoostedTrees::cut_feature() {
  drop_rows();
  auto& chosen = plan_.features;
  for (; cursor_ < static_cast<Index>(chosen.size()); ++cursor_) {
    const Index j = chosen[cursor_];
    if (!cuts_due(j)) continue;
    cut(j);
    ++cursor_;
    const Index n = window_.size();
    return 12 * n + 40 * std::min(n, cut_rows(window_.features()));
  }
  std::erase_if(chosen, [&](std::int32_t j) { return cuts_.count(j) == 0; });
  if (chosen.empty()) {
    phase_ = Phase::kWaiting;
    return credit_;
  }
  begin_tree();
  return 200;
}

// Drop the rows beyond the limit; only while no tree is growing.
void BoostedTrees::drop_rows() {
  const Index most = rows_kept(window_.features(), window_.margins());
  if (window_.size() > most) window_.drop_before(window_.end() - most);
}

// Whether the cut points of a feature should be computed again.
bool BoostedTrees::cuts_due(Index j) const {
  const Index since = event_ - cuts_.made(j);
  return cuts_.made(j) < 0 || since > static_cast<Index>(window_.features() > kTreeFeatures);
}

// Compute the cut points of feature j from up to 2,048 rows, and the bins of all rows.
void BoostedTrees::cut(Index j) {
  const Index n = window_.size();
  const Index first = window_.first();
  const Index first_raw = window_.first_raw();
  Workspace space;
  const auto values = space.take<float>(n);
  for (Index i = 0; i < n; ++i) {
    const Index row = first + i;
    values[i] = row >= first_raw ? window_.raw(row)[j] : cuts_.middle(j, window_.bins(row)[j]);
  }
  const Index known = window_.end() - first_raw;
  const Index count = std::min(known, cut_rows(window_.features()));
  const auto sorted = space.take<float>(count);
  Index m = 0;
  for (Index i = 0; i < count; ++i) {
    const float x = values[first_raw - first + i * known / count];
    if (x == x) sorted[m++] = x + 0.0F;  // no negative zero
  }
  std::sort(sorted.begin(), sorted.begin() + m);
  std::array<float, kMostCuts> cuts;
  const Index found = find_cuts(sorted.slice(0, m), cuts_for(known), cuts.data());
  cuts_.set(j, cuts.data(), found, static_cast<std::int32_t>(event_));
  for (Index i = 0; i < n; ++i) window_.bins(first + i)[j] = cuts_.bin(j, values[i]);
}

// Start a tree from the current rows.
void BoostedTrees::begin_tree() {
  const Index n = window_.size();
  plan_.first = window_.first();
  plan_.rows = n;
  plan_.classes = n_ranked();
  plan_.leaves = leaves_for(n, n_ranked());
  plan_.round = round_;
  // The oldest trees are replaced, so that there are T with the new one.
  plan_.replaced = slots_;
  std::sort(plan_.replaced.begin(), plan_.replaced.end(),
            [&](Index a, Index b) { return trees_[a].born < trees_[b].born; });
  const auto in_use = static_cast<Index>(slots_.size());
  const bool changed = in_use > 0 && trees_[plan_.replaced[0]].born < change_;
  const Index T = changed ? trees_after_change(n) : kMostTrees;
  plan_.replaced.resize(static_cast<std::size_t>(std::max(in_use - T + 1, Index{0})));
  plan_.slot = in_use;
  if (!plan_.replaced.empty()) {
    plan_.slot = plan_.replaced[0];
  } else {
    for (Index slot = in_use - 1; slot >= 0; --slot) {
      if (!trees_[slot].in_use()) plan_.slot = slot;
    }
  }
  grower_.begin(plan_, window_, cuts_, seed_);
  phase_ = Phase::kGrowing;
  steps_ = 0;
}

// Change margins and leaves of the rows of a block from the old trees to the new one.
Index BoostedTrees::apply() {
  const Index C = window_.margins();
  const Index begin = cursor_;
  const Index stop = std::min((begin / kBlockRows + 1) * kBlockRows, window_.end());
  const Index n = stop - begin;
  std::array<std::int32_t, kBlockRows> places;
  Block& block = window_.block(begin);
  std::int32_t* const margin = block.margin.data() + RowWindow::at(begin);
  std::uint8_t* const leaves = block.leaf.data() + RowWindow::at(begin) * kMostTrees;
  const auto add = [&](const Tree& tree, std::int32_t sign) {
    for (Index c = 0; c < C; ++c) {
      const std::int32_t* const value = tree.value.data() + c;
      std::int32_t* const own = margin + c * kBlockRows;
      for (Index i = 0; i < n; ++i) own[i] += sign * value[places[i]];
    }
  };
  const auto size = static_cast<std::int32_t>(C);
  for (const Index slot : plan_.replaced) {
    for (Index i = 0; i < n; ++i) places[i] = size * leaves[i * kMostTrees + slot];
    add(trees_[slot], -1);
  }
  for (Index i = 0; i < n; ++i) {
    const Index number = begin + i - plan_.first;
    const Index leaf = number < known_leaves_ ? grower_.leaf_of(number)
                                              : grown_.find_leaf(window_.bins(begin + i));
    places[i] = size * static_cast<std::int32_t>(leaf);
    leaves[i * kMostTrees + plan_.slot] = static_cast<std::uint8_t>(leaf);
  }
  add(grown_, 1);
  cursor_ = stop;
  if (cursor_ == window_.end()) publish();
  return 50 + n * (5 + C);
}

// Replace the old trees by the new one.
void BoostedTrees::publish() {
  for (const Index slot : plan_.replaced) trees_[slot].born = -1;
  if (plan_.slot == static_cast<Index>(trees_.size())) trees_.emplace_back();
  trees_[plan_.slot] = grown_;
  list_slots();
  ++round_;
  phase_ = Phase::kWaiting;
}

void BoostedTrees::list_slots() {
  slots_.clear();
  for (Index slot = 0; slot < static_cast<Index>(trees_.size()); ++slot) {
    if (trees_[slot].in_use()) slots_.push_back(slot);
  }
}

// Discard an incomplete tree; a complete one is applied to all rows.
void BoostedTrees::stop_round() {
  while (phase_ == Phase::kApplying) apply();
  phase_ = Phase::kWaiting;
}

// Classes and rows of others

void BoostedTrees::arrange_classes(Vector<const std::int64_t> source, Vector<const bool> active) {
  std::vector<std::int64_t> rank(static_cast<std::size_t>(source.size()), -1);
  for (Index c = 0; c < source.size(); ++c) {
    if (source[c] < 0) continue;
    rank[c] = rank_[source[c]];
    if (rank[c] >= 0) class_of_[rank[c]] = c;
  }
  rank_ = std::move(rank);
  for (Index c = 0; c < source.size(); ++c) {
    if (active[c] && rank_[c] < 0) activate(c);
  }
}

void BoostedTrees::add_rows_of(const BoostedTrees& other) {
  for (const std::int64_t c : other.class_of_) {
    if (rank_[c] < 0) activate(c);
  }
  for (Index r = 0; r < other.n_ranked(); ++r) {
    class_weight_[rank_[other.class_of_[r]]] += other.class_weight_[r];
  }
  total_weight_ += other.total_weight_;
  // The other has no more classes than this now.
  if (phase_ == Phase::kOff) return;
  stop_round();
  const Index p = window_.features();
  Workspace space;
  const auto X = space.take<float>(1, p);
  const auto leaves = space.take_zeros<std::uint8_t>(1, kMostTrees);
  const auto margin = space.take_zeros<std::int32_t>(window_.margins());
  const RowWindow& rows = other.window_;
  const Index first_raw = rows.first_raw();
  for (Index row = rows.first(); row < rows.end(); ++row) {
    for (Index j = 0; j < p; ++j) {
      X(0, j) = row >= first_raw ? rows.raw(row)[j] : other.cuts_.middle(j, rows.bins(row)[j]);
    }
    find_leaves(trees_, slots_, X, leaves);
    if (started()) fill_margin(leaves.data(), margin.data());
    append(X.data(), leaves.data(), margin.data(), rank_[other.class_of_[rows.label(row)]],
           static_cast<double>(rows.weight(row)) / kWeightSteps);
  }
  while (next_event_ >= 0 && window_.end() >= next_event_) {
    ++event_;
    next_event_ = 2 * next_event_ <= kLastCuts ? 2 * next_event_ : -1;
  }
}

Index BoostedTrees::bytes() const {
  const Index trees = static_cast<Index>(trees_.size()) *
                      (static_cast<Index>(sizeof(Tree)) + 4 * kMostLeaves * window_.margins());
  const Index cuts = 4 * window_.features() * (kMostBins + 2);
  return window_.bytes() + grower_.bytes() + trees + cuts;
}

void BoostedTrees::check_shape(const Shape& shape) const {
  require_length("features of boosted_trees", window_.features(), shape.p);
}

std::shared_ptr<Member> BoostedTrees::begin_again(const Shape& shape, Vector<const bool> active,
                                                  std::uint64_t seed) const {
  return std::make_shared<BoostedTrees>(begin(shape, active, seed));
}

}  // namespace rpnb
