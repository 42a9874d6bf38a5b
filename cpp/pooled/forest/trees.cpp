#include "trees.h"

#include <algorithm>

namespace rpnb::forest {

namespace {

using Clock = WindowForest::Clock;

// The number of the row at a position in the window of R rows; the last one is `last`.
std::int64_t number_of(std::int64_t at, std::int64_t last, Index R) {
  const std::int64_t turn = last % R;
  return last - turn + at - (at > turn ? R : 0);
}

// The position in the window of one of the last R rows.
Index place_of(std::int64_t number, std::int64_t last, Index R) {
  const std::int64_t at = last % R - (last - number);
  return at >= 0 ? at : at + R;
}

}  // namespace

Grower::Grower(WindowForest& state, Workspace& space)
    : state_(state),
      splits_(state, space),
      moved_(space.take<std::int64_t>(state.order.size() + kRecentRows)),
      units_(units_per_row(state.columns(), state.order.size())),
      n_features_(tried_features(state.columns())) {}

// Whether all rows, given by their positions in the window, are of one class.
bool Grower::is_pure(Vector<const std::int64_t> rows) const {
  const std::int64_t y = state_.window_class[rows[0]];
  return std::all_of(rows.begin(), rows.end(),
                     [&](std::int64_t row) { return state_.window_class[row] == y; });
}

// Move the rows that go left before the others; return their number.
//
// Both parts stay in chronological order.
Index Grower::split_rows(Vector<std::int64_t> rows, const Split& split) {
  Index left = 0;
  Index right = 0;
  for (const std::int64_t row : rows) {
    const bool goes_left = state_.window(row, split.feature) <= split.threshold;
    rows[left] = row;
    moved_[right] = row;
    left += static_cast<Index>(goes_left);
    right += static_cast<Index>(!goes_left);
  }
  std::copy_n(moved_.begin(), right, rows.begin() + left);
  return left;
}

// Split a node; return its left child.
Index Grower::add_children(Index k, Index node, const Split& split) {
  const Index left = state_.n_nodes[k];
  state_.n_nodes[k] += 2;
  state_.feature(k, node) = static_cast<std::int32_t>(split.feature);
  state_.threshold(k, node) = split.threshold;
  state_.child(k, node) = static_cast<std::int32_t>(left);
  return left;
}

// Start a tree from the last rows; their number is the next of the spans.
void Grower::start_tree() {
  const auto& clock = state_.clock;
  const Index R = state_.window.size();
  const Index k = state_.growing();
  const std::int64_t learned = clock[Clock::kLearned];
  const Index span = kSpans[clock[Clock::kGrown] % kSpans.size()];
  const Index n = std::min({Index{learned}, span, state_.order.size()});
  Index at = (learned - n) % R;
  for (Index i = 0; i < n; ++i) {
    state_.order[i] = at;
    at = at + 1 < R ? at + 1 : 0;
  }
  state_.node_first[0] = 0;
  state_.node_end[0] = n;
  state_.node_depth[0] = 0;
  state_.tree_number[k] = clock[Clock::kGrown];
  state_.n_nodes[k] = 1;
  state_.n_leaves[k] = 0;
  clock[Clock::kGrown] += 1;
  clock[Clock::kStart] = learned;
  clock[Clock::kDue] = learned + std::max(Index{1}, n / kRenewal);
  clock[Clock::kNext] = 0;
}

// Split nodes of the growing tree, or turn them into leaves, until the units are used up.
void Grower::grow_nodes() {
  const Index k = state_.growing();
  std::int64_t& next = state_.clock[Clock::kNext];
  Index units = units_;
  while (units > 0 && next < state_.n_nodes[k]) {
    const Index node = next++;
    const auto rows = state_.order.slice(state_.node_first[node], state_.node_end[node]);
    units -= 2 * rows.size();
    Split split;
    if (state_.node_depth[node] < kMostDepth && has_room(k) && !is_pure(rows)) {
      split = splits_.choose({state_.tree_number[k], node, rows}, n_features_, kThresholds);
      units -= std::min(rows.size(), kSampledRows) * n_features_ + 16 * kThresholds + 256;
    }
    if (split) {
      divide(k, node, rows, split);
    } else {
      make_leaf(k, node, rows);
    }
  }
}

// Give the rows of a node of the growing tree to its children.
void Grower::divide(Index k, Index node, Vector<std::int64_t> rows, const Split& split) {
  const Index left = add_children(k, node, split);
  const std::int64_t middle = state_.node_first[node] + split_rows(rows, split);
  state_.node_depth[left] = state_.node_depth[node] + 1;
  state_.node_depth[left + 1] = state_.node_depth[node] + 1;
  state_.node_first[left] = state_.node_first[node];
  state_.node_end[left] = middle;
  state_.node_first[left + 1] = middle;
  state_.node_end[left + 1] = state_.node_end[node];
}

// Turn a node of the growing tree into a leaf that has counted its rows.
void Grower::make_leaf(Index k, Index node, Vector<const std::int64_t> rows) {
  const std::int64_t last = state_.clock[Clock::kStart] - 1;
  const Index leaf = state_.n_leaves[k]++;
  state_.child(k, node) = static_cast<std::int32_t>(-1 - leaf);
  state_.origin(k, leaf) = static_cast<std::int32_t>(leaf);
  const ClassCounts slow = slow_counts(state_, k, leaf);
  const ClassCounts fast = fast_counts(state_, k, leaf);
  const auto recent = state_.recent[k][leaf];
  slow.clear();
  fast.clear();
  recent.fill(-1);
  for (const std::int64_t at : rows) {
    add_slow(slow, state_.window_class[at], state_.window_weight[at]);
    add_fast(fast, state_.window_class[at]);
  }
  for (Index i = std::max(Index{0}, rows.size() - kRecentRows); i < rows.size(); ++i) {
    remember(recent, number_of(rows[i], last, state_.window.size()));
  }
}

// Let the grown tree learn the rows since its start, and replace the weakest tree.
void Grower::finish_tree() {
  const auto& clock = state_.clock;
  const auto& place = state_.place;
  const auto& number = state_.tree_number;
  const auto slow = state_.log_weight[0];
  const auto fast = state_.log_weight[1];
  const Index k = state_.growing();
  learn_in_tree(state_, k, state_, clock[Clock::kStart], clock[Clock::kLearned]);
  Index weakest = 0;
  double slow_sum = 0.0;
  double fast_sum = 0.0;
  for (Index j = 0; j < kTrees; ++j) {
    if (slow[j] + fast[j] < slow[weakest] + fast[weakest]) weakest = j;
    slow_sum += slow[j];
    fast_sum += fast[j];
  }
  Index older = 0;
  for (Index j = 0; j < kTrees; ++j) {
    older += static_cast<Index>(number[place[j]] < number[place[weakest]]);
  }
  if (older >= kTrees - kNewest) {
    clock[Clock::kDue] += clock[Clock::kDue] - clock[Clock::kStart];
  }
  clock[Clock::kStart] = -1;
  slow[weakest] = slow_sum / kTrees;
  fast[weakest] = fast_sum / kTrees;
  std::swap(place[kTrees], place[weakest]);
}

bool Grower::grow() {
  const auto& clock = state_.clock;
  if (clock[Clock::kStart] < 0) {
    if (clock[Clock::kLearned] < clock[Clock::kDue]) return false;
    start_tree();
  }
  grow_nodes();
  if (clock[Clock::kNext] < state_.n_nodes[state_.growing()]) return false;
  finish_tree();
  return true;
}

void Grower::refine(const Leaves& leaves, Index r, const std::array<bool, kTrees>& surprised) {
  for (Index j = 0; j < kTrees; ++j) {
    const Index k = state_.place[j];
    if (surprised[j] && leaves.depths[r][j] < kDeepest && has_room(k)) {
      refine_leaf(k, leaves.nodes[r][j], leaves.numbers[j]);
    }
  }
}

void Grower::refine_leaf(Index k, Index node, Index leaf) {
  const Index R = state_.window.size();
  const std::int64_t last = state_.clock[Clock::kLearned] - 1;
  const std::int64_t oldest = std::max(std::int64_t{0}, last + 1 - R);
  const auto recent = state_.recent[k][leaf];
  std::array<std::int64_t, kRecentRows> places;
  Index n = 0;
  for (Index i = kRecentRows - 1; i >= 0; --i) {
    if (recent[i] >= oldest) places[n++] = place_of(recent[i], last, R);
  }
  const Vector<std::int64_t> rows(places.data(), {n});
  if (n < kLeastRefined || is_pure(rows)) return;
  const Index n_features = std::min(kRefiningFeatures, state_.columns());
  const Split split =
      splits_.choose({state_.tree_number[k], node, rows}, n_features, kRefiningFeatures);
  if (!split) return;

  const Index left = add_children(k, node, split);
  const Index n_left = split_rows(rows, split);
  const Index other = state_.n_leaves[k]++;
  state_.child(k, left) = static_cast<std::int32_t>(-1 - leaf);
  state_.child(k, left + 1) = static_cast<std::int32_t>(-1 - other);
  state_.origin(k, other) = state_.origin(k, leaf);
  for (const Index part : {leaf, other}) {
    slow_counts(state_, k, part).clear();
    state_.recent[k][part].fill(-1);
  }
  for (Index i = 0; i < n; ++i) {
    const Index part = i < n_left ? leaf : other;
    const std::int64_t at = rows[i];
    add_slow(slow_counts(state_, k, part), state_.window_class[at], state_.window_weight[at]);
    remember(state_.recent[k][part], number_of(at, last, R));
  }
}

}  // namespace rpnb::forest
