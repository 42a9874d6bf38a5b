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

// Numbers drawn at once for a row, four per counter, and working memory for that.
struct Skips {
  Vector<double> logs;         // logarithms of uniform numbers
  Vector<std::int32_t> signs;  // 0 or −1
  Vector<std::uint64_t> counters;
  Vector<std::uint64_t> zeros;
  Vector<std::uint32_t> bits;
};

// Draw numbers `first` and following of a feature.
void draw_skips(std::uint64_t seed, std::uint64_t feature, Index first, const Skips& skips) {
  for (Index c = 0; c < skips.counters.size(); ++c) {
    skips.counters[c] = static_cast<std::uint64_t>(first / 4 + c);
  }
  fill_bits(seed, feature, skips.counters, skips.zeros, skips.bits);
  const std::uint32_t* const bits = skips.bits.data();
  for (Index t = 0; t < skips.bits.size(); ++t) {
    skips.signs[t] = -static_cast<std::int32_t>(bits[t] & 1);
    // Below 2³¹, and therefore the same as a signed integer, which converts faster.
    const auto cell = static_cast<std::int32_t>(bits[t] >> 1);
    skips.logs[t] = (static_cast<double>(cell) + 0.5) * kCell;
  }
  fill_logs(skips.logs);
}

// 1/log(1 − 1/s), by which the log of a uniform number is turned into a number of zeros; 0 if
// s = 1, where there are none.
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
  // Enough counters for most rows.
  const double mean = static_cast<double>(F) / s;
  const Index counters = static_cast<Index>(mean + 2.0 * std::sqrt(mean)) / 4 + 1;
  const Index batch = 4 * counters;
  Workspace space;
  const Skips skips{space.take<double>(batch), space.take<std::int32_t>(batch),
                    space.take<std::uint64_t>(counters), space.take_zeros<std::uint64_t>(counters),
                    space.take<std::uint32_t>(batch)};

  VerySparse matrix;
  matrix.F_ = F;
  matrix.size_ = static_cast<float>(std::sqrt(s));
  matrix.starts_ = Array<std::int64_t, 1>({p + 1});
  std::vector<std::int32_t> entries;
  entries.reserve(static_cast<std::size_t>(static_cast<double>(p) * (mean + 1.0)));
  for (Index i = 0; i < p; ++i) {
    Index f = 0;
    for (Index first = 0; f < F; first += batch) {
      draw_skips(seed, features[i], first, skips);
      for (Index t = 0; t < batch; ++t) {
        f += static_cast<Index>(skips.logs[t] * per_skip);
        if (f >= F) break;
        entries.push_back(static_cast<std::int32_t>(f) ^ skips.signs[t]);
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
  const double size = size_;
  for (Index b = 0; b < rows.size(); ++b) {
    double* const z = Z[b].data();
    std::fill_n(z, F_, 0.0);
    const Row row = rows[b];
    for (Index j = 0; j < row.size(); ++j) {
      const double x = row.values[j] * scale;
      if (x == 0.0) continue;
      const Index i = row.column(j);
      const double signed_x[] = {x, -x};
      const auto add = [&](Index t) {
        const std::int32_t entry = entries[t];
        const std::int32_t negative = entry >> 31;  // 0 or −1
        const auto f = static_cast<std::uint32_t>(entry ^ negative);
        z[f] = std::fma(signed_x[-negative], size, z[f]);
      };
      // Unrolled: the overhead of a loop equals that of several entries.
      const Index last = starts_[i + 1];
      Index t = starts_[i];
      for (; t + 4 <= last; t += 4) {
        for (Index k = 0; k < 4; ++k) add(t + k);
      }
      for (; t < last; ++t) add(t);
    }
  }
}

}  // namespace rpnb
