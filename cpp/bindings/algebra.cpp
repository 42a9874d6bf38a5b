// Matrix products and factorisations, and discriminants; bound for tests only.
#include "../pooled/algebra/blocks.h"
#include "../pooled/algebra/outer_products.h"
#include "../pooled/algebra/row_products.h"
#include "../pooled/discriminant.h"
#include "arrays.h"
#include "rooms.h"

namespace rpnb {

namespace {

void require(bool fits, const char* rule) {
  if (!fits) throw nb::value_error(rule);
}

void require_matrix(Vector<const double> matrix, Index E) {
  require(E % kSide == 0, "rows of a matrix in blocks must be a multiple of 16");
  require(matrix.size() == matrix_entries(E), "matrix must have all blocks of its lower triangle");
}

// Reject packed rows that are not in blocks of 16 columns, and rows out of range.
template <class T>
void require_packed(PackedRows<T> packed, Index first, Index last) {
  require(packed.size(2) == kSide, "packed rows must be in blocks of 16 columns");
  require(0 <= first && first <= last && last <= packed.size(1), "rows must be among those packed");
}

}  // namespace

void bind_algebra(nb::module_& module) {
  module.def("subtract_outer",
             [](Vector<double> matrix, View<const double, 3> left, View<const double, 3> right) {
               require_packed(left, 0, left.size(1));
               require(left.shape() == right.shape(), "left and right must have the same shape");
               require_matrix(matrix, kSide * left.size(0));
               subtract_outer(matrix, left, right, matrix);
             });
  module.def("cholesky", [](Vector<double> matrix, Index E) {
    require_matrix(matrix, E);
    return cholesky(matrix, E);
  });
  module.def("solve", [](Vector<const double> factor, Matrix<double> X) {
    require_matrix(factor, X.size(0));
    require(X.size(1) % 8 == 0, "columns of X must be a multiple of 8");
    solve(factor, X);
  });
  module.def("pack_row", [](Vector<const float> row, PackedRows<float> packed, Index r) {
    require_packed(packed, r, r + 1);
    require(row.size() == kSide * packed.size(0), "row must be as long as packed rows");
    pack_row(row, packed, r);
  });
  module.def("add_products", [](Vector<double> matrix, PackedRows<const float> packed,
                                PackedRows<const float> weighted, Index first, Index last) {
    require_packed(packed, first, last);
    require(packed.shape() == weighted.shape(), "packed and weighted must have the same shape");
    require_matrix(matrix, kSide * packed.size(0));
    add_products(matrix, packed, weighted, first, last);
  });
  module.def("add_exact_products",
             [](Vector<double> matrix, PackedRows<const float> packed, Index first, Index last) {
               require_packed(packed, first, last);
               require_matrix(matrix, kSide * packed.size(0));
               add_exact_products(matrix, packed, first, last);
             });
  module.def("multiply_rows", [](Matrix<const float> rows, Matrix<const float> matrix,
                                 Vector<const float> start, Matrix<float> out) {
    require(rows.size(1) == matrix.size(0), "matrix must have a row for each column of rows");
    require(matrix.size(1) % 8 == 0, "columns of matrix must be a multiple of 8");
    require(start.size() == matrix.size(1), "start must be as long as rows of matrix");
    require(out.size(0) == rows.size(0) && out.size(1) == matrix.size(1),
            "out must have a row for each row and a column for each column of matrix");
    multiply_rows(rows, matrix, start, out);
  });
  module.def("inner_products",
             [](PackedRows<const float> packed, Index first, Index last, Matrix<float> gram) {
               require_packed(packed, first, last);
               require(packed.size(1) % 8 == 0, "there must be memory for a multiple of 8 rows");
               require(gram.size(0) >= last && gram.size(1) >= last,
                       "gram must have a row and a column for each row");
               inner_products(packed, first, last, gram);
             });
  module.def("combine_rows",
             [](PackedRows<const float> packed, Matrix<const double> factors, Matrix<double> out) {
               require_packed(packed, 0, factors.size(0));
               require(out.size(0) == factors.size(1) && out.size(0) % 8 == 0,
                       "out must have a row for each column of factors, a multiple of 8");
               require(out.size(1) == kSide * packed.size(0), "out must be as wide as packed rows");
               combine_rows(packed, factors, out);
             });
  module.def("add_rows", [](Vector<double> A, PackedRows<const float> packed,
                            Vector<const double> weight, Index n) {
    require_packed(packed, 0, n);
    require(weight.size() >= n, "there must be a weight for each row");
    require_matrix(A, kSide * packed.size(0));
    add_rows(A, packed, weight, n);
  });
  module.def("discriminants",
             [](Vector<const double> count, Matrix<const double> B, Vector<const double> A,
                Index dimension, Matrix<float> V, Vector<float> offset) {
               require_matrix(A, V.size(0));
               require(B.size(0) == count.size() && B.size(1) == V.size(0),
                       "B must have a row for each class, as long as V has rows");
               require(V.size(1) % 8 == 0 && V.size(1) >= count.size(),
                       "V must have a column for each class, and a multiple of 8");
               require(offset.size() == V.size(1), "offset must be as long as rows of V");
               discriminants(count, B, A, dimension, V, offset);
             });
}

}  // namespace rpnb
