// The pool: one log-linear model of the members' scores, learned online.
//
// The scores s_k(c) of member k are taken relative to its best class and compressed below −6,
//
//   d = s_k(c) − max_c s_k(c),   f_k(c) = d if d > −6, else −6 − 6x/(6 + x), x = −6 − d.
//
// Apart from label noise, the probability of a class is
//
//   P(c) ∝ exp(b_c + Σ_k (w_k + v_kc) f_k(c)),
//
// a logarithmic opinion pool (Genest & Zidek, "Combining probability distributions", 1986).
// f is above −12, so that no single member can rule a class out. It is not simply clipped at
// −6, since the scores of a rare class are below that for nearly all rows, and would all be
// equal. The weights follow the log-loss by online Newton steps (Hazan, Agarwal & Kale,
// "Logarithmic regret algorithms for online convex optimization", 2007), with a memory of
// about 200 rows for the curvature:
//
//   g_k = r (E_P f_k − f_k(y))
//   H ← 0.995 H + 0.005·30 I + ½(r Cov_P f + g gᵀ)
//   w ← max(0, w − H⁻¹ g)
//
// starting from H = 30 I and equal weights w that sum to 1, except 0 for transitions,
// selected neighbours and boosted trees. The weights v and the constant b of each class follow the
// same loss, each by its own Newton step, with f = 1 for b:
//
//   d_c = P(c) − [c = y]
//   h_kc ← 0.99 h_kc + 0.01 ρ + r (ω P(c)(1 − P(c)) + max(ω − 1, 0) |d_c|) f_k(c)²
//   v_kc ← v_kc − r ω d_c f_k(c)/(h_kc (1 + 10/(n_c + ½)))
//
// starting from v = b = 0 and h = ρ, with ρ = 400 for v and 60 for b: class terms move
// slowly, and matter for classes with many rows n_c. ω is the weight of the row; without it,
// the constants would cancel the effect of class weights. A weight above 1 also adds to h,
// which limits how far a heavy row moves each term. If labels are d rows late, ρ is
// multiplied by max(1, d/5): terms that adapt quickly would follow an outdated state.
//
// Newton steps with a memory of 200 rows adapt to a change of the stream at once, but never
// converge: with noisy labels, K weights cost about K/400 nats. So all weights and terms are
// also averaged over about the last quarter of the t rows learned (averaged iterates; Polyak
// & Juditsky, "Acceleration of stochastic approximation by averaging", 1992), and the
// probabilities come from a mixture of both logits:
//
//   w̄ ← w̄ + (w − w̄)/m,   m = min(max(20, t/4), 2000),   v̄ and b̄ likewise
//   L_c = b_c + Σ_k (w_k + v_kc) f_k(c),   L̄_c likewise
//   P̃(c) ∝ exp(L̄_c + α (L_c − L̄_c))
//
// α follows the log-loss of P' by a Newton step along L − L̄ with
// h ← 0.998 h + 0.002·10 + τ² Var_Q(L − L̄), starting from α = 1, and stays in [0, 1]. The
// steps of w, v and b are those of P, whatever α is.
//
// If labels are delayed, a row has two sets of scores: those at its prediction, and those
// at the arrival of its label, by members that have learned the rows in between. The
// weights are applied to the former; with the latter alone, members that rely on the most
// recent labels would be over-weighted. With the former alone, the weights would
// compensate for what the members have learned since, and the two corrections would
// overshoot. So g, and the term added to H, are the means of both. v and b follow the
// latter only: they compensate for what members have not learned. α, τ and ε follow the
// former.
//
// Some labels are noise, which no scores can predict. The predicted probabilities are
//
//   P'(c) = (1 − ε) Q(c) + ε π_c,   Q ∝ P̃^τ,   r = (1 − ε) Q(y)/P'(y)
//
// where π_c = (n_c + ½)/(Σ n_c + M'/2) is the smoothed frequency of a class among the M'
// active ones, and r the probability that the label of a row is not noise (Lawrence &
// Schölkopf, "Estimating a kernel Fisher discriminant in the presence of label noise",
// 2001). Noise is proportional to the class frequencies: an equal share for every class
// would exceed the probability of a rare class for most rows, and hide their order. The
// class with the largest P' is predicted. ε is a running mean of 1 − r over 50 + t rows, at
// most 1,000, starting from 0.02. τ follows the log-loss by a Newton step slower than that of
// the weights, h ← 0.999 h + 0.03 + Var_Q(log P̃), and stays in [0.2, 4].
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
  Array<double, 1> mean_weights;     // w̄
  Array<double, 2> mean_terms;       // v̄, and b̄ in the last row
  Array<double, 1> mix;              // α
  Array<double, 1> mix_curvature;    // h
  Array<double, 1> class_weight;     // n_c, weight of the rows learned of each class
  Array<double, 1> power;            // τ
  Array<double, 1> power_curvature;  // h
  Array<double, 1> noise;            // ε
  Array<double, 1> mistakes;         // weight of the mistakes of each member, and of the pool
  Array<double, 1> weight;           // weight of the rows learned
  Array<std::int64_t, 1> seen;       // number of rows learned, and of the pool's wrong predictions
  Array<double, 2> history;  // rows learned, `weight`, `mistakes` and weights in use at some rows
  Array<std::int64_t, 1> clock;  // entries of the history, and rows between later ones

  static constexpr auto fields() {
    return std::tuple{field("active", &Pool::active, "M"),
                      field("weights", &Pool::weights, "K"),
                      field("curvature", &Pool::curvature, "K K"),
                      field("class_terms", &Pool::class_terms, "K+1 M"),
                      field("class_curvature", &Pool::class_curvature, "K+1 M"),
                      field("class_ridge", &Pool::class_ridge, "K+1"),
                      field("mean_weights", &Pool::mean_weights, "K"),
                      field("mean_terms", &Pool::mean_terms, "K+1 M"),
                      field("mix", &Pool::mix, "1"),
                      field("mix_curvature", &Pool::mix_curvature, "1"),
                      field("class_weight", &Pool::class_weight, "M"),
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
// Predicted classes are written to `predicted` (n,), −1 if none is active, and log P' to
// `log_posteriors` (n, M), unless it has no rows, −∞ for classes that are not active. If
// labels are delayed, `learned_from` (n, K, M) holds the scores by which the rows were
// predicted; otherwise it has no rows.
void pool_rows(Pool& pool, const View<const double, 3>& scores, const Labels& labels,
               Vector<std::int64_t> predicted, Matrix<double> log_posteriors,
               const View<const double, 3>& learned_from);

// Predict rows only: `pool_rows` without labels.
void predict_rows(const Pool& pool, const View<const double, 3>& scores,
                  Vector<std::int64_t> predicted, Matrix<double> log_posteriors);

// Learn rows from scores (n, K, M) that members gave before learning any of them.
//
// `predicted` (n,) are the predictions. No class becomes active: a row of a class that is not
// active counts as a mistake and moves no weight. At least one class must be active.
void learn_scored_rows(Pool& pool, const View<const double, 3>& scores, const Labels& labels,
                       Vector<const std::int64_t> predicted);

}  // namespace rpnb
