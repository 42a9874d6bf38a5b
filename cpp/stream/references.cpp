#include "references.h"

#include <algorithm>

namespace rpnb {

namespace {

Index place_of_largest(Vector<const std::int64_t> state) {
  return std::max_element(state.begin(), state.end()) - state.begin();
}

}  // namespace

void count_majority(Vector<std::int64_t> state, Vector<const std::int64_t> y,
                    Vector<std::int64_t> labels) {
  Index best = place_of_largest(state);
  for (Index i = 0; i < y.size(); ++i) {
    labels[i] = state[best] >= 0 ? best : -1;
    const Index m = y[i];
    if (m < 0) continue;
    state[m] = std::max<std::int64_t>(state[m], 0) + 1;
    if (state[m] > state[best] || (state[m] == state[best] && m < best)) best = m;
  }
}

void repeat_last(Vector<std::int64_t> state, Vector<const std::int64_t> y,
                 Vector<std::int64_t> labels) {
  Index last = place_of_largest(state);
  std::int64_t seen = std::max<std::int64_t>(state[last], 0);
  bool known = state[last] >= 0;
  for (Index i = 0; i < y.size(); ++i) {
    labels[i] = known ? last : -1;
    const Index m = y[i];
    if (m < 0) continue;
    state[last] = known ? 0 : -1;
    known = true;
    last = m;
    state[m] = ++seen;
  }
}

}  // namespace rpnb
