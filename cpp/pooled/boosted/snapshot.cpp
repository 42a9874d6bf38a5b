#include "snapshot.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rpnb {

using namespace boosted;

namespace {

using S = BoostedSnapshot;

// Larger than any margin or value; sums of them stay within 32 bits.
constexpr std::int32_t kMostMargin = 1 << 28;
constexpr std::int32_t kMostLeafValue = 1 << 17;

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::invalid_argument(std::string("boosted_trees.") + what +
                                " contradicts the rest of the state");
  }
}

template <class T, class Given>
Array<T, 1> as_array(const Given& values) {
  Array<T, 1> array({static_cast<Index>(values.size())});
  std::copy(values.begin(), values.end(), array.begin());
  return array;
}

void write_tree(const Tree& tree, Index slot, Index C, Index t, S& out) {
  out.slot[t] = slot;
  out.born[t] = tree.born;
  out.n_nodes[t] = tree.n_nodes;
  for (Index node = 0; node < kMostNodes; ++node) {
    out.threshold(t, node) = tree.nodes[node].threshold;
    if (node >= tree.n_nodes) continue;
    out.feature(t, node) = tree.nodes[node].feature;
    out.last_bin(t, node) = tree.bin[node];
    out.child(t, node) = tree.nodes[node].child;
  }
  std::copy_n(tree.value.data(), tree.n_leaves * C, out.value[t].data());
}

Tree read_tree(const S& in, Index t, Index p, Index C) {
  Tree tree;
  tree.born = in.born[t];
  const Index n = in.n_nodes[t];
  require(n >= 1 && n <= kMostNodes && n % 2 == 1, "n_nodes");
  // Splits create nodes in this order: the s-th creates nodes 2s + 1 and 2s + 2.
  std::array<Index, kMostNodes> parent;
  parent.fill(-1);
  std::array<Index, kMostNodes> depth{};
  for (Index node = 0; node < n; ++node) {
    const Index child = in.child(t, node);
    require(child >= node && child < n, "child");
    if (child == node) continue;
    require(child % 2 == 1 && parent[child] < 0, "child");
    parent[child] = node;
  }
  for (Index child = 1; child < n; child += 2) {
    const Index node = parent[child];
    require(node >= 0, "child");
    const Index feature = in.feature(t, node);
    const float threshold = in.threshold(t, node);
    require(feature >= 0 && feature < p, "feature");
    require(std::isfinite(threshold), "threshold");
    depth[child] = depth[node] + 1;
    depth[child + 1] = depth[child];
    require(depth[child] <= kMostDepth, "child");
    tree.split(node, depth[node], feature, threshold, in.last_bin(t, node));
  }
  tree.value.assign(in.value[t].data(), in.value[t].data() + tree.n_leaves * C);
  for (const std::int32_t value : tree.value) {
    require(std::abs(std::int64_t{value}) <= kMostLeafValue, "value");
  }
  return tree;
}

// The cut points of a file, if they are valid.
Cuts read_cuts(const S& in, Index p) {
  Cuts cuts(p);
  for (Index j = 0; j < p; ++j) {
    const Index count = in.n_cuts[j];
    const float* const values = in.cuts[j].data();
    require(count >= 0 && count <= kMostCuts, "n_cuts");
    for (Index i = 0; i < kMostBins; ++i) {
      constexpr float kMost = std::numeric_limits<float>::max();
      require(i < count ? std::abs(values[i]) < kMost && (i == 0 || values[i - 1] < values[i])
                        : values[i] == kMost,
              "cuts");
    }
    require(in.cuts_made[j] >= -1 && in.cuts_made[j] <= in.clock[S::kEvent], "cuts_made");
    cuts.set(j, values, count, in.cuts_made[j]);
  }
  return cuts;
}

}  // namespace

BoostedSnapshot BoostedTrees::snapshot(std::string_view only) const {
  const auto wants = [&](auto... fields) { return only.empty() || ((only == fields) || ...); };
  const Index M = classes();
  const Index p = window_.features();
  const Index C = started() ? window_.margins() : 0;
  const Index n = window_.size();
  const bool applying = phase_ == Phase::kApplying;
  const bool growing = phase_ == Phase::kGrowing;
  const bool planned = growing || applying;
  const auto in_use = static_cast<Index>(slots_.size());
  const Index T = in_use + static_cast<Index>(applying);
  S out;
  out.seed = Array<std::uint64_t, 1>({1});
  out.seed[0] = seed_;
  out.clock = Array<std::int64_t, 1>({S::kClocks});
  out.clock[S::kEnd] = window_.end();
  out.clock[S::kFirst] = window_.first();
  out.clock[S::kPhase] = static_cast<std::int64_t>(phase_);
  out.clock[S::kCredit] = credit_;
  out.clock[S::kCursor] = phase_ == Phase::kCutting || applying ? cursor_ : 0;
  out.clock[S::kSteps] = growing ? steps_ : 0;
  out.clock[S::kRound] = round_;
  out.clock[S::kChange] = change_;
  out.clock[S::kEvent] = event_;
  out.clock[S::kNextEvent] = next_event_;
  out.clock[S::kLossRows] = drift_.rows;
  out.clock[S::kLossBlocks] = drift_.blocks;
  out.clock[S::kCuts] = drift_.cuts;
  out.clock[S::kQuiet] = drift_.quiet;
  out.clock[S::kPlanRows] = planned ? plan_.rows : 0;
  out.clock[S::kPlanLeaves] = planned ? plan_.leaves : 0;
  out.clock[S::kPlanSlot] = planned ? plan_.slot : 0;
  out.active = Array<bool, 1>({M});
  out.class_weight = Array<double, 1>({M});
  for (Index c = 0; c < M; ++c) {
    out.active[c] = rank_[c] >= 0;
    if (rank_[c] >= 0) out.class_weight[c] = class_weight_[rank_[c]];
  }
  out.rank = as_array<std::int64_t>(rank_);
  out.total_weight = Array<double, 1>({1});
  out.total_weight[0] = total_weight_;
  out.base = as_array<std::int32_t>(base_);
  const auto block_of = [](const BlockMean& block) {
    return as_array<double>(std::array{block.sum, block.squares, block.reference});
  };
  out.loss = block_of(drift_.loss);
  out.gap = block_of(drift_.gap);
  // Of the rest only what is wanted: it is large.
  if (wants("cuts", "n_cuts", "cuts_made")) {
    out.cuts = Array<float, 2>({p, kMostBins});
    out.n_cuts = Array<std::int32_t, 1>({p});
    out.cuts_made = Array<std::int32_t, 1>({p});
    for (Index j = 0; j < p; ++j) {
      std::copy_n(cuts_.of(j), kMostBins, out.cuts[j].data());
      out.n_cuts[j] = static_cast<std::int32_t>(cuts_.count(j));
      out.cuts_made[j] = cuts_.made(j);
    }
  }
  const Index first = window_.first();
  if (wants("bins")) {
    out.bins = Array<std::uint8_t, 2>({n, p});
    for (Index i = 0; i < n; ++i) std::copy_n(window_.bins(first + i), p, out.bins[i].data());
  }
  if (wants("label", "row_weight")) {
    out.label = Array<std::uint8_t, 1>({n});
    out.row_weight = Array<std::uint32_t, 1>({n});
    for (Index i = 0; i < n; ++i) {
      out.label[i] = static_cast<std::uint8_t>(window_.label(first + i));
      out.row_weight[i] = window_.weight(first + i);
    }
  }
  if (wants("margin")) {
    out.margin = Array<std::int32_t, 2>({n, C});
    const Index known = C > 0 ? n : 0;
    for (Index i = 0; i < known; ++i) window_.get_margin(first + i, out.margin[i].data());
  }
  if (wants("leaf")) {
    // Once the new tree has been applied to a row, its leaf is stored in place of the old
    // one's.
    out.leaf = Array<std::uint8_t, 2>({n, in_use});
    for (Index i = 0; i < n; ++i) {
      for (Index t = 0; t < in_use; ++t) out.leaf(i, t) = window_.leaves(first + i)[slots_[t]];
    }
  }
  if (wants("raw")) {
    const Index first_raw = window_.first_raw();
    out.raw = Array<float, 2>({window_.end() - first_raw, p});
    for (Index i = 0; i < out.raw.size(); ++i) {
      std::copy_n(window_.raw(first_raw + i), p, out.raw[i].data());
    }
  }
  if (wants("slot", "born", "n_nodes", "feature", "threshold", "last_bin", "child", "value")) {
    out.slot = Array<std::int64_t, 1>({T});
    out.born = Array<std::int64_t, 1>({T});
    out.n_nodes = Array<std::int64_t, 1>({T});
    out.feature = Array<std::int32_t, 2>({T, kMostNodes});
    out.threshold = Array<float, 2>({T, kMostNodes});
    out.last_bin = Array<std::uint8_t, 2>({T, kMostNodes});
    out.child = Array<std::int32_t, 2>({T, kMostNodes});
    out.value = Array<std::int32_t, 3>({T, kMostLeaves, C});
    for (Index t = 0; t < in_use; ++t) write_tree(trees_[slots_[t]], slots_[t], C, t, out);
    if (applying) write_tree(grown_, plan_.slot, C, in_use, out);
  }
  const bool chosen = planned || phase_ == Phase::kCutting;
  out.features = as_array<std::int32_t>(chosen ? plan_.features : std::vector<std::int32_t>{});
  out.replaced = as_array<std::int64_t>(planned ? plan_.replaced : std::vector<Index>{});
  return out;
}

BoostedTrees::BoostedTrees(const BoostedSnapshot& in)
    : seed_(in.seed[0]),
      rank_(in.rank.begin(), in.rank.end()),
      total_weight_(in.total_weight[0]),
      base_(in.base.begin(), in.base.end()),
      cuts_(read_cuts(in, in.n_cuts.size())),
      window_(in.n_cuts.size(), 1) {
  const Index p = in.n_cuts.size();
  const Index n = in.label.size();
  // Classes.
  const auto Q = static_cast<Index>(std::count(in.active.begin(), in.active.end(), true));
  class_of_.assign(static_cast<std::size_t>(Q), -1);
  class_weight_.assign(static_cast<std::size_t>(Q), 0.0);
  for (Index c = 0; c < classes(); ++c) {
    require(in.active[c] == (rank_[c] >= 0) && rank_[c] >= -1 && rank_[c] < Q, "rank");
    if (rank_[c] < 0) continue;
    require(class_of_[rank_[c]] < 0, "rank");
    class_of_[rank_[c]] = c;
    class_weight_[rank_[c]] = in.class_weight[c];
  }
  // Counters.
  const auto& clock = in.clock;
  require(clock[S::kPhase] >= 0 && clock[S::kPhase] <= static_cast<std::int64_t>(Phase::kOff),
          "clock");
  phase_ = static_cast<Phase>(clock[S::kPhase]);
  require((phase_ == Phase::kOff) == (Q > kMostClasses), "clock");
  credit_ = clock[S::kCredit];
  cursor_ = clock[S::kCursor];
  round_ = clock[S::kRound];
  change_ = clock[S::kChange];
  event_ = clock[S::kEvent];
  next_event_ = clock[S::kNextEvent];
  drift_ = {{in.loss[0], in.loss[1], in.loss[2]},
            {in.gap[0], in.gap[1], in.gap[2]},
            clock[S::kLossRows],
            clock[S::kLossBlocks],
            clock[S::kCuts],
            clock[S::kQuiet]};
  const Index first = clock[S::kFirst];
  const Index end = clock[S::kEnd];
  require(first >= 0 && end - first == n && credit_ <= kEarlyBudget && round_ >= 0 &&
              change_ >= 0 && change_ <= round_ && event_ >= -1 &&
              event_ < std::numeric_limits<std::int32_t>::max() && next_event_ >= -1 &&
              drift_.rows >= 0 && drift_.rows < boosted::kLossRows && drift_.blocks >= 0 &&
              drift_.cuts >= 0 && drift_.quiet >= 0,
          "clock");
  // Rows.
  const bool has_base = !base_.empty();
  require(!has_base || (static_cast<Index>(base_.size()) == Q && Q >= 2 && Q <= kMostClasses),
          "base");
  const Index C = phase_ == Phase::kOff ? 1 : margins_for(Q);
  const Index T = in.slot.size();
  const bool applying = phase_ == Phase::kApplying;
  const Index in_use = T - static_cast<Index>(applying);
  require(in_use >= 0 && in_use <= kMostTrees && (has_base || T == 0), "slot");
  require(in.margin.size(1) == (has_base ? C : 0), "margin");
  require(in.value.size(2) == (has_base ? C : 0), "value");
  require(in.leaf.size(1) == in_use, "leaf");
  for (const std::int32_t base : in.base)
    require(std::abs(std::int64_t{base}) <= kMostMargin, "base");
  for (const std::int32_t F : in.margin)
    require(std::abs(std::int64_t{F}) <= kMostMargin, "margin");
  window_ = RowWindow(p, C);
  window_.begin_at(first);
  for (Index i = 0; i < n; ++i) {
    require(in.label[i] < Q, "label");
    require(in.row_weight[i] <= kMostWeight * kWeightSteps, "row_weight");
    const Index row = window_.append(in.label[i], in.row_weight[i]);
    for (Index j = 0; j < p; ++j) require(in.bins(i, j) <= cuts_.count(j) + 1, "bins");
    std::copy_n(in.bins[i].data(), p, window_.bins(row));
    std::fill_n(window_.leaves(row), kMostTrees, 0);
    if (has_base) window_.set_margin(row, in.margin[i].data());
  }
  require(in.raw.size() == end - window_.first_raw(), "raw");
  for (Index i = 0; i < in.raw.size(); ++i) {
    for (Index j = 0; j < p; ++j) require(!std::isinf(in.raw(i, j)), "raw");
    std::copy_n(in.raw[i].data(), p, window_.raw(window_.first_raw() + i));
  }
  // Trees.
  for (Index t = 0; t < T; ++t) {
    const Index slot = in.slot[t];
    require(slot >= 0 && slot < kMostTrees && in.born[t] >= 0 && in.born[t] <= round_, "slot");
    if (t == in_use) {
      grown_ = read_tree(in, t, p, C);
      break;
    }
    require(t == 0 || in.slot[t - 1] < slot, "slot");
    while (static_cast<Index>(trees_.size()) <= slot) trees_.emplace_back();
    trees_[slot] = read_tree(in, t, p, C);
  }
  list_slots();
  // The plan.
  plan_.features.assign(in.features.begin(), in.features.end());
  plan_.replaced.assign(in.replaced.begin(), in.replaced.end());
  const bool planned = applying || phase_ == Phase::kGrowing;
  for (Index f = 0; f < in.features.size(); ++f) {
    require(in.features[f] >= 0 && in.features[f] < p &&
                (f == 0 || in.features[f - 1] < in.features[f]),
            "features");
  }
  require(in.features.size() <= kTreeFeatures && (!planned || in.features.size() > 0), "features");
  for (std::size_t k = 0; k < plan_.replaced.size(); ++k) {
    const Index slot = plan_.replaced[k];
    require(std::binary_search(slots_.begin(), slots_.end(), slot), "replaced");
    // The oldest first.
    require(k == 0 || trees_[plan_.replaced[k - 1]].born < trees_[slot].born, "replaced");
  }
  plan_.first = first;
  plan_.rows = clock[S::kPlanRows];
  plan_.leaves = clock[S::kPlanLeaves];
  plan_.slot = clock[S::kPlanSlot];
  plan_.classes = Q;
  plan_.round = round_;
  if (planned) {
    require(has_base && plan_.rows > 0 && plan_.rows <= n && plan_.leaves >= kLeastLeaves &&
                plan_.leaves <= kMostLeaves,
            "clock");
    const bool is_free = !std::binary_search(slots_.begin(), slots_.end(), plan_.slot);
    const bool is_given = !plan_.replaced.empty() && plan_.replaced[0] == plan_.slot;
    require(plan_.slot >= 0 && plan_.slot < kMostTrees && is_free == plan_.replaced.empty() &&
                (is_free || is_given) && plan_.slot <= static_cast<Index>(trees_.size()),
            "clock");
    require(!applying || in.slot[in_use] == plan_.slot, "slot");
  }
  require(phase_ != Phase::kCutting || (has_base && cursor_ >= 0 && cursor_ <= in.features.size()),
          "clock");
  require(!applying || (cursor_ >= first && cursor_ < end), "clock");
  for (Index i = 0; i < n; ++i) {
    for (Index t = 0; t < in_use; ++t) {
      const Index slot = slots_[t];
      const bool is_new = applying && slot == plan_.slot && first + i < cursor_;
      require(in.leaf(i, t) < (is_new ? grown_ : trees_[slot]).n_leaves, "leaf");
      window_.leaves(first + i)[slot] = in.leaf(i, t);
    }
    // If the new tree has a separate slot, its leaf is found again.
    if (applying && plan_.replaced.empty() && first + i < cursor_) {
      window_.leaves(first + i)[plan_.slot] =
          static_cast<std::uint8_t>(grown_.find_leaf(window_.bins(first + i)));
    }
  }
  // The tree that is growing.
  if (phase_ == Phase::kGrowing) {
    grower_.begin(plan_, window_, cuts_, seed_);
    const Index steps = clock[S::kSteps];
    require(steps >= 0, "clock");
    for (; steps_ < steps; ++steps_) {
      require(grower_.step(window_, cuts_, trees_) > 0, "clock");
    }
  }
}

}  // namespace rpnb
