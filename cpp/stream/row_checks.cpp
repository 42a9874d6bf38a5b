#include "row_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../simd.h"

namespace rpnb {

namespace {

// All finite singles are within kLargestValue.
constexpr double limit_of(double /*type*/) { return kLargestValue; }
constexpr float limit_of(float /*type*/) { return std::numeric_limits<float>::max(); }

template <class T>
bool is_bad(T value, bool missing) {
  return !(std::abs(value) <= limit_of(T{})) && !(missing && std::isnan(value));
}

// Whether any of the values, `kVectors` vectors of them, is bad.
template <int kVectors, class T>
bool any_bad(const T* values, bool missing) {
  using Lanes = decltype(load(values));
  constexpr Index kLanes = sizeof(Lanes) / sizeof(T);
  const Lanes limit = repeat(limit_of(T{}));
  auto good = limit == limit;
  const auto may_be_missing = missing ? limit == limit : limit != limit;
  for (int v = 0; v < kVectors; ++v) {
    const Lanes value = load(values + v * kLanes);
    // NaN is neither below nor above, and not equal to itself.
    good &= ((value <= limit) & (value >= -limit)) | (may_be_missing & (value != value));
  }
  bool all = true;
  for (Index lane = 0; lane < kLanes; ++lane) all &= good[lane] != 0;
  return !all;
}

template <class T>
Index find_bad(Vector<const T> values, bool missing) {
  constexpr int kVectors = 16;
  constexpr Index kBlock = Index{kVectors} * 32 / Index{sizeof(T)};
  const Index n = values.size();
  Index i = 0;
  while (i + kBlock <= n && !any_bad<kVectors>(values.data() + i, missing)) i += kBlock;
  while (i < n && !is_bad(values[i], missing)) ++i;
  return i < n ? i : -1;
}

}  // namespace

Index first_bad(Vector<const double> values, bool missing) { return find_bad(values, missing); }
Index first_bad(Vector<const float> values, bool missing) { return find_bad(values, missing); }

}  // namespace rpnb
