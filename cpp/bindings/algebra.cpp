// Products and factors of matrices. Kernels call these; they are bound for tests.
#include "../pooled/algebra/row_products.h"
#include "arrays.h"
#include "rooms.h"

namespace rpnb {

namespace {

void require(bool fits, const char* rule) {
  if (!fits) throw nb::value_error(rule);
}

}  // namespace

void bind_algebra(nb::module_& module) {
  module.def("multiply_rows", [](Matrix<const float> rows, Matrix<const float> matrix,
                                 Vector<const float> start, Matrix<float> out) {
    require(rows.size(1) == matrix.size(0), "matrix must have a row for each column of rows");
    require(matrix.size(1) % 8 == 0, "columns of matrix must be a multiple of 8");
    require(start.size() == matrix.size(1), "start must be as long as rows of matrix");
    require(out.size(0) == rows.size(0) && out.size(1) == matrix.size(1),
            "out must have a row for each row and a column for each column of matrix");
    multiply_rows(rows, matrix, start, out);
  });
}

}  // namespace rpnb
