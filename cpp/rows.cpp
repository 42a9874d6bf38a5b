#include "rows.h"

#include <stdexcept>

namespace rpnb {

void check_rows(const RowBlock& rows, Index p) {
  for (Index i = 0; i < rows.size(); ++i) {
    const Row row = rows[i];
    if (!rows.sparse()) {
      // A sparse block without values is not distinguished from a dense one.
      if (row.size() != p && rows.values().size() > 0) {
        throw std::invalid_argument("a row must have a value for each feature");
      }
      continue;
    }
    Index last = -1;
    bool fits = true;
    for (const std::int64_t column : row.columns) {
      fits &= column > last && column < p;
      last = column;
    }
    if (!fits) throw std::invalid_argument("columns of a row must be ascending, 0 to p - 1");
  }
}

}  // namespace rpnb
