// Which levels of instructions this processor has; compiled for any processor.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

// Names of levels, the best one last. All compute the same bits.
static nb::list supported_levels() {
  nb::list levels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("popcnt") != 0;
  const bool v3 = v2 && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                  __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
  const bool v4 =
      v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  if (v2) levels.append("v2");
  if (v3) levels.append("v3");
  if (v4) levels.append("v4");
#else
  levels.append("base");
#endif
  return levels;
}

NB_MODULE(_processor, module) {
  module.doc() = "What the processor can do.";
  module.def("supported_levels", &supported_levels);
}
