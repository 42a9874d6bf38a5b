// Blocks of rows, dense or sparse.
#pragma once

#include <cstdint>

#include "array.h"

namespace rpnb {

// One row, or any vector that may be sparse.
struct Row {
  Vector<const double> values;
  Vector<const std::int64_t> columns;  // of the values; empty if these are all columns in order

  [[nodiscard]] Index size() const { return values.size(); }
  [[nodiscard]] bool sparse() const { return columns.size() > 0; }
  // The column of the j-th value.
  [[nodiscard]] Index column(Index j) const { return sparse() ? columns[j] : j; }
};

// n rows, each of them dense, or all of them sparse with ascending columns, none twice.
class RowBlock {
 public:
  RowBlock() = default;
  // The rows of an array (n, p).
  explicit RowBlock(Matrix<const double> X)
      : values_(X.reshaped(X.total())), n_(X.size(0)), p_(X.size(1)) {}
  // Compressed rows: the values of all rows, their columns (none if the rows are dense), and
  // (n + 1,) the index of each row's first value, and the end of the last row.
  RowBlock(Vector<const double> values, Vector<const std::int64_t> columns,
           Vector<const std::int64_t> starts)
      : values_(values), columns_(columns), starts_(starts), n_(starts.size() - 1) {}

  [[nodiscard]] Index size() const { return n_; }
  [[nodiscard]] bool sparse() const { return columns_.size() > 0; }
  [[nodiscard]] Vector<const double> values() const { return values_; }
  [[nodiscard]] Vector<const std::int64_t> columns() const { return columns_; }
  // Where the values of row i start; the end of the last row for i = n.
  [[nodiscard]] Index start(Index i) const { return starts_.size() > 0 ? starts_[i] : i * p_; }

  [[nodiscard]] Row operator[](Index i) const {
    const Index first = start(i);
    const Index last = start(i + 1);
    return {values_.slice(first, last), sparse() ? columns_.slice(first, last) : columns_};
  }

 private:
  Vector<const double> values_;
  Vector<const std::int64_t> columns_;
  Vector<const std::int64_t> starts_;  // empty for the rows of an array
  Index n_ = 0;
  Index p_ = 0;
};

// Throw std::invalid_argument unless all values are of columns 0 … p − 1, ascending in each
// row, and a dense row has p values. Rows from Python are checked when they enter the core.
void check_rows(const RowBlock& rows, Index p);

}  // namespace rpnb
