// Rows from Python: an array (n, p), or the tuple (values, columns, starts) that
// rpnb.core.kernels.row_blocks makes of a sparse or dense table.
#pragma once

#include "../rows.h"
#include "arrays.h"

namespace nanobind::detail {

template <>
struct type_caster<rpnb::RowBlock> {
  NB_TYPE_CASTER(rpnb::RowBlock, const_name("rpnb.core.kernels.row_blocks.RowBlock"))

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    if (!isinstance<nanobind::tuple>(source)) {
      if (!dense_.from_python(source, flags, cleanup)) return false;
      value = rpnb::RowBlock(dense_.value);
      return true;
    }
    const auto parts = borrow<nanobind::tuple>(source);
    if (parts.size() != 3 || !values_.from_python(parts[0], flags, cleanup) ||
        !columns_.from_python(parts[1], flags, cleanup) ||
        !starts_.from_python(parts[2], flags, cleanup) || !fit()) {
      return false;
    }
    value = rpnb::RowBlock(values_.value, columns_.value, starts_.value);
    return true;
  }

 private:
  // Whether all rows lie inside their arrays. `check_rows` checks the columns, since that needs
  // the number of features.
  [[nodiscard]] bool fit() const {
    const auto& starts = starts_.value;
    const rpnb::Index count = values_.value.size();
    if (starts.size() < 1 || starts[0] < 0) return false;
    if (columns_.value.size() != 0 && columns_.value.size() != count) return false;
    bool ascending = true;
    for (rpnb::Index i = 1; i < starts.size(); ++i) ascending &= starts[i] >= starts[i - 1];
    return ascending && starts[starts.size() - 1] <= count;
  }

  // These keep the arrays alive during the call.
  make_caster<rpnb::Matrix<const double>> dense_;
  make_caster<rpnb::Vector<const double>> values_;
  make_caster<rpnb::Vector<const std::int64_t>> columns_;
  make_caster<rpnb::Vector<const std::int64_t>> starts_;
};

}  // namespace nanobind::detail
