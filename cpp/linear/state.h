// The state of a linear learner.
#pragma once

#include <cstdint>

#include "../record.h"

namespace rpnb {

struct LinearState {
  Array<double, 2> W;             // one row of weights per class; one in the two-class form
  Array<double, 2> S;             // Σ: (p, p), or its diagonal (1, p); (0, p) in first order
  Array<bool, 1> eligible;        // whether a class was declared or seen; two-class: not read
  Array<std::int64_t, 1> counts;  // rounds learned, and those of them that were updates
  Array<double, 1> c;             // c_t of IELLIP

  static constexpr auto fields() {
    return std::tuple{field("W", &LinearState::W, "* p"), field("S", &LinearState::S, "* p"),
                      field("eligible", &LinearState::eligible, "M"),
                      field("counts", &LinearState::counts, "2"), field("c", &LinearState::c, "1")};
  }

  [[nodiscard]] Index features() const { return W.size(1); }
  [[nodiscard]] std::int64_t& rounds() const { return counts[0]; }
  [[nodiscard]] std::int64_t& updates() const { return counts[1]; }
};

}  // namespace rpnb
