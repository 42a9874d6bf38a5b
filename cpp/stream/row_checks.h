// The search for values that no learner accepts.
#pragma once

#include "../array.h"

namespace rpnb {

// Beyond this a square may overflow, and with it every statistic.
inline constexpr double kLargestValue = 1e150;

// The index of the first value that is infinite or beyond ±kLargestValue, or, unless they
// may be `missing`, NaN; −1 if there is none.
Index first_bad(Vector<const double> values, bool missing);
Index first_bad(Vector<const float> values, bool missing);

}  // namespace rpnb
