// Baselines that ignore features: the majority class, and no change.
//
// Their state is one number per class, −1 for a class that was neither seen nor declared.
#pragma once

#include <cstdint>

#include "../array.h"

namespace rpnb {

// Label each row by the class counted most before it, the first of equals, or −1; then
// count its own. y (n,) is −1 for a row that is only predicted.
void count_majority(Vector<std::int64_t> state, Vector<const std::int64_t> y,
                    Vector<std::int64_t> labels);

// Label each row by the class of the previous row, or −1. The state of that class is the
// number of rows seen, that of others 0. Before the first row, the first declared class is
// taken for the previous one.
void repeat_last(Vector<std::int64_t> state, Vector<const std::int64_t> y,
                 Vector<std::int64_t> labels);

}  // namespace rpnb
