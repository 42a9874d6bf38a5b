#include "forms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../simd.h"
#include "../workspace.h"
#include "projection.h"
#include "scoring.h"

namespace rpnb::bayes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rows whose forms are evaluated together, and rows and classes of a tile of these.
constexpr Index kStep = 256;
#if defined(__AVX512F__)
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif
constexpr int kClasses = 2;
constexpr Index kRows = kVectors * kWideDoubles;
static_assert(kStep % kRows == 0);

// Rows and columns of the matrix in a tile of inner products.
constexpr int kTile = 4;
constexpr Index kColumns = 256;

// Far beyond this, terms of a double-precision score are clipped (scoring.h).
constexpr double kFarthestSize = 1e147;

Index rounded_up(Index value, Index step) { return (value + step - 1) / step * step; }

// Add the inner products of kTile rows of `left` and `right` over `count` columns to sums.
//
// Rows are `wide` numbers apart.
void add_products(const double* left, const double* right, Index wide, Index count,
                  WideDoubles* sums) {
  WideDoubles tile[kTile][kTile];
  for (int i = 0; i < kTile; ++i) {
    for (int j = 0; j < kTile; ++j) tile[i][j] = sums[i * kTile + j];
  }
  for (Index f = 0; f < count; f += kWideDoubles) {
    WideDoubles b[kTile];
    for (int j = 0; j < kTile; ++j) b[j] = in_register(load<WideDoubles>(right + j * wide + f));
    for (int i = 0; i < kTile; ++i) {
      const WideDoubles a = in_register(load<WideDoubles>(left + i * wide + f));
      for (int j = 0; j < kTile; ++j) tile[i][j] = multiply_add(a, b[j], tile[i][j]);
    }
  }
  for (int i = 0; i < kTile; ++i) {
    for (int j = 0; j < kTile; ++j) sums[i * kTile + j] = tile[i][j];
  }
}

}  // namespace

// Builds the forms of classes from their densities: p(p + 3)/2 inner products of F numbers.
//
// Row i of the matrix is multiplied by rows j ≥ i of the same matrix with its columns
// weighted by w, and by one more row, w·μ'. All are padded to whole tiles by zeros.
class Forms::Builder {
 public:
  explicit Builder(Forms& forms)
      : forms_(forms),
        gaussians_(*forms.model_.gaussians),
        p_(forms.p_),
        F_(forms.model_.F()),
        wide_(rounded_up(F_, kWideDoubles)),
        rows_(rounded_up(p_, kTile)),
        weighted_rows_(rounded_up(p_ + 1, kTile)) {
    const auto& [R, owner, scale, norm] = forms.model_.projection;
    columns_ = workspace_.take_zeros<double>(rows_, wide_);
    for (Index i = 0; i < p_; ++i) {
      for (Index f = 0; f < F_; ++f) columns_(i, f) = scale * static_cast<double>(R(i, f));
    }
    weighted_ = workspace_.take_zeros<double>(weighted_rows_, wide_);
    precision_ = workspace_.take_zeros<double>(wide_);
    moved_ = workspace_.take_zeros<double>(wide_);
    sums_ = workspace_.take<WideDoubles>(rows_ * weighted_rows_);
    products_ = workspace_.take<double>(rows_, weighted_rows_);
    centre_ = workspace_.take<double>(F_);
    project(forms.origin_, scale, R, centre_);
    gamma_ = 2.02 * static_cast<double>(F_ + form_terms(p_) + 16) * kDoubleRoundoff;
    double square = 0.0;
    for (const double x : forms.origin_) square += x * x;
    origin_norm_ = std::sqrt(square);
  }

  // Build the form of class m.
  void build(Index m) {
    weigh(gaussians_.mean[m].data(), gaussians_.precision[m].data());
    multiply();
    double* factor = forms_.factors_[m].data();
    double trace = 0.0;
    for (Index i = 0; i < p_; ++i) {
      trace += products_(i, i);
      *factor++ = -0.5 * products_(i, i);
      for (Index j = i + 1; j < p_; ++j) *factor++ = -products_(i, j);
    }
    for (Index i = 0; i < p_; ++i) *factor++ = products_(i, p_);
    const double constant = gaussians_.constant[m];
    const double bias = forms_.model_.classes->bias[m];
    forms_.start_[m] = -0.5 * mean_square_ + (constant + bias);
    bound(m, std::sqrt(trace), std::sqrt(mean_square_), std::abs(constant) + std::abs(bias) + 1.0);
  }

 private:
  // Weight the columns by w, write w·μ' below them, and sum w·μ'².
  void weigh(const double* mean, const double* precision) {
    double* const w = precision_.data();
    double* const moved = moved_.data();
    std::copy_n(precision, F_, w);
    for (Index f = 0; f < F_; ++f) moved[f] = mean[f] - centre_[f];
    WideDoubles squares = {};
    double* const slopes = weighted_[p_].data();
    for (Index f = 0; f < wide_; f += kWideDoubles) {
      const WideDoubles centred = load<WideDoubles>(moved + f);
      const WideDoubles slope = load<WideDoubles>(w + f) * centred;
      store(slopes + f, slope);
      squares = multiply_add(slope, centred, squares);
    }
    mean_square_ = sum(squares);
    for (Index i = 0; i < p_; ++i) {
      const double* const from = columns_[i].data();
      double* const to = weighted_[i].data();
      for (Index f = 0; f < wide_; f += kWideDoubles) {
        store(to + f, load<WideDoubles>(w + f) * load<WideDoubles>(from + f));
      }
    }
  }

  // Compute the inner products of all rows with the weighted ones from their tile on.
  void multiply() {
    for (WideDoubles& each : sums_) each = WideDoubles{};
    for (Index start = 0; start < wide_; start += kColumns) {
      const Index count = std::min(kColumns, wide_ - start);
      for_each_tile([&](Index i, Index j, WideDoubles* sums) {
        add_products(columns_[i].data() + start, weighted_[j].data() + start, wide_, count, sums);
      });
    }
    for_each_tile([&](Index i, Index j, const WideDoubles* sums) {
      for (int k = 0; k < kTile * kTile; ++k) {
        products_(i + k / kTile, j + k % kTile) = sum(sums[k]);
      }
    });
  }

  template <class Function>
  void for_each_tile(Function function) {
    WideDoubles* sums = sums_.data();
    for (Index i = 0; i < rows_; i += kTile) {
      for (Index j = i; j < weighted_rows_; j += kTile, sums += Index{kTile} * kTile) {
        function(i, j, sums);
      }
    }
  }

  // Bound |value − score| of class m by a polynomial of ℓ = |x'|.
  //
  // √(Σ w (z − μ)²) is at most s = t·ℓ + m, with t and m the given norms; with z in double
  // precision, at most s + e, e = n·ℓ + f being the projection's error, since
  // |x| + |x₀| ≤ ℓ + 2|x₀|. The bound is ½γ·s² + e·(s + e) + ½r·(s + e)² + (r + v)·c, with γ
  // the relative error of a form's terms and their summation, r the relative rounding error
  // of a score, v that of adding constant and prior, at most c, to a form's value.
  void bound(Index class_number, double t, double m, double c) {
    const double g = 0.5 * gamma_;
    const double n = 1.01 * static_cast<double>(p_ + 2) * kDoubleRoundoff * t;
    const double f = 2.0 * n * origin_norm_;
    const double r = score_rounding(F_);
    const double v = 2.0 * static_cast<double>(p_ + 8) * kDoubleRoundoff;
    const double slope = t + n;
    const double height = m + f;
    // The factor covers the rounding of t, m, the coefficients and the polynomial.
    constexpr double kSlack = 1.0001;
    const auto to = forms_.bound_[class_number];
    to[0] = kSlack * (g * m * m + f * height + 0.5 * r * height * height + (r + v) * c);
    to[1] = kSlack * (2.0 * g * t * m + n * height + f * slope + r * slope * height);
    to[2] = kSlack * (g * t * t + n * slope + 0.5 * r * slope * slope);
    // If s is larger, or NaN, there is no bound.
    const double farthest = (kFarthestSize - m) / t;
    forms_.farthest_ = std::min(forms_.farthest_, farthest > 0.0 ? farthest : 0.0);
  }

  Workspace workspace_;
  Forms& forms_;
  const Gaussians& gaussians_;
  Index p_;
  Index F_;
  Index wide_;                // F, padded
  Index rows_;                // p, padded
  Index weighted_rows_;       // p + 1, padded
  Matrix<double> columns_;    // (rows, wide) the matrix, scaled
  Matrix<double> weighted_;   // (weighted_rows, wide)
  Vector<double> precision_;  // (wide,) w
  Vector<double> moved_;      // (wide,) μ'
  Vector<WideDoubles> sums_;  // of the tiles
  Matrix<double> products_;   // (rows, weighted_rows)
  Vector<double> centre_;     // (F,) z₀
  double mean_square_ = 0.0;  // Σ w μ'²
  double gamma_;              // relative error of a form's terms, with their summation
  double origin_norm_;        // |x₀|
};

Forms::Forms(const Model& model, Vector<const double> x0)
    : model_(model),
      p_(x0.size()),
      M_(model.M()),
      origin_({p_}),
      factors_({rounded_up(M_, kClasses), form_terms(p_)}),
      start_({rounded_up(M_, kClasses)}),
      bound_({M_, 3}),
      farthest_(kInfinity) {
  std::copy(x0.begin(), x0.end(), origin_.begin());
  Builder builder(*this);
  for (Index m = 0; m < M_; ++m) builder.build(m);
}

// The rows of a step, stored as the columns of arrays.
struct Forms::RowsInStep {
  RowsInStep(Workspace& workspace, Index p, Index M)
      : centred(workspace.take<double>(p, kStep)),
        lengths(workspace.take<double>(kStep)),
        values(workspace.take<double>(rounded_up(M, kClasses), kStep)) {}

  // Centre rows X (n, p) into the arrays, padded by zeros.
  void centre(Matrix<const double> X, Vector<const double> origin) {
    count = X.size();
    padded = rounded_up(count, kRows);
    lengths.fill(0.0);
    for (Index i = 0; i < origin.size(); ++i) {
      double* const to = centred[i].data();
      for (Index b = 0; b < count; ++b) to[b] = X(b, i) - origin[i];
      for (Index b = count; b < padded; ++b) to[b] = 0.0;
      for (Index b = 0; b < padded; ++b) lengths[b] += to[b] * to[b];
    }
    for (Index b = 0; b < padded; ++b) lengths[b] = std::sqrt(lengths[b]);
  }

  Index count = 0;
  Index padded = 0;
  Matrix<double> centred;  // (p, kStep) x'
  Vector<double> lengths;  // (kStep,) |x'|
  Matrix<double> values;   // (M, kStep), padded
};

namespace {

// Evaluate the polynomials of some classes for kRows rows, nested so that no product of two
// features is ever formed: start + Σ_i x_i (b_i + Σ_{j ≥ i} c_ij x_j).
//
// `factors` are those of the first class, L numbers before the next; x and `values` are
// columns of arrays that have kStep of them.
template <int Classes>
void evaluate_tile(const double* factors, Index L, Index p, const double* start, const double* x,
                   double* values) {
  WideDoubles sums[Classes][kVectors];
  for (int c = 0; c < Classes; ++c) {
    for (int v = 0; v < kVectors; ++v) sums[c][v] = repeat<WideDoubles>(start[c]);
  }
  const double* linear = factors + L - p;
  for (Index i = 0; i < p; ++i, ++linear) {
    WideDoubles inner[Classes][kVectors];
    for (int c = 0; c < Classes; ++c) {
      for (int v = 0; v < kVectors; ++v) inner[c][v] = repeat<WideDoubles>(linear[c * L]);
    }
    for (Index j = i; j < p; ++j, ++factors) {
      for (int v = 0; v < kVectors; ++v) {
        const WideDoubles row = in_register(load<WideDoubles>(x + j * kStep + v * kWideDoubles));
        for (int c = 0; c < Classes; ++c) {
          inner[c][v] = multiply_add(repeat<WideDoubles>(factors[c * L]), row, inner[c][v]);
        }
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      const WideDoubles row = load<WideDoubles>(x + i * kStep + v * kWideDoubles);
      for (int c = 0; c < Classes; ++c) sums[c][v] = multiply_add(inner[c][v], row, sums[c][v]);
    }
  }
  for (int c = 0; c < Classes; ++c) {
    for (int v = 0; v < kVectors; ++v) store(values + c * kStep + v * kWideDoubles, sums[c][v]);
  }
}

}  // namespace

void Forms::evaluate(RowsInStep& rows) const {
  const Index L = factors_.size(1);
  for (Index b = 0; b < rows.padded; b += kRows) {
    for (Index m = 0; m < M_; m += kClasses) {
      evaluate_tile<kClasses>(factors_[m].data(), L, p_, start_.data() + m, rows.centred.data() + b,
                              rows.values.data() + m * kStep + b);
    }
  }
}

// The leader is the class whose score has the largest lower bound; it is certain if no other
// upper bound is as large. A NaN leads only if all scores are NaN, and is never certain.
void Forms::find_leaders(const RowsInStep& rows, Vector<std::int64_t> labels,
                         Vector<bool> certain) const {
  const auto& eligible = model_.classes->eligible;
  const auto* const first = std::find(eligible.begin(), eligible.end(), true);
  const auto at_first =
      static_cast<double>(first == eligible.end() ? -1 : first - eligible.begin());
  for (Index b = 0; b < rows.count; b += kWideDoubles) {
    const WideDoubles length = load<WideDoubles>(rows.lengths.data() + b);
    const auto bound = [&](Index m) {
      const double* const c = bound_[m].data();
      return multiply_add(
          multiply_add(repeat<WideDoubles>(c[2]), length, repeat<WideDoubles>(c[1])), length,
          repeat<WideDoubles>(c[0]));
    };
    WideDoubles leader = repeat<WideDoubles>(at_first);
    WideDoubles lowest = repeat<WideDoubles>(-kInfinity);
    for (Index m = 0; m < M_; ++m) {
      if (!eligible[m]) continue;
      const WideDoubles lower = load<WideDoubles>(rows.values.data() + m * kStep + b) - bound(m);
      leader = lower > lowest ? repeat<WideDoubles>(static_cast<double>(m)) : leader;
      lowest = lower > lowest ? lower : lowest;
    }
    WideDoubles rivals = repeat<WideDoubles>(0.0);
    for (Index m = 0; m < M_; ++m) {
      if (!eligible[m]) continue;
      const WideDoubles upper = load<WideDoubles>(rows.values.data() + m * kStep + b) + bound(m);
      rivals = rivals + (lowest > upper ? repeat<WideDoubles>(0.0) : repeat<WideDoubles>(1.0));
    }
    for (Index lane = 0; lane < std::min(kWideDoubles, rows.count - b); ++lane) {
      labels[b + lane] = static_cast<std::int64_t>(leader[lane]);
      certain[b + lane] = rivals[lane] <= 1.0 && rows.lengths[b + lane] < farthest_;
    }
  }
}

// Decide the uncertain rows in double precision.
void Forms::decide(Matrix<const double> X, Vector<const bool> certain,
                   Vector<std::int64_t> labels) const {
  constexpr Index kTogether = 2;
  const auto& classes = *model_.classes;
  Workspace workspace;
  const auto z = workspace.take<double>(kTogether, model_.F());
  std::int64_t few[kTogether];
  Index found = 0;
  const auto decide_few = [&] {
    project(X, Vector<const std::int64_t>(few, {found}), model_.projection.scale,
            model_.projection.R, z);
    for (Index k = 0; k < found; ++k) {
      labels[few[k]] = best_class(z[k], *model_.gaussians, classes.bias, classes.eligible);
    }
    found = 0;
  };
  for (Index b = 0; b < X.size(); ++b) {
    if (certain[b]) continue;
    few[found++] = b;
    if (found == kTogether) decide_few();
  }
  if (found > 0) decide_few();
}

void Forms::classify(Matrix<const double> X, Vector<std::int64_t> labels) const {
  Workspace workspace;
  RowsInStep rows(workspace, p_, M_);
  const auto certain = workspace.take<bool>(kStep);
  for (Index start = 0; start < X.size(); start += kStep) {
    const Index stop = std::min(start + kStep, X.size());
    const auto of_step = X.slice(start, stop);
    rows.centre(of_step, origin_);
    evaluate(rows);
    find_leaders(rows, labels.slice(start, stop), certain);
    decide(of_step, certain, labels.slice(start, stop));
  }
}

void Forms::score(Matrix<const double> X, Matrix<double> values, Matrix<double> bounds) const {
  Workspace workspace;
  RowsInStep rows(workspace, p_, M_);
  for (Index start = 0; start < X.size(); start += kStep) {
    const Index stop = std::min(start + kStep, X.size());
    rows.centre(X.slice(start, stop), origin_);
    evaluate(rows);
    for (Index b = 0; b < stop - start; ++b) {
      const double length = rows.lengths[b];
      for (Index m = 0; m < M_; ++m) {
        const auto c = bound_[m];
        values(start + b, m) = rows.values(m, b);
        bounds(start + b, m) =
            length < farthest_ ? (c[2] * length + c[1]) * length + c[0] : kInfinity;
      }
    }
  }
}

}  // namespace rpnb::bayes
