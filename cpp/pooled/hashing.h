// Rows of very many features, hashed to few columns.
//
// Feature j is added to column h(j) with sign s(j), both functions of a seed and of j
// (Weinberger, Dasgupta, Langford, Smola & Attenberg, "Feature hashing for large scale
// multitask learning", ICML 2009). Zeros are skipped, so a row gets the same bits whether it
// is dense or sparse. A missing value counts as zero.
#pragma once

#include <cstdint>

#include "../rows.h"

namespace rpnb {

// Fill `out` (n, columns) with the hashed rows. `places` (p,) is 1 + the column of each
// feature, negative where it is subtracted; throws std::invalid_argument where there is no
// such column.
void hash_rows(const RowBlock& rows, Vector<const std::int64_t> places, Matrix<double> out);

}  // namespace rpnb
