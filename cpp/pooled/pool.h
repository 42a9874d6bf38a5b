// The pool: one log-linear model of the members' scores, learned online.
//
// With f_k(c) the scores s_k(c) of member k below its best class, of which what is beyond
// 6 counts less and less,
//
//   d = s_k(c) − max_c s_k(c),   f_k(c) = d if d > −6, else −6 − 6x/(6 + x), x = −6 − d,
//
//   P(c) ∝ exp(b_c + Σ_k (w_k + v_kc) f_k(c))
//
// predicts the class with the largest P: evidence is multiplied (a logarithmic opinion
// pool; Genest & Zidek, "Combining probability distributions", 1986). f is above −12, so
// that no member by itself can rule a class out. It is not simply cut off at −6, since
// the scores of a rare class are below that for nearly all rows, and would all be equal.
// The weights follow the log-loss by an online Newton step (Hazan, Agarwal & Kale,
// "Logarithmic regret algorithms for online convex optimization", 2007), with a memory of
// about 200 rows for the curvature:
//
//   g_k = r (E_P f_k − f_k(y))
//   H ← 0.995 H + 0.005·30 I + ½(r Cov_P f + g gᵀ)
//   w ← max(0, w − H⁻¹ g)
//
// from w = 1/(number of members), 0 for transitions, and H = 30 I. What a class adds to
// the weights, v, and its constant b follow the same loss, each by its own Newton step,
// with f = 1 for b:
//
//   d_c = P(c) − [c = y]
//   h_kc ← 0.99 h_kc + 0.01 ρ + r (ω P(c)(1 − P(c)) + max(ω − 1, 0) |d_c|) f_k(c)²
//   v_kc ← v_kc − r ω d_c f_k(c)/h_kc
//
// from v = b = 0 and h = ρ, with ρ = 400 for v and 60 for b: what single classes add
// moves slowly, and matters where there are many rows. ω is the weight of the row.
// Without it constants would take back what weights of classes are given for; a weight
// above 1 adds to h as well, so that a heavy row moves each term only so far. Where
// labels come d rows late, ρ is d/5 times as much, if that is more: terms that follow the
// latest labels quickly would follow what is long past.
//
// Some labels are noise, which no scores can predict. The probabilities given out are
//
//   P'(c) = (1 − ε) Q(c) + ε/M',   Q ∝ P^τ,   r = (1 − ε) Q(y)/P'(y)
//
// with M' active classes, and r is the probability that the label of a row is not noise
// (Lawrence & Schölkopf, "Estimating a kernel Fisher discriminant in the presence of
// label noise", 2001). ε follows 1 − r by a running mean of 50 + t rows, at most 1,000,
// from 0.02; τ follows the log-loss by a Newton step slower than that of the weights,
// h ← 0.999 h + 0.03 + Var(log P), and stays in [0.2, 4].
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

struct Pool {
  Array<bool, 1> active;
  Array<double, 1> weights;          // w
  Array<double, 2> curvature;        // H
  Array<double, 2> class_terms;      // v, and b in the last row
  Array<double, 2> class_curvature;  // h of each of them
  Array<double, 1> class_ridge;      // ρ
  Array<double, 1> power;            // τ
  Array<double, 1> power_curvature;  // h
  Array<double, 1> noise;            // ε
  Array<double, 1> mistakes;         // weight of rows each member would get wrong, the pool last
  Array<double, 1> weight;           // weight of the rows learned
  Array<std::int64_t, 1> seen;       // rows learned, and those that the pool got wrong
  Array<double, 2> history;      // rows learned, `weight`, `mistakes` and `weights` at some rows
  Array<std::int64_t, 1> clock;  // entries of the history, and rows between those to come

  static constexpr auto fields() {
    return std::tuple{field("active", &Pool::active, "M"),
                      field("weights", &Pool::weights, "K"),
                      field("curvature", &Pool::curvature, "K K"),
                      field("class_terms", &Pool::class_terms, "K+1 M"),
                      field("class_curvature", &Pool::class_curvature, "K+1 M"),
                      field("class_ridge", &Pool::class_ridge, "K+1"),
                      field("power", &Pool::power, "1"),
                      field("power_curvature", &Pool::power_curvature, "1"),
                      field("noise", &Pool::noise, "1"),
                      field("mistakes", &Pool::mistakes, "K+1"),
                      field("weight", &Pool::weight, "1"),
                      field("seen", &Pool::seen, "2"),
                      field("history", &Pool::history, "128 *"),
                      field("clock", &Pool::clock, "2")};
  }

  [[nodiscard]] Index members() const { return weights.size(); }
  [[nodiscard]] Index classes() const { return active.size(); }
};

// Predict each row from the members' scores (n, K, M), then learn its label.
//
// `predicted` (n,) gets the class predicted, −1 where none is active; `log_posteriors`,
// if it has rows, log P' (n, M), −∞ for classes not active. `learned_from` (n, K, M) are
// the scores to learn from, where they are not those that give the predictions; otherwise
// it has no rows.
void pool_rows(Pool& pool, const View<const double, 3>& scores, const Labels& labels,
               Vector<std::int64_t> predicted, Matrix<double> log_posteriors,
               const View<const double, 3>& learned_from);

// Predict rows only: `pool_rows` without labels.
void predict_rows(const Pool& pool, const View<const double, 3>& scores,
                  Vector<std::int64_t> predicted, Matrix<double> log_posteriors);

// Learn rows from scores (n, K, M) that members gave before any was learned.
//
// `predicted` (n,) is what was predicted. No class becomes active: a row of one that is
// not counts as a mistake and moves no weight, since members knew nothing of the class.
// One class is active at least.
void learn_scored_rows(Pool& pool, const View<const double, 3>& scores, const Labels& labels,
                       Vector<const std::int64_t> predicted);

}  // namespace rpnb
