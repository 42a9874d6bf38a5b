#include "late.h"

#include <algorithm>

namespace rpnb {

Index Pending::block_rows(Index delay) {
  return std::max<Index>(1, std::min<Index>(64, delay / 4));
}

Pending Pending::begin(Index delay, Index p) {
  const Index kept = delay + block_rows(delay);
  Pending pending;
  pending.rows = Array<double, 2>({kept, p});
  pending.labels = Array<std::int64_t, 1>({kept});
  pending.weight = Array<double, 1>({kept});
  pending.seen = Array<std::int64_t, 1>({1});
  return pending;
}

Index Pending::rows_until_due(Index delay) const {
  const Index g = block_rows(delay);
  const Index over = seen[0] - delay;
  return over < 0 ? g - over : g - over % g;
}

Index Pending::first_due(Index delay) const {
  const Index g = block_rows(delay);
  const Index over = seen[0] - delay;
  return over < g || over % g != 0 ? -1 : over - g;
}

void Pending::add(Vector<const double> row, std::int64_t y, double row_weight) {
  const Index slot = seen[0] % labels.size();
  copy_into(rows[slot], row);
  labels[slot] = y;
  weight[slot] = row_weight;
  seen[0] += 1;
}

}  // namespace rpnb
