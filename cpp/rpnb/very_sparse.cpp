#include "very_sparse.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../math.h"
#include "../random.h"
#include "../workspace.h"

namespace rpnb {

namespace {

constexpr double kCell = 0x1p-31;

// Draw logarithms of uniform numbers, and signs, 0 or −1: numbers `first` and following of
// a feature, four for each counter.
void fill_skips(std::uint64_t seed, std::uint64_t feature, Index first, Vector<double> skips,
                Vector<std::int32_t> signs) {
  const auto low = static_cast<std::uint32_t>(feature);
  const auto high = static_cast<std::uint32_t>(feature >> 32);
  for (Index t = 0; t < skips.size(); t += 4) {
    const auto number = static_cast<std::uint32_t>((first + t) / 4);
    const Counter bits = philox({number, 0, low, high}, seed);
    for (Index lane = 0; lane < 4; ++lane) {
      signs[t + lane] = -static_cast<std::int32_t>(bits[lane] & 1);
      skips[t + lane] = (static_cast<double>(bits[lane] >> 1) + 0.5) * kCell;
    }
  }
  fill_logs(skips);
}

// 1/log(1 − 1/s): how many zeros the logarithm of a uniform number stands for; 0 if s = 1,
// where there are none.
double zeros_per_log(double s) {
  if (s <= 1.0) return 0.0;
  double none = 1.0 - 1.0 / s;
  fill_logs(Vector<double>(&none, {1}));
  return 1.0 / none;
}

}  // namespace

VerySparse VerySparse::draw(std::uint64_t seed, Vector<const std::uint64_t> features, Index F) {
  const Index p = features.size();
  const double s = std::sqrt(static_cast<double>(p));
  const double per_skip = zeros_per_log(s);
  // Skips drawn at once: enough for most rows.
  const double mean = static_cast<double>(F) / s;
  const Index batch = 4 * (static_cast<Index>(mean + 2.0 * std::sqrt(mean)) / 4 + 1);
  Workspace space;
  const auto skips = space.take<double>(batch);
  const auto signs = space.take<std::int32_t>(batch);

  VerySparse matrix;
  matrix.F_ = F;
  matrix.size_ = static_cast<float>(std::sqrt(s));
  matrix.starts_ = Array<std::int64_t, 1>({p + 1});
  std::vector<std::int32_t> entries;
  entries.reserve(static_cast<std::size_t>(static_cast<double>(p) * (mean + 1.0)));
  for (Index i = 0; i < p; ++i) {
    Index f = 0;
    for (Index first = 0; f < F; first += batch) {
      fill_skips(seed, features[i], first, skips, signs);
      for (Index t = 0; t < batch; ++t) {
        f += static_cast<Index>(skips[t] * per_skip);
        if (f >= F) break;
        entries.push_back(static_cast<std::int32_t>(f) ^ signs[t]);
        ++f;
      }
    }
    matrix.starts_[i + 1] = static_cast<std::int64_t>(entries.size());
  }
  matrix.entries_ = Array<std::int32_t, 1>({static_cast<Index>(entries.size())});
  std::copy(entries.begin(), entries.end(), matrix.entries_.begin());
  return matrix;
}

void VerySparse::project(const RowBlock& rows, double scale, Matrix<double> Z) const {
  const std::int32_t* const entries = entries_.data();
  for (Index b = 0; b < rows.size(); ++b) {
    double* const z = Z[b].data();
    std::fill_n(z, F_, 0.0);
    const Row row = rows[b];
    for (Index j = 0; j < row.size(); ++j) {
      const double x = row.values[j] * scale;
      if (x == 0.0) continue;
      const Index i = row.column(j);
      for (Index t = starts_[i]; t < starts_[i + 1]; ++t) {
        const std::int32_t entry = entries[t];
        const Index f = entry ^ (entry >> 31);
        z[f] = std::fma(entry >= 0 ? x : -x, size_, z[f]);
      }
    }
  }
}

}  // namespace rpnb
