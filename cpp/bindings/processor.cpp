// The instruction sets (x86-64 levels) that this processor supports; compiled for any processor.
#include <nanobind/nanobind.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nb = nanobind;

// Whether all features are supported. As a function it evaluates all arguments, so that line
// coverage is the same on every processor.
static bool all(auto... features) { return (... && (features != 0)); }

#if defined(__x86_64__)
// Whether the processor has LZCNT, MOVBE and F16C, which compilers use in level v3. Not all of
// them accept these names in __builtin_cpu_supports.
static bool has_rest_of_v3() {
  unsigned int a = 0, b = 0, first = 0, extended = 0, d = 0;
  const bool known =
      all(__get_cpuid(1, &a, &b, &first, &d), __get_cpuid(0x80000001, &a, &b, &extended, &d));
  return all(known, first & bit_MOVBE, first & bit_F16C, extended & bit_LZCNT);
}
#endif

// Names of the supported levels, the best one last. All compute the same bits.
static nb::list supported_levels() {
  nb::list levels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 = all(__builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("popcnt"));
  const bool v3 =
      all(v2, __builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
          __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"), has_rest_of_v3());
  const bool v4 = all(v3, __builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
                      __builtin_cpu_supports("avx512cd"), __builtin_cpu_supports("avx512dq"),
                      __builtin_cpu_supports("avx512vl"), __builtin_cpu_supports("avx512vnni"));
  // GCOVR_EXCL_BR_START: a processor has one outcome of each
  if (v2) levels.append("v2");
  if (v3) levels.append("v3");
  if (v4) levels.append("v4");
  // GCOVR_EXCL_BR_STOP
#else
  levels.append("base");
#endif
  return levels;
}

NB_MODULE(_processor, module) {
  module.doc() = "What the processor can do.";
  module.def("supported_levels", &supported_levels);
}
