// Sizes of boosted trees: constants, and sizes that follow from the number of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "../../array.h"

namespace rpnb::boosted {

// Number of labelled rows before the first tree.
inline constexpr Index kFirstRows = 128;
inline constexpr Index kLeastTrees = 8;
inline constexpr Index kMostTrees = 100;
inline constexpr Index kLeastLeaves = 12;
inline constexpr Index kMostLeaves = 127;
inline constexpr Index kMostNodes = 2 * kMostLeaves - 1;
inline constexpr Index kMostDepth = 14;
// Number of features that a tree may read; if there are more, it draws this many.
inline constexpr Index kTreeFeatures = 32;
// With more classes than this, scores are class frequencies only.
inline constexpr Index kMostClasses = 64;
// Bins of a feature: one for missing values, and those between cut points.
inline constexpr Index kMostCuts = 126;
inline constexpr Index kMostBins = kMostCuts + 2;
// Rows per cut point if there are few rows, and the number of cut points that is always
// allowed.
inline constexpr Index kCutRows = 8;
inline constexpr Index kLeastCuts = 15;
// Number of rows after which the cut points of all features are fixed.
inline constexpr Index kLastCuts = 4096;
// Largest number of rows kept, and the bytes that they may take.
inline constexpr Index kMostRows = Index{1} << 17;
inline constexpr Index kMostBytes = Index{1} << 26;
// Rows of a block, which is allocated at once; also the rows that a step handles.
inline constexpr Index kBlockRows = 256;
// Largest number of raw values kept for new cut points.
inline constexpr Index kRawValues = Index{1} << 21;
// Units of work, about a nanosecond each, that a labelled row pays for; and the same for
// the first rows, while trees are small and soon outdated.
inline constexpr Index kBudget = 20000;
inline constexpr Index kEarlyBudget = 40000;
inline constexpr Index kEarlyRows = 4096;
// Margins and leaf values are multiples of 1/kSteps.
inline constexpr double kSteps = 65536.0;
// Gradients are multiples of 1/kGradientSteps, weights of rows of 1/kWeightSteps.
inline constexpr double kGradientSteps = 4096.0;
inline constexpr double kWeightSteps = 1024.0;
inline constexpr double kMostWeight = 1048576.0;
// Ridge of a leaf value, and the least curvature of a leaf.
inline constexpr double kRidge = 1.0;
inline constexpr double kLeastCurvature = 1.0;
// Largest amount that a leaf adds to a margin.
inline constexpr double kMostValue = 2.0;

// Number of margins of a row: the log odds of the second of two classes, or one margin
// for each of Q classes, padded to whole vectors.
inline Index margins_for(Index Q) { return Q <= 2 ? 1 : (Q + 3) / 4 * 4; }

// The number of trees for n rows while some trees date from before a change.
inline Index trees_after_change(Index n) {
  const auto root = static_cast<Index>(std::sqrt(static_cast<double>(n)));
  return std::min(kMostTrees, std::max(kLeastTrees, root));
}

// L, the number of leaves of a tree, for n rows of Q classes.
inline Index leaves_for(Index n, Index Q) {
  const double more = std::max(1.0, static_cast<double>(Q) / 6.0);
  const auto root = static_cast<Index>(std::sqrt(static_cast<double>(n) * more) / 4.0);
  return std::min(kMostLeaves, std::max(kLeastLeaves, root));
}

// η, the share of a leaf's Newton step that is used, for Q classes.
inline double shrinkage_for(Index Q) {
  return std::min(0.4, 0.1 * std::sqrt(static_cast<double>(Q)));
}

// The number of cut points that n rows suffice for.
inline Index cuts_for(Index n) { return std::min(kMostCuts, std::max(kLeastCuts, n / kCutRows)); }

// Largest number of rows of p features kept, with C margins each.
inline Index rows_kept(Index p, Index C) {
  return std::min(kMostRows, kMostBytes / (p + 8 * C + kMostTrees + 20));
}

// Largest number of values from which cut points are computed.
inline Index cut_rows(Index p) { return p > kTreeFeatures ? 512 : 2048; }

// Number of the newest blocks whose raw rows are kept.
inline Index raw_blocks(Index p) {
  return std::max(Index{1}, std::min(kLastCuts / kBlockRows + 1, kRawValues / (kBlockRows * p)));
}

// An array with undefined initial values. Growing discards its values.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Index size) { make_room(size); }
  Buffer(const Buffer& other) : Buffer(other.size_) {
    std::copy_n(other.data_.get(), size_, data_.get());
  }
  Buffer& operator=(const Buffer& other) {
    Buffer copy(other);
    return *this = std::move(copy);
  }
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;
  ~Buffer() = default;

  // Make room for at least this many values.
  void make_room(Index size) {
    if (size <= size_) return;  // GCOVR_EXCL_BR_LINE: not counted where inlined
    size_ = size;
    data_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(size));
  }
  void release() {
    data_.reset();
    size_ = 0;
  }

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] Index size() const { return size_; }
  T& operator[](Index i) {
    check_index(i, size_);
    return data_[i];
  }
  const T& operator[](Index i) const {
    check_index(i, size_);
    return data_[i];
  }

 private:
  std::unique_ptr<T[]> data_;
  Index size_ = 0;
};

}  // namespace rpnb::boosted
