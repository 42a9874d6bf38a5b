// A covariance for each class: the Student-t predictive of a normal model.
//
// The rows x of a class are normal with unknown mean and covariance; the prior is normal
// and inverse Wishart, with the covariance pooled over all classes as its centre (Murphy,
// "Conjugate Bayesian analysis of the Gaussian distribution", 2007, section 9). For each
// class the state keeps n_c, the mean μ_c and the scatter S_c (Chan, Golub & LeVeque
// 1983); m₀ is the mean of all rows. With d the dimension and ν₀ = 2d + 1,
//
//   Ψ = ν₀ (Σ_c S_c + dI) / (Σ_c max(n_c − 1, 0) + d)
//   Λ_c = Ψ + S_c, κ = n_c + 0.3, ν = ν₀ + n_c − d + 1
//   μ̃ = (n_c μ_c + 0.3 m₀)/κ
//   q_c = (x − μ̃)ᵀ Λ_c⁻¹ (x − μ̃) κ/(κ + 1)
//   score_c = log(n_c + 1) + log Γ((ν + d)/2) − log Γ(ν/2)
//             − ½ (log |Λ_c| + d log((κ + 1)/κ)) − (ν + d)/2 · log(1 + q_c)
//
// The inverse and the determinant of Λ_c are updated with each row by the Sherman-Morrison
// formula; all of them, and Ψ, are recomputed when the number of rows has grown by 15 %.
//
// With more than 64 active classes, only the best 64 by linear discriminants with the pooled
// covariance Ψ/ν₀ are scored,
//
//   log(n_c + 1) − ½ ν₀ (μ_cᵀ Ψ⁻¹ μ_c − 2 μ_cᵀ Ψ⁻¹ x),
//
// and the others get the lowest of these scores.
//
// A triangle (algebra/triangles.h) has P = d(d + 1)/2 entries. Classes are handled in G groups
// of four: class c is lane c mod 4 of group c div 4.
#pragma once

#include "../record.h"
#include "member.h"

namespace rpnb {

struct ClassCovariance final : Member {
  // Most classes that are scored for a row.
  static constexpr Index kScored = 64;

  Array<bool, 1> active;
  Array<double, 1> class_weight;   // n_c
  Array<double, 3> mean;           // μ_c
  Array<double, 2> scatter;        // S_c
  Array<double, 3> inverse;        // Λ_c⁻¹
  Array<double, 1> log_volume;     // log |Λ_c|
  Array<double, 1> constant;       // the score without its last term
  Array<double, 1> spread;         // μ_cᵀ Ψ⁻¹ μ_c where M > 64, else 0
  Array<double, 1> total;          // sum of all rows
  Array<double, 1> weight;         // of all rows
  Array<double, 1> prior;          // Ψ
  Array<double, 1> prior_inverse;  // Ψ⁻¹
  Array<std::int64_t, 1> seen;     // rows learned
  Array<std::int64_t, 1> next;     // value of `seen` at which everything is recomputed

  static constexpr auto fields() {
    using Record = ClassCovariance;
    return std::tuple{field("active", &Record::active, "M"),
                      field("class_weight", &Record::class_weight, "M"),
                      field("mean", &Record::mean, "G d 4"),
                      field("scatter", &Record::scatter, "M P"),
                      field("inverse", &Record::inverse, "G P 4"),
                      field("log_volume", &Record::log_volume, "M"),
                      field("constant", &Record::constant, "M"),
                      field("spread", &Record::spread, "M"),
                      field("total", &Record::total, "d"),
                      field("weight", &Record::weight, "1"),
                      field("prior", &Record::prior, "P"),
                      field("prior_inverse", &Record::prior_inverse, "P"),
                      field("seen", &Record::seen, "1"),
                      field("next", &Record::next, "1")};
  }
  // Throw std::invalid_argument unless the arrays fit together.
  void check() const;

  static ClassCovariance begin(const Shape& shape, Vector<const bool> active);

  // Recompute Ψ and everything derived from it.
  void refresh();
  // Initialise these classes, which have no rows, from Ψ; set the spread of the others.
  void begin_classes(Vector<const std::int64_t> classes);

  void score_rows(const Rows& rows, const Scores& scores) const override;
  void learn_rows(const Rows& rows, const Labels& labels, const Scores& scores) override;
  [[nodiscard]] Index classes() const override { return active.size(); }
  void check_shape(const Shape& shape) const override;
  [[nodiscard]] bool uses_scale() const override { return true; }
  [[nodiscard]] std::shared_ptr<Member> begin_again(const Shape& shape, Vector<const bool> active,
                                                    std::uint64_t seed) const override;
};

}  // namespace rpnb
