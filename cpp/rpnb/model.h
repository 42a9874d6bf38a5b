// The state of an RPNB model: what the passes over rows read and write.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "../calibration/mixture.h"
#include "combining.h"
#include "densities.h"
#include "moments.h"
#include "single_densities.h"

namespace rpnb::bayes {

// Which of M classes may be predicted, their counts and prior probabilities.
struct ClassState {
  Array<bool, 1> eligible;  // whether the class is active: declared or seen
  Array<double, 1> seen;    // weight of all rows of the class, learned or not; fades as the
                            // moments do if the prior follows it
  Array<double, 1> bias;    // K·log P(y_m), up to a constant

  static constexpr auto fields() {
    return std::tuple{field("eligible", &ClassState::eligible, "M"),
                      field("seen", &ClassState::seen, "M"), field("bias", &ClassState::bias, "M")};
  }
};

// The K projections side by side, where a matrix is kept.
struct ProjectionMatrix {
  Matrix<const float> R;              // (p, F), or (0, F) where rows come projected
  std::shared_ptr<const void> owner;  // keeps the matrix alive
  double scale = 1.0;                 // 1/√q
  double max_column_norm = 0.0;       // largest Euclidean norm of a column of R
};

// The cache between calls with single rows: see one_row.h. A thread that cannot get the lock
// does without it.
struct OneRowMemory {
  std::mutex lock;
  // The last row:
  Array<double, 1> x;      // (p,), or empty
  Array<double, 1> z;      // (F,) its projection
  Index label = -1;        // its prediction
  std::int64_t seen = -1;  // `n_seen` of the model at that time
  // Densities in single precision, and the rows predicted since they are outdated:
  SingleDensities singles;
  Index waited = 0;

  void forget() {
    const std::lock_guard<std::mutex> guard(lock);
    x = Array<double, 1>();
  }
};

// Classes are numbered 0 … M − 1.
struct Model {
  ProjectionMatrix projection;
  Index K;
  Rule rule;
  Prior prior;
  double keep;          // γ: share of the past that is left after a row of weight 1
  double count_factor;  // K if the prior follows the counts `seen`, 0 if it is fixed
  std::shared_ptr<Moments> moments;
  std::shared_ptr<Gaussians> gaussians;
  std::shared_ptr<ClassState> classes;
  std::shared_ptr<Calibration> calibration;  // null if probabilities are not learned
  std::int64_t n_seen = 0;                   // rows seen
  std::int64_t n_updates = 0;                // rows that changed the moments
  OneRowMemory memory;

  [[nodiscard]] Index M() const { return moments->classes(); }
  [[nodiscard]] Index F() const { return moments->columns(); }

  // The smallest temperature of calibration; the middle of the grid is K, an average of the
  // members.
  [[nodiscard]] double smallest_temperature() const;
};

// Set the bias of every class from its count, for a prior that follows counts.
void set_bias_from_counts(ClassState& classes, double count_factor);

// Count a row of class y, which makes the class eligible.
//
// If the prior follows the counts, these fade as the moments do, and the bias of the class
// is set from its count.
void count_row(Model& model, Index y, double weight);

// Let class y learn one projected row z (F,), after fading its moments by γʷ.
void learn_row(Model& model, Index y, Vector<const double> z, double weight);

// What is learned from a row after its prediction.
enum class Learn { kNothing, kMistakes, kAll };

// A block of n rows that a pass predicts, and learns.
struct Block {
  Matrix<const double> X;  // (n, p); (n, F) if they are projected already
  bool projected;
  Vector<const std::int64_t> y;  // (n,) −1 for a row that is only predicted; not read if
                                 // nothing is to be learned
  Vector<const double> weight;   // (n,), or (1,) where all rows weigh the same
  Learn learn;
  Vector<std::int64_t> labels;  // (n,) the predictions, −1 while no class is known

  [[nodiscard]] Index size() const { return X.size(); }
  [[nodiscard]] double weight_of(Index i) const { return weight[weight.size() > 1 ? i : 0]; }
  // Whether row i has a label that is used.
  [[nodiscard]] bool labelled(Index i) const { return learn != Learn::kNothing && y[i] >= 0; }
  // Whether row i, predicted as `label`, is to be learned.
  [[nodiscard]] bool learned(Index i, Index label) const {
    return labelled(i) && (learn == Learn::kAll || label != y[i]);
  }
};

// The matrix that projects a block's rows; without rows if they are projected already.
inline Matrix<const float> matrix_for(const Model& model, bool projected) {
  const auto& R = model.projection.R;
  return projected ? R.slice(0, 0) : R;
}

}  // namespace rpnb::bayes
