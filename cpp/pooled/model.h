// The pooled model: rows pass through the scale, all members, and the pool.
//
// `run` predicts each row, then learns it; `score` only predicts. Rows are handled in
// chunks. A chunk ends where the scale is recomputed, after 2, 4, 8, …, 256 labelled rows;
// all members that depend on it then learn the first rows again. No result depends on where
// a block or a chunk ends.
//
// If labels are delayed, a second set of members learns the same rows later, and the pool
// learns from its scores (late.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../rows.h"
#include "features.h"
#include "late.h"
#include "member.h"
#include "pool.h"
#include "scale.h"

namespace rpnb {

class PooledModel {
 public:
  PooledModel(std::vector<std::string> names, const Shape& shape, std::uint64_t seed,
              std::shared_ptr<const Features> features, Array<std::int64_t, 1> places,
              std::shared_ptr<FeatureScale> scale, std::vector<std::shared_ptr<Member>> members,
              std::shared_ptr<Pool> pool, std::shared_ptr<PooledModel> behind,
              std::shared_ptr<Pending> pending);

  // Throw std::invalid_argument unless rows have the model's features, or are hashed.
  void check_rows(const RowBlock& rows) const;

  // Predict each row, then learn it; rows of class −1 are predicted only.
  //
  // Predictions are written to `predicted` (n,), and log probabilities to `log_posteriors`
  // (n, M), unless it has no rows. `recorded` (n, K, M), unless it has no rows, holds the
  // scores by which the rows were predicted, for a model without delayed members.
  void run(const RowBlock& rows, const Labels& labels, Vector<std::int64_t> predicted,
           Matrix<double> log_posteriors, int threads, const View<const double, 3>& recorded = {});

  // Predict rows without learning; the arguments are those of `run`.
  //
  // If `ordered`, each row is scored as the next row of the stream; otherwise the rows are
  // unrelated to the stream.
  void score(const RowBlock& rows, Vector<std::int64_t> predicted, Matrix<double> log_posteriors,
             bool ordered) const;

  // Fill in the members' scores (n, K, M) of rows that are not ordered; 0 for classes that
  // are not active.
  void fill_scores(const RowBlock& rows, const View<double, 3>& scores) const;

  // Fill in the forms of rows that members read: hashed, scaled and projected.
  void fill_rows(const RowBlock& rows, Matrix<double> raw, Matrix<float> z, Matrix<float> low,
                 Matrix<float> phi) const;

  // The number M of classes, active or not.
  [[nodiscard]] Index classes() const { return pool->classes(); }
  // The number K of scores that the pool combines.
  [[nodiscard]] Index outputs() const { return pool->members(); }

  std::vector<std::string> names;  // of the members
  Shape shape;
  std::uint64_t seed;
  std::shared_ptr<const Features> features;  // functions of shape and seed
  Array<std::int64_t, 1> places;             // hashed columns of the features; empty if not hashed
  std::shared_ptr<FeatureScale> scale;
  std::vector<std::shared_ptr<Member>> members;
  std::shared_ptr<Pool> pool;
  // If labels are delayed: the delayed members, in a model whose pool is not used, and the
  // rows that they have not learned yet.
  std::shared_ptr<PooledModel> behind;
  std::shared_ptr<Pending> pending;

 private:
  class Chunk;

  [[nodiscard]] Index next_chunk(const Labels& labels, Index done, Index n, bool& replays) const;
  void learn_members(const Rows& rows, const Labels& labels, const View<double, 3>& scores,
                     int threads);
  void score_members(const Rows& rows, const View<double, 3>& scores, bool ordered = true) const;
  void fill_late_scores(Matrix<const double> raw, const Labels& labels,
                        const View<double, 3>& scores, int threads);
  void learn_behind(Index first_due, int threads);
  void replay();
};

}  // namespace rpnb
