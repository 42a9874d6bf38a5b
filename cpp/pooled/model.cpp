#include "model.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "../workspace.h"
#include "hashing.h"

namespace rpnb {

namespace {

// Rows handled at once.
constexpr Index kChunk = 256;

Labels part_of(const Labels& labels, Index first, Index last) {
  return {labels.y.slice(first, last), labels.weight.slice(first, last)};
}

Matrix<double> part_of(Matrix<double> rows, Index first, Index last) {
  return rows.size() > 0 ? rows.slice(first, last) : rows;
}

// Whether rows are dense and have the p columns that the model has after hashing.
bool is_plain(const RowBlock& rows, Index p) {
  return !rows.sparse() && rows.values().size() == rows.size() * p;
}

// Rows `first` to `last` of a block as an array (n, p); hashed if `places` is not empty and
// they are not hashed yet.
Matrix<const double> raw_rows(const RowBlock& rows, Vector<const std::int64_t> places, Index p,
                              Index first, Index last, Workspace& space) {
  const Index n = last - first;
  if (is_plain(rows, p)) {
    return rows.values().reshaped(rows.size(), p).slice(first, last);
  }
  const auto raw = space.take_zeros<double>(n, p);
  for (Index i = 0; i < n; ++i) {
    const Row row = rows[first + i];
    for (Index j = 0; j < row.size(); ++j) {
      if (places.size() > 0) {
        add_hashed(places[row.column(j)], row.values[j], raw[i]);
      } else {
        raw(i, row.column(j)) = row.values[j];
      }
    }
  }
  return raw;
}

// Call work(k) for k = 0 … count − 1, in up to `threads` threads.
//
// The first exception of any thread is thrown here once all have ended, and if the system
// starts fewer threads, those that run do the work.
template <class Work>
void in_threads(Index count, int threads, const Work& work) {
  if (threads <= 1 || count <= 1) {
    for (Index k = 0; k < count; ++k) work(k);
    return;
  }
  std::atomic<Index> next = 0;
  std::exception_ptr failure;
  std::once_flag failed;
  const auto take = [&]() noexcept {
    try {
      for (Index k = next++; k < count; k = next++) work(k);
    } catch (...) {  // GCOVR_EXCL_START: a member fails only if there is no memory
      next = count;
      std::call_once(failed, [&] { failure = std::current_exception(); });
    }  // GCOVR_EXCL_STOP
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads) - 1);
  for (int t = 1; t < threads; ++t) {
    try {
      others.emplace_back(take);
    } catch (const std::system_error&) {  // GCOVR_EXCL_START: the limit of threads
      break;
    }  // GCOVR_EXCL_STOP
  }
  take();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);  // GCOVR_EXCL_BR_LINE: see above
}

}  // namespace

// A chunk of rows in the forms that members read, in working memory.
class PooledModel::Chunk {
 public:
  Chunk(const PooledModel& model, Matrix<const double> raw)
      : z(space_.take<float>(raw.size(), raw.size(1))),
        low(space_.take<float>(raw.size(), model.shape.d)),
        phi(space_.take<float>(raw.size(), model.shape.E)),
        // Members do not write scores of classes that are not active.
        scores(space_.take_zeros<double>(raw.size(), model.outputs(), model.classes())),
        raw_(raw) {}

  [[nodiscard]] Rows rows() const { return {raw_, z, low, phi}; }

 private:
  Workspace space_;

 public:
  Matrix<float> z;
  Matrix<float> low;
  Matrix<float> phi;
  View<double, 3> scores;

 private:
  Matrix<const double> raw_;
};

PooledModel::PooledModel(std::vector<std::string> names_, const Shape& shape_, std::uint64_t seed_,
                         std::shared_ptr<const Features> features_, Array<std::int64_t, 1> places_,
                         std::shared_ptr<FeatureScale> scale_,
                         std::vector<std::shared_ptr<Member>> members_, std::shared_ptr<Pool> pool_,
                         std::shared_ptr<PooledModel> behind_, std::shared_ptr<Pending> pending_)
    : names(std::move(names_)),
      shape(shape_),
      seed(seed_),
      features(std::move(features_)),
      places(std::move(places_)),
      scale(std::move(scale_)),
      members(std::move(members_)),
      pool(std::move(pool_)),
      behind(std::move(behind_)),
      pending(std::move(pending_)) {
  require_length("names", static_cast<Index>(names.size()), static_cast<Index>(members.size()));
  require_length("scale.mean", scale->mean.size(), shape.p);
  require_length("features.dense", features->dense.size(), shape.p);
  require_length("pool.history", pool->history.size(1), 2 * outputs() + 3);
  Index count = 0;
  for (const auto& member : members) {
    member->check_shape(shape);
    require_length("a member's classes", member->classes(), classes());
    count += member->outputs();
  }
  require_length("the members' outputs", count, outputs());
  for (const std::int64_t place : places) {
    if (place == 0 || place > kHashed || place < -kHashed) {
      throw std::invalid_argument("places holds a column that does not exist");
    }
  }
  if (behind != nullptr) {
    require_length("classes of the members behind", behind->classes(), classes());
    require_length("outputs of the members behind", behind->outputs(), outputs());
    require_length("columns of the pending rows", pending->rows.size(1), shape.p);
    require_length("pending rows", pending->rows.size(),
                   shape.delay + Pending::block_rows(shape.delay));
  }
}

void PooledModel::check_rows(const RowBlock& rows) const {
  if (places.size() > 0 && is_plain(rows, shape.p)) return;
  rpnb::check_rows(rows, places.size() > 0 ? places.size() : shape.p);
}

void PooledModel::run(const RowBlock& rows, const Labels& labels, Vector<std::int64_t> predicted,
                      Matrix<double> log_posteriors, int threads,
                      const View<const double, 3>& recorded) {
  const Index n = predicted.size();
  for (Index done = 0; done < n;) {
    bool replays = false;
    const Index stop = next_chunk(labels, done, n, replays);
    const Labels part = part_of(labels, done, stop);
    Workspace space;
    const auto raw = raw_rows(rows, places, shape.p, done, stop, space);
    const Chunk chunk(*this, raw);
    scale->scale_rows(raw, part, chunk.z);
    features->fill(chunk.z, chunk.phi, chunk.low);
    learn_members(chunk.rows(), part, chunk.scores, threads);
    View<const double, 3> learned_from;
    if (behind != nullptr) {
      const auto late = space.take_zeros<double>(stop - done, outputs(), classes());
      fill_late_scores(raw, part, late, threads);
      learned_from = late;
    } else if (recorded.size() > 0) {
      learned_from = recorded.slice(done, stop);
    }
    pool_rows(*pool, chunk.scores, part, predicted.slice(done, stop),
              part_of(log_posteriors, done, stop), learned_from);
    if (replays) replay();
    done = stop;
  }
}

void PooledModel::score(const RowBlock& rows, Vector<std::int64_t> predicted,
                        Matrix<double> log_posteriors, bool ordered) const {
  const Index n = predicted.size();
  for (Index done = 0; done < n; done += kChunk) {
    const Index stop = std::min(done + kChunk, n);
    Workspace space;
    const auto raw = raw_rows(rows, places, shape.p, done, stop, space);
    const Chunk chunk(*this, raw);
    scale->apply(raw, chunk.z);
    features->fill(chunk.z, chunk.phi, chunk.low);
    score_members(chunk.rows(), chunk.scores, ordered);
    predict_rows(*pool, chunk.scores, predicted.slice(done, stop),
                 part_of(log_posteriors, done, stop));
  }
}

void PooledModel::fill_scores(const RowBlock& rows, const View<double, 3>& scores) const {
  for (Index done = 0; done < rows.size(); done += kChunk) {
    const Index stop = std::min(done + kChunk, rows.size());
    Workspace space;
    const auto raw = raw_rows(rows, places, shape.p, done, stop, space);
    const Chunk chunk(*this, raw);
    scale->apply(raw, chunk.z);
    features->fill(chunk.z, chunk.phi, chunk.low);
    score_members(chunk.rows(), chunk.scores, false);
    for (Index i = done; i < stop; ++i) {
      for (Index k = 0; k < outputs(); ++k) {
        for (Index c = 0; c < classes(); ++c) {
          scores(i, k, c) = pool->active[c] ? chunk.scores(i - done, k, c) : 0.0;
        }
      }
    }
  }
}

void PooledModel::fill_rows(const RowBlock& rows, Matrix<double> raw, Matrix<float> z,
                            Matrix<float> low, Matrix<float> phi) const {
  for (Index done = 0; done < rows.size(); done += kChunk) {
    const Index stop = std::min(done + kChunk, rows.size());
    Workspace space;
    const auto part = raw_rows(rows, places, shape.p, done, stop, space);
    copy_into(raw.slice(done, stop), part);
  }
  scale->apply(raw, z);
  features->fill(z, phi, low);
}

// The end of the chunk that starts at row `done`; `replays` is set if the scale is
// recomputed there.
Index PooledModel::next_chunk(const Labels& labels, Index done, Index n, bool& replays) const {
  const Index stop = std::min(done + kChunk, n);
  const Index seen = scale->seen[0];
  if (seen >= kLastReplay) return stop;
  Index left = scale->next_replay() - seen;
  for (Index i = done; i < stop; ++i) {
    left -= static_cast<Index>(labels.known(i));
    if (left == 0) {
      replays = true;
      return i + 1;
    }
  }
  return stop;
}

void PooledModel::learn_members(const Rows& rows, const Labels& labels,
                                const View<double, 3>& scores, int threads) {
  std::vector<Index> first(members.size());
  for (std::size_t k = 1; k < members.size(); ++k) {
    first[k] = first[k - 1] + members[k - 1]->outputs();
  }
  in_threads(static_cast<Index>(members.size()), threads,
             [&](Index k) { members[k]->learn_rows(rows, labels, Scores(scores, first[k])); });
}

void PooledModel::score_members(const Rows& rows, const View<double, 3>& scores,
                                bool ordered) const {
  Index first = 0;
  for (const auto& member : members) {
    if (ordered) {
      member->score_rows(rows, Scores(scores, first));
    } else {
      member->score_unordered(rows, Scores(scores, first));
    }
    first += member->outputs();
  }
}

// Fill in the scores (n, K, M) that labelled rows had at prediction time.
void PooledModel::fill_late_scores(Matrix<const double> raw, const Labels& labels,
                                   const View<double, 3>& scores, int threads) {
  const Index delay = shape.delay;
  const Index n = raw.size();
  Index next = 0;
  while (true) {
    // The labelled rows before the delayed members next learn a block.
    Workspace space;
    const auto some = space.take<Index>(n);
    while (next < n && !labels.known(next)) ++next;
    if (next == n) return;
    const Index due = pending->first_due(delay);
    if (due >= 0) learn_behind(due, threads);
    Index count = 0;
    for (const Index most = pending->rows_until_due(delay); next < n && count < most; ++next) {
      if (labels.known(next)) some[count++] = next;
    }
    const auto gathered = space.take<double>(count, raw.size(1));
    for (Index i = 0; i < count; ++i) copy_into(gathered[i], raw[some[i]]);
    const Chunk chunk(*behind, gathered);
    behind->scale->apply(gathered, chunk.z);
    behind->features->fill(chunk.z, chunk.phi, chunk.low);
    behind->score_members(chunk.rows(), chunk.scores);
    for (Index i = 0; i < count; ++i) {
      for (Index k = 0; k < outputs(); ++k) {
        for (Index c = 0; c < classes(); ++c) {
          // The delayed members do not know the class yet.
          scores(some[i], k, c) = behind->pool->active[c]
                                      ? chunk.scores(i, k, c)
                                      : -std::numeric_limits<double>::infinity();
        }
      }
      pending->add(raw[some[i]], labels.y[some[i]], labels.weight[some[i]]);
    }
  }
}

// Let the delayed members learn a block of pending rows, from row `first` on.
//
// Of their pool, only the active classes are kept up to date.
void PooledModel::learn_behind(Index first, int threads) {
  PooledModel& model = *behind;
  const Index n = Pending::block_rows(shape.delay);
  const Index kept = pending->labels.size();
  Workspace space;
  const auto raw = space.take<double>(n, shape.p);
  const auto y = space.take<std::int64_t>(n);
  const auto weight = space.take<double>(n);
  for (Index i = 0; i < n; ++i) {
    const Index slot = (first + i) % kept;
    copy_into(raw[i], View<const double, 1>(pending->rows[slot]));
    y[i] = pending->labels[slot];
    weight[i] = pending->weight[slot];
  }
  const Labels labels{y, weight};
  for (Index done = 0; done < n;) {
    bool replays = false;
    const Index stop = model.next_chunk(labels, done, n, replays);
    const Labels part = part_of(labels, done, stop);
    const Chunk chunk(model, raw.slice(done, stop));
    model.scale->scale_rows(raw.slice(done, stop), part, chunk.z);
    model.features->fill(chunk.z, chunk.phi, chunk.low);
    model.learn_members(chunk.rows(), part, chunk.scores, threads);
    for (const std::int64_t c : part.y) model.pool->active[c] = true;
    if (replays) model.replay();
    done = stop;
  }
}

// Recompute the scale; members that depend on it learn the rows kept again.
void PooledModel::replay() {
  scale->fit_all();
  const Index n = scale->seen[0];
  const Matrix<const double> raw = scale->rows.slice(0, n);
  const Labels labels{scale->labels.slice(0, n), scale->weight.slice(0, n)};
  const Chunk chunk(*this, raw);
  scale->apply(raw, chunk.z);
  features->fill(chunk.z, chunk.phi, chunk.low);
  for (auto& member : members) {
    if (!member->uses_scale()) continue;
    auto fresh = member->begin_again(shape, pool->active, seed);
    const View<double, 3> nothing(nullptr, {0, fresh->outputs(), classes()});
    fresh->learn_rows(chunk.rows(), labels, Scores(nothing));
    member = std::move(fresh);
  }
}

}  // namespace rpnb
