#include "bins.h"

namespace rpnb::boosted {

namespace {

// The middle of a < b, at least a and less than b.
float between(float a, float b) {
  const auto middle = static_cast<float>(0.5 * (static_cast<double>(a) + static_cast<double>(b)));
  return middle < b ? middle : a;
}

}  // namespace

Index find_cuts(Vector<const float> sorted, Index most, float* cuts) {
  const Index n = sorted.size();
  Index distinct = n > 0 ? 1 : 0;
  for (Index i = 1; i < n; ++i) distinct += static_cast<Index>(sorted[i - 1] < sorted[i]);
  const bool all = distinct <= most + 1;
  Index count = 0;
  Index left = n;
  Index parts = most + 1;
  Index taken = 0;
  for (Index i = 0; i + 1 < n && count < most; ++i) {
    ++taken;
    if (!(sorted[i] < sorted[i + 1])) continue;
    if (!all && taken * parts < left) continue;
    cuts[count++] = between(sorted[i], sorted[i + 1]);
    left -= taken;
    --parts;
    taken = 0;
  }
  return count;
}

Cuts::Cuts(Index p)
    : values_(static_cast<std::size_t>(p * kMostBins), std::numeric_limits<float>::max()),
      counts_(static_cast<std::size_t>(p), 0),
      made_(static_cast<std::size_t>(p), -1) {}

float Cuts::middle(Index j, Index bin) const {
  const float* const cuts = of(j);
  const Index n = counts_[j];
  // Before there were cut points, nothing was known.
  if (bin == 0 || n == 0) return std::numeric_limits<float>::quiet_NaN();
  if (bin == 1) return cuts[0];
  // The lowest bin ends at its cut point; the highest begins just above the last one.
  if (bin > n) return std::nextafter(cuts[n - 1], std::numeric_limits<float>::max());
  return std::nextafter(between(cuts[bin - 2], cuts[bin - 1]), std::numeric_limits<float>::max());
}

void Cuts::set(Index j, const float* cuts, Index count, std::int32_t event) {
  float* const own = values_.data() + j * kMostBins;
  std::copy_n(cuts, count, own);
  std::fill(own + count, own + kMostBins, std::numeric_limits<float>::max());
  counts_[j] = static_cast<std::int32_t>(count);
  made_[j] = event;
}

}  // namespace rpnb::boosted
