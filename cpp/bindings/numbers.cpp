// Random numbers and elementary functions.
#include "../math.h"
#include "../random.h"
#include "arrays.h"
#include "rooms.h"

namespace rpnb {

void bind_numbers(nb::module_& module) {
  module.def("philox", [](Matrix<std::uint64_t> counters, std::uint64_t seed) {
    if (counters.size(0) != 4) throw nb::value_error("counters must have 4 rows");
    philox_columns(counters, seed);
  });
  module.def("fill_feature_words",
             [](std::uint64_t seed, std::uint64_t feature, Index q, Vector<std::int32_t> words) {
               if (q < 1 || words.size() % q != 0) {
                 throw nb::value_error("words must be a multiple of q, which is at least 1");
               }
               fill_feature_words(seed, feature, q, words);
             });
  module.def("fill_normal", [](Vector<const std::int32_t> words, Vector<double> out) {
    if (words.size() != out.size()) throw nb::value_error("words and out must be as long");
    fill_normal(words, out);
  });
  module.def("fill_logs", &fill_logs);
  module.def("fill_exponentials", &fill_exponentials);
  module.def("fill_circle", [](Vector<const std::int64_t> k, std::int64_t period,
                               Vector<double> sine, Vector<double> cosine) {
    if (period < 1 || period > kLongestPeriod) {
      throw nb::value_error("period must be from 1 to 2^60");
    }
    if (sine.size() != k.size() || cosine.size() != k.size()) {
      throw nb::value_error("sine and cosine must be as long as k");
    }
    for (Index i = 0; i < k.size(); ++i) {
      const CirclePoint point = circle_point(k[i], period);
      sine[i] = point.sine;
      cosine[i] = point.cosine;
    }
  });
  module.def("log1p", &log1p);
  module.def("power", &pow);
  module.def("hypot", &hypot);
  module.def("lgamma", &lgamma);
  module.def("erfc", &erfc);
}

}  // namespace rpnb
