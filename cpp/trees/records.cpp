#include "records.h"

#include <algorithm>
#include <stdexcept>

namespace rpnb::trees {

namespace {

// A copy of a record with `times` the places for each of K trees; the new ones hold zeros.
template <class R>
std::shared_ptr<R> copied(const R& record, Index K, Index times = 1) {
  auto copy = std::make_shared<R>();
  for_each_field<R>([&](const auto& entry) {
    const auto& from = record.*(entry.member);
    auto& to = (*copy).*(entry.member);
    auto shape = from.shape();
    shape[0] *= times;
    to = std::remove_cvref_t<decltype(from)>(shape);
    const Index size = from.total() / K;
    for (Index k = 0; k < K; ++k) {
      std::copy_n(from.data() + k * size, size, to.data() + times * k * size);
    }
  });
  return copy;
}

void require(bool fits, const char* message) {
  if (!fits) throw std::invalid_argument(message);
}

// Reject numbers outside low … below − 1.
void require_range(Vector<const std::int64_t> numbers, Index low, Index below,
                   const char* message) {
  for (const std::int64_t number : numbers) require(number >= low && number < below, message);
}

}  // namespace

Forest::Forest(Vector<const std::int64_t> splits, const Nodes& nodes, const Leaves& leaves)
    : splits_({splits.size()}),
      nodes_(copied(nodes, 1)),
      leaves_{copied(*leaves.counts, 1), copied(*leaves.observed, 1),
              copied(*leaves.densities, 1)} {
  std::copy(splits.begin(), splits.end(), splits_.begin());
  const Index L = nodes_->left.size();
  const Index M = leaves_.classes();
  const Index p = leaves_.features();
  require(trees() > 0 && L >= trees() && L % trees() == 0, "all trees must have as many places");
  require(leaves_.counts->slots.size() == L, "there must be as many leaves as nodes");
  const std::array<Index, 3> by_class{L, M, p};
  const std::array<Index, 3> by_feature{L, p, M};
  require(
      leaves_.observed->mean.shape() == by_class && leaves_.densities->centre.shape() == by_feature,
      "all leaves must have as many classes and attributes");
  const Index C = places();
  require_range(splits_, 0, C, "a tree has more splits than places");
  require_range(nodes_->attribute, 0, std::max(p, Index{1}), "a node names no attribute");
  require_range(nodes_->left, -C, C, "a node names no child");
  require_range(nodes_->right, -C, C, "a node names no child");
  require_range(leaves_.counts->slots, 0, M + 1, "a leaf has more slots than classes");
}

void Forest::add_places() {
  const Index K = trees();
  nodes_ = copied(*nodes_, K, 2);
  leaves_ = {copied(*leaves_.counts, K, 2), copied(*leaves_.observed, K, 2),
             copied(*leaves_.densities, K, 2)};
}

}  // namespace rpnb::trees
