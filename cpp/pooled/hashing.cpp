#include "hashing.h"

#include <cmath>
#include <stdexcept>

namespace rpnb {

void hash_rows(const RowBlock& rows, Vector<const std::int64_t> places, Matrix<double> out) {
  const auto columns = static_cast<std::uint64_t>(out.size(1));
  out.fill(0.0);
  for (Index i = 0; i < rows.size(); ++i) {
    const Row row = rows[i];
    const Vector<double> hashed = out[i];
    for (Index j = 0; j < row.size(); ++j) {
      const double value = row.values[j];
      if (value == 0.0 || std::isnan(value)) continue;
      const std::int64_t place = places[row.column(j)];
      const std::int64_t column = (place > 0 ? place : -place) - 1;
      // A negative column is a very large one here.
      if (static_cast<std::uint64_t>(column) >= columns) {
        throw std::invalid_argument("places names a column that does not exist");
      }
      if (place > 0) {
        hashed[column] += value;
      } else {
        hashed[column] -= value;
      }
    }
  }
}

}  // namespace rpnb
