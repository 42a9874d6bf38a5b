// Rows go through the pooled model: the scale, all members, and the pool.
//
// `run` learns a block of rows, each predicted in advance; `score` predicts only. Rows
// are handled in chunks, and chunks are cut where the scale is recomputed: after 2, 4, 8,
// …, 256 labelled rows, when all members that depend on it learn the first rows again. No
// result depends on where a block or a chunk ends.
//
// Where labels come late, a second set of members learns the same rows later, and the
// pool learns from its scores (late.h).
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
  // `predicted` (n,) gets the predictions, and `log_posteriors` (n, M), unless it has no
  // rows, their logarithmic probabilities.
  void run(const RowBlock& rows, const Labels& labels, Vector<std::int64_t> predicted,
           Matrix<double> log_posteriors, int threads);

  // Predict rows; the arguments are those of `run`. Changes nothing.
  //
  // Each of them is the next row of the stream; or none is, if they are not `ordered`.
  void score(const RowBlock& rows, Vector<std::int64_t> predicted, Matrix<double> log_posteriors,
             bool ordered) const;

  // Fill in the scores (n, K, M) that members give to rows in no order; 0 for classes
  // that are not active. Changes nothing.
  void fill_scores(const RowBlock& rows, const View<double, 3>& scores) const;

  // Fill in rows as members see them: hashed, scaled and projected.
  void fill_rows(const RowBlock& rows, Matrix<double> raw, Matrix<float> z, Matrix<float> low,
                 Matrix<float> phi) const;

  // The number M of classes, active or not.
  [[nodiscard]] Index classes() const { return pool->classes(); }
  // The number K of scores that the pool weighs.
  [[nodiscard]] Index outputs() const { return pool->members(); }

  std::vector<std::string> names;  // of the members
  Shape shape;
  std::uint64_t seed;
  std::shared_ptr<const Features> features;  // they follow from shape and seed
  Array<std::int64_t, 1> places;             // where features are hashed to; none if they are not
  std::shared_ptr<FeatureScale> scale;
  std::vector<std::shared_ptr<Member>> members;
  std::shared_ptr<Pool> pool;
  // Where labels come late: members that are behind, of which the pool is not used, and
  // the rows that they have not learned yet.
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
