#include "screened.h"

#include "../workspace.h"
#include "contest.h"
#include "exact.h"
#include "projection.h"

namespace rpnb::bayes {

namespace {

// The pass over one block.
class Screening {
 public:
  Screening(Model& model, SingleDensities& densities, Vector<const double> x0, const Block& block,
            const CentredBlock& centred, Index step)
      : model_(model),
        densities_(densities),
        block_(block),
        prepared_(centred),
        step_(step),
        R_(matrix_for(model, block.projected)),
        centring_(x0, model.projection.scale, model.projection.max_column_norm),
        contest_(model, densities, workspace_) {
    const Index M = model.M();
    const Index F = model.F();
    scores_ = workspace_.take_zeros<double>(step, contest_.padded());
    exact_ = workspace_.take<double>(step, F);
    slot_ = workspace_.take<Index>(step);
    rows_ = workspace_.take<std::int64_t>(step);
    rivals_ = workspace_.take<bool>(M);
    outdated_ = workspace_.take_zeros<bool>(M);
    codes_ = workspace_.take<Code>(M);
    errors_ = workspace_.take<RowError>(step);
    if (prepared_.Z.size() == 0) {
      centred_ = workspace_.take_zeros<float>(step, x0.size());
      projected_ = workspace_.take<float>(step, F);
    }
  }

  void run() {
    for (Index start = 0; start < block_.size(); start += step_) {
      start_ = start;
      stop_ = std::min(start + step_, block_.size());
      prepare_step();
      predict_step();
      if (done_ > 0 || block_.learn != Learn::kNothing) finish_step();
    }
    for (Index m = 0; m < model_.M(); ++m) refresh_density(m);
  }

 private:
  // Centre and project the rows of the step in single precision; score them.
  void prepare_step() {
    const Index fours = (stop_ - start_ + 3) / 4 * 4;
    if (prepared_.Z.size() > 0) {
      Z_ = prepared_.Z.slice(start_, start_ + fours);
      for (Index i = start_; i < stop_; ++i) {
        errors_[i - start_] = {prepared_.error[i], prepared_.norm[i]};
      }
    } else {
      for (Index i = start_; i < stop_; ++i) {
        errors_[i - start_] = centring_.centre(block_.X[i], centred_[i - start_]);
      }
      project_singles(centred_.slice(0, fours), R_, projected_.slice(0, fours));
      Z_ = projected_.slice(0, fours);
    }
    score_centred(Z_, densities_, 0, model_.M(), scores_);
  }

  // Predict the rows of the step as if none of them were learned; project in double precision
  // those that probably need it.
  void predict_step() {
    done_ = 0;
    std::int64_t number = model_.n_seen;
    for (Index i = start_; i < stop_; ++i) {
      const Index b = i - start_;
      const Leader leader = find_leader(b);
      block_.labels[i] = leader.label;
      slot_[b] = -1;
      bool wanted = !leader.certain || block_.learned(i, leader.label);
      if (model_.calibration && block_.labelled(i)) {
        if (is_calibration_row(number) && !wanted) wanted = !write_codes(b, leader.label);
        ++number;
      }
      if (wanted) {
        slot_[b] = done_;
        rows_[done_++] = i;
      }
    }
    project(block_.X, rows_.slice(0, done_), model_.projection.scale, R_, exact_);
  }

  // Predict the rows of the step and learn them, one after the other.
  void finish_step() {
    // The first decision holds as long as no class has changed.
    bool changed = model_.count_factor > 0.0;
    for (Index i = start_; i < stop_; ++i) {
      const Index b = i - start_;
      Leader leader{block_.labels[i], true};
      if (changed || slot_[b] >= 0) leader = find_leader(b);
      if (!leader.certain) {
        for (Index m = 0; m < model_.M(); ++m) {
          if (rivals_[m]) refresh_density(m);
        }
        leader.label = best_class(projection(b), *model_.gaussians, model_.classes->bias, rivals_);
      }
      block_.labels[i] = leader.label;
      if (block_.labelled(i)) changed = learn(b, leader.label) || changed;
    }
  }

  // Learn row b of the step, predicted as `label`; return whether a class has changed.
  bool learn(Index b, Index label) {
    const Index i = start_ + b;
    const Index y = block_.y[i];
    const double weight = block_.weight_of(i);
    if (model_.calibration && is_calibration_row(model_.n_seen)) {
      if (!write_codes(b, label)) complete(b, label);
      learn_codes(*model_.calibration, codes_, y);
    }
    count_row(model_, y, weight);
    ++model_.n_seen;
    contest_.update_counts(y);
    if (!block_.learned(i, label)) return false;
    const auto z = projection(b);
    fade(*model_.moments, y, model_.keep, weight);
    outdated_[y] = true;
    if (!learn_into_singles(densities_, *model_.gaussians, y, *model_.moments, model_.prior, z,
                            weight)) {
      refresh_density(y);
      refresh(densities_, y, *model_.gaussians);
    }
    ++model_.n_updates;
    contest_.update_class(y);
    const Index next = (b + 1) / 4 * 4;
    score_centred(Z_.slice(next, Z_.size()), densities_, y, y + 1,
                  scores_.slice(next, scores_.size()));
    return true;
  }

  Leader find_leader(Index b) { return contest_.find_leader(&scores_(b, 0), errors_[b], rivals_); }
  bool write_codes(Index b, Index label) {
    return contest_.write_codes(&scores_(b, 0), errors_[b], label, codes_);
  }

  // Determine the uncertain cells of row b in double precision.
  void complete(Index b, Index label) {
    for (Index m = 0; m < model_.M(); ++m) {
      if (codes_[m] == kUncertainCode || codes_[m] == kBestCode) refresh_density(m);
    }
    complete_codes(model_, projection(b), label, codes_);
  }

  // Row b of the step in double precision, projected now if it was not before.
  Vector<const double> projection(Index b) {
    if (slot_[b] < 0) {
      slot_[b] = done_++;
      project(block_.X[start_ + b], model_.projection.scale, R_, exact_[slot_[b]]);
    }
    return exact_[slot_[b]];
  }

  // Update the double-precision density of class m from its moments.
  void refresh_density(Index m) {
    if (!outdated_[m]) return;
    refresh(*model_.gaussians, m, *model_.moments, model_.prior);
    densities_.version[m] = model_.gaussians->version_of(m);
    outdated_[m] = false;
  }

  Workspace workspace_;
  Model& model_;
  SingleDensities& densities_;
  const Block& block_;
  const CentredBlock& prepared_;
  Index step_;
  Matrix<const float> R_;
  Centring centring_;
  Contest contest_;
  Matrix<float> centred_;      // (step, p)
  Matrix<float> projected_;    // (step, F)
  Matrix<double> scores_;      // (step, padded M)
  Matrix<double> exact_;       // (step, F) projections in double precision
  Vector<Index> slot_;         // (step,) the row of `exact_` that belongs to each row, or −1
  Vector<std::int64_t> rows_;  // (step,) the rows that are projected together
  Vector<bool> rivals_;        // (M,) of the last row whose leader was not certain
  Vector<bool> outdated_;      // (M,) classes whose densities are older than their moments
  Vector<Code> codes_;         // (M,)
  Vector<RowError> errors_;    // (step,)
  Matrix<const float> Z_;      // the step's rows, projected in single precision
  Index start_ = 0;
  Index stop_ = 0;
  Index done_ = 0;  // rows of `exact_` in use
};

}  // namespace

void run_screened(Model& model, SingleDensities& densities, Vector<const double> x0,
                  const Block& block, const CentredBlock& centred, Index step) {
  refresh_outdated(densities, *model.gaussians);
  Screening(model, densities, x0, block, centred, step).run();
}

}  // namespace rpnb::bayes
