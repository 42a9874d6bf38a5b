#include "projection_matrix.h"

#include <algorithm>
#include <cmath>

#include "../random.h"
#include "../workspace.h"

namespace rpnb {

namespace {

constexpr float kRootThree = 1.7320508F;
// A sixth and a third of the 2³² values of a word, counted from the lowest.
constexpr std::int64_t kValues = std::int64_t{1} << 32;
constexpr std::int32_t kSixth = -kValues / 2 + kValues / 6;
constexpr std::int32_t kThird = -kValues / 2 + kValues / 3;

}  // namespace

void draw_matrix(Distribution distribution, std::uint64_t seed,
                 Vector<const std::uint64_t> features, Index q, Matrix<float> R) {
  const Index F = R.size(1);
  Workspace space;
  const auto words = space.take<std::int32_t>(F);
  const auto normal = space.take<double>(F);
  for (Index i = 0; i < features.size(); ++i) {
    fill_feature_words(seed, features[i], q, words);
    const std::int32_t* const word = words.data();
    float* const row = R[i].data();
    switch (distribution) {
      case Distribution::kGaussian:
        fill_normal(words, normal);
        for (Index f = 0; f < F; ++f) row[f] = static_cast<float>(normal[f]);
        break;
      case Distribution::kBernoulli:
        for (Index f = 0; f < F; ++f) row[f] = word[f] >= 0 ? 1.0F : -1.0F;
        break;
      case Distribution::kAchlioptas:
        for (Index f = 0; f < F; ++f) {
          const float side = word[f] < kSixth ? -kRootThree : kRootThree;
          row[f] = word[f] < kThird ? side : 0.0F;
        }
        break;
    }
  }
}

double max_column_norm(Matrix<const float> R) {
  const Index F = R.size(1);
  Workspace space;
  const auto squares = space.take_zeros<double>(F);
  double* const sums = squares.data();
  for (Index i = 0; i < R.size(0); ++i) {
    const float* const row = R[i].data();
    for (Index f = 0; f < F; ++f) sums[f] += static_cast<double>(row[f]) * row[f];
  }
  double largest = 0.0;
  for (const double sum : squares) largest = std::max(largest, sum);
  return std::sqrt(largest);
}

}  // namespace rpnb
