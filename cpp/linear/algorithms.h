// The linear learners: their parameters, their triggers and steps.
//
// These are the learners of LIBOL (Hoi, Wang & Zhao 2014, "LIBOL: a library for online
// learning algorithms"), with which the paper compares RPNB. To add one: a name in
// `Algorithm` and in bindings/linear.cpp, its trigger in `is_triggered` and its step in
// `step_of`.
//
// A round is described by a few numbers. In the two-class form the margin is m = y·f with
// f = w·x and y = ±1; in the multi-class form it is F_y − F_s, the score of the row's class
// minus that of its strongest rival s. v is xᵀΣx, l = max(0, 1 − m) the hinge loss, t the
// number of the round, `sides` the number of weight rows that a step changes: 1 or 2. A
// step is
//
//   w ← keep·w + α·y·g,    Σ ← (Σ − β·(Σx)(Σx)ᵀ)/divisor,
//
// with g = x (first order, SOP) or g = Σx; in the multi-class form row y moves by +α·g and
// row s by −α·g. The formulas are LIBOL's, which departs in places from the articles that
// the learners come from; where it does, the function's comment mentions it.
#pragma once

#include "../array.h"

namespace rpnb {

// Those before kSop are of first order: a step along x. Those from kSop on keep a
// covariance; the last three compare the margin with its standard deviation.
enum class Algorithm {
  kPerceptron,
  kPerceptronUniform,
  kPerceptronProportional,
  kRomma,
  kAggressiveRomma,
  kAlma,
  kOgd,
  kOgdLogistic,
  kOgdSquare,
  kOgdZeroOne,
  kPa,
  kPa1,
  kPa2,
  kSop,
  kIellip,
  kArow,
  kNarow,
  kNherd,
  kCw,
  kScw1,
  kScw2,
};

// A learner and its parameters.
struct LinearAlgorithm {
  Algorithm algorithm;
  bool two_class;  // whether one weight vector separates two classes, or M rows compete
  bool libol;      // whether to reproduce LIBOL even where it is unsound: see learner.h
  double C;        // largest step, step size, or trade-off: see the learner's step
  double phi;      // φ = Φ⁻¹(η) of the confidence-weighted learners
  double alpha;    // ALMA's α, the target margin as a share of the largest one
  double power;    // ALMA's p
  double b;        // IELLIP's b, the factor from each c_t to the next
};

// Inputs of a step; those that a learner does not use are 0.
struct StepInputs {
  double m;
  Index t;
  Index k;        // number of the update, from 1
  double square;  // ‖x‖²
  double weight;  // ‖w‖², of all rows together
  double v;
  double c;  // IELLIP's c_t
  int sides;
};

struct WeightStep {
  double keep = 1.0;
  double alpha = 1.0;
  double beta = 0.0;
  double divisor = 1.0;
};

// Whether a round triggers an update; v is read for IELLIP, CW and SCW only.
//
// These need v > 0, which only rounding errors in Σ can violate.
bool is_triggered(const LinearAlgorithm& rule, double m, bool wrong, double v, Index k);

// The learner's step in a round that triggers an update.
WeightStep step_of(const LinearAlgorithm& rule, const StepInputs& inputs);

// Set `shares` (M,) to the multiple of x for each row; Crammer & Singer (2003).
//
// Row y gains 1; the rows E = {i : F_i > F_y} of eligible classes lose 1 together:
// uniformly, 1/|E| each, or in proportion to F_i − F_y. E may be empty: for a class new in
// this round, or when the first of equals was predicted.
void perceptron_shares(bool uniform, Vector<const double> scores, Vector<const bool> eligible,
                       Index y, Vector<double> shares);

}  // namespace rpnb
