// Work of the core without Python's global lock.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace rpnb {

// Releases the lock while it lives, like nb::gil_scoped_release, but outlives the interpreter.
//
// Once Python has begun to exit, versions before 3.14 end a daemon thread that asks for the
// lock: glibc then unwinds its stack, and an unwound destructor ends the whole process.
// Such a thread waits here instead until the process is gone, as it does in Python 3.14.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  ~ReleasedGil() {
#if defined(__GLIBCXX__)
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {  // GCOVR_EXCL_START: the process ends meanwhile
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }  // GCOVR_EXCL_STOP
#else
    PyEval_RestoreThread(state_);
#endif
  }

 private:
  PyThreadState* state_;
};

}  // namespace rpnb
