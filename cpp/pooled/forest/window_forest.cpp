#include "window_forest.h"

#include <algorithm>
#include <string>

#include "descents.h"
#include "leaves.h"
#include "trees.h"

namespace rpnb {

namespace {

using namespace forest;

// The columns that the forest reads.
Matrix<const double> read(const WindowForest& state, const Rows& rows, Workspace& space) {
  const Index p = state.columns();
  if (rows.raw.size(1) == p) return rows.raw;
  require_length("a row that a window forest reads", rows.low.size(1), p);
  const auto X = space.take<double>(rows.size(), p);
  std::copy(rows.low.begin(), rows.low.end(), X.begin());
  return X;
}

Index count_active(const WindowForest& state) {
  return std::count(state.active.begin(), state.active.end(), true);
}

// Keep a row in the window; return whether its class was not active.
bool keep_row(WindowForest& state, Vector<const double> x, const Learned& row) {
  const Index at = row.number % state.window.size();
  std::copy(x.begin(), x.end(), state.window[at].begin());
  state.window_class[at] = row.y;
  state.window_weight[at] = row.weight;
  state.clock[WindowForest::kLearned] += 1;
  state.class_weight[row.y] += row.weight;
  state.total_weight[0] += row.weight;
  const bool is_new = !state.active[row.y];
  state.active[row.y] = true;
  return is_new;
}

}  // namespace

WindowForest WindowForest::begin(const Shape& shape, Vector<const bool> active,
                                 std::uint64_t seed) {
  const Index M = active.size();
  const Index p = read_columns(shape);
  const Index W = window_rows(p, shape.window);
  const Index R = kept_rows(W);
  const Index L = most_leaves(W);
  const Index N = 2 * L - 1;
  const Index S = listed_classes(M);
  constexpr Index kPlaces = kTrees + 1;
  WindowForest state;
  state.seed = Array<std::uint64_t, 1>({1});
  state.seed[0] = seed;
  state.clock = Array<std::int64_t, 1>({kClocks});
  state.clock[kDue] = 1;
  state.clock[kStart] = -1;
  state.active = Array<bool, 1>({M});
  copy_into(state.active, active);
  state.class_weight = Array<double, 1>({M});
  state.total_weight = Array<double, 1>({1});
  state.window = Array<double, 2>({R, p});
  state.window_class = Array<std::int64_t, 1>({R});
  state.window_class.fill(-1);
  state.window_weight = Array<double, 1>({R});
  state.place = Array<std::int64_t, 1>({kPlaces});
  for (Index j = 0; j < kPlaces; ++j) state.place[j] = j;
  state.log_weight = Array<double, 2>({2, kTrees});
  state.tree_number = Array<std::int64_t, 1>({kPlaces});
  state.n_nodes = Array<std::int64_t, 1>({kPlaces});
  state.n_nodes.fill(1);
  state.n_leaves = Array<std::int64_t, 1>({kPlaces});
  state.n_leaves.fill(1);
  state.feature = Array<std::int32_t, 2>({kPlaces, N});
  state.threshold = Array<double, 2>({kPlaces, N});
  state.child = Array<std::int32_t, 2>({kPlaces, N});
  state.child.fill(-1);
  state.slow_class = Array<std::int32_t, 3>({kPlaces, L, S});
  state.slow_class.fill(-1);
  state.slow_count = Array<double, 3>({kPlaces, L, S});
  state.slow_total = Array<double, 2>({kPlaces, L});
  state.recent = Array<std::int64_t, 3>({kPlaces, L, kRecentRows});
  state.recent.fill(-1);
  state.origin = Array<std::int32_t, 2>({kPlaces, L});
  state.fast_class = Array<std::int32_t, 3>({kPlaces, L, S});
  state.fast_class.fill(-1);
  state.fast_count = Array<double, 3>({kPlaces, L, S});
  state.fast_total = Array<double, 2>({kPlaces, L});
  state.order = Array<std::int64_t, 1>({W});
  state.node_first = Array<std::int64_t, 1>({N});
  state.node_end = Array<std::int64_t, 1>({N});
  state.node_depth = Array<std::int64_t, 1>({N});
  return state;
}

void WindowForest::score_rows(const Rows& rows, const Scores& scores) const {
  const Index n = rows.size();
  Workspace space;
  const Matrix<const double> X = read(*this, rows, space);
  const Index n_active = count_active(*this);
  const TreeWeights weights = tree_weights(*this);
  Leaves leaves;
  for (Index first = 0; first < n; first += kAhead) {
    const Index last = std::min(first + kAhead, n);
    find_leaves(*this, X.slice(first, last), leaves);
    for (Index i = first; i < last; ++i) {
      settle(*this, X[i], i - first, leaves);
      const Index ahead = std::min(i + 1, last - 1) - first;
      score_at_leaves(*this, weights, n_active, leaves, ahead, {scores(i, 0), scores(i, 1)});
    }
  }
}

void WindowForest::score_unordered(const Rows& rows, const Scores& scores) const {
  score_rows(rows, scores);
  for (Index i = 0; i < rows.size(); ++i) {
    copy_into(scores(i, 1), View<const double, 1>(scores(i, 0)));
  }
}

void WindowForest::learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) {
  const Index n = rows.size();
  Workspace space;
  const Matrix<const double> X = read(*this, rows, space);
  const auto unwanted = space.take<double>(2, classes());
  Grower grower(*this, space);
  Index n_active = count_active(*this);
  Leaves leaves;
  std::array<bool, kTrees> surprised;
  // Leaves of rows first … last − 1 are known.
  Index first = 0;
  Index last = 0;
  for (Index i = 0; i < n; ++i) {
    const bool learns = labels.known(i);
    if (!scores.wanted() && !learns) continue;
    if (i >= last) {
      first = i;
      last = std::min(i + kAhead, n);
      find_leaves(*this, X.slice(first, last), leaves);
    }
    const Index r = i - first;
    settle(*this, X[i], r, leaves);
    const Index ahead = std::min(i + 1, last - 1) - first;
    const RowScores out = scores.wanted() ? RowScores{scores(i, 0), scores(i, 1)}
                                          : RowScores{unwanted[0], unwanted[1]};
    if (!learns) {
      score_at_leaves(*this, tree_weights(*this), n_active, leaves, ahead, out);
      continue;
    }
    const Learned row{labels.y[i], labels.weight[i], clock[kLearned]};
    learn_at_leaves(*this, n_active, row, leaves, ahead, out, surprised);
    n_active += static_cast<Index>(keep_row(*this, X[i], row));
    if (std::find(surprised.begin(), surprised.end(), true) != surprised.end()) {
      grower.refine(leaves, r, surprised);
    }
    // If a tree was replaced, the leaves of the following rows are found again.
    if (grower.grow()) last = i + 1;
  }
}

void WindowForest::check() const {
  const Index W = order.size();
  require_length("window_forest.window", window.size(), kept_rows(W));
  require_length("axis 1 of window_forest.origin", origin.size(1), most_leaves(W));
  require_length("axis 1 of window_forest.child", child.size(1), 2 * most_leaves(W) - 1);
  require_length("axis 2 of window_forest.slow_class", slow_class.size(2),
                 listed_classes(classes()));
}

void WindowForest::check_shape(const Shape& shape) const {
  const Index p = read_columns(shape);
  require_length("axis 1 of window_forest.window", columns(), p);
  require_length("window_forest.order", order.size(), window_rows(p, shape.window));
}

std::shared_ptr<Member> WindowForest::begin_again(const Shape& shape,
                                                  Vector<const bool> active_classes,
                                                  std::uint64_t new_seed) const {
  return std::make_shared<WindowForest>(begin(shape, active_classes, new_seed));
}

}  // namespace rpnb
