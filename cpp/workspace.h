// A stack allocator for each thread's working memory.
#pragma once

#include <vector>

#include "array.h"

namespace rpnb {

// Memory taken from a Workspace is released when it goes out of scope, and reused by the
// thread's next one: a call for a single row allocates nothing.
//
// In builds for sanitizers each piece is a separate allocation, so that accesses beyond it are
// detected.
class Workspace {
 public:
  Workspace() : stack_(stack()), mark_(stack_.mark()) {}
  ~Workspace() { stack_.release(mark_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  Workspace(Workspace&&) = delete;
  Workspace& operator=(Workspace&&) = delete;

  // An uninitialised array.
  template <class T, class... I>
  View<T, sizeof...(I)> take(I... lengths) {
    const std::array<Index, sizeof...(I)> shape{static_cast<Index>(lengths)...};
    std::size_t bytes = sizeof(T);
    for (const Index length : shape) bytes *= static_cast<std::size_t>(length);
    return {reinterpret_cast<T*>(stack_.take(bytes)), shape};
  }

  // An array of zeros.
  template <class T, class... I>
  View<T, sizeof...(I)> take_zeros(I... lengths) {
    auto array = take<T>(lengths...);
    std::memset(static_cast<void*>(array.data()), 0, sizeof(T) * array.total());
    return array;
  }

 private:
  struct Mark {
    std::size_t block;
    std::size_t used;
  };

  class Stack {
   public:
    [[nodiscard]] Mark mark() const { return {current_, used_}; }

#ifdef RPNB_CHECKED
    std::byte* take(std::size_t bytes) {
      blocks_.push_back({allocate_aligned(bytes), bytes});
      current_ = blocks_.size();
      return blocks_.back().memory.get();
    }

    void release(const Mark& mark) {
      blocks_.resize(mark.block);
      current_ = mark.block;
    }
#else
    std::byte* take(std::size_t bytes) {
      const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      while (current_ < blocks_.size() && used_ + rounded > blocks_[current_].size) {
        ++current_;
        used_ = 0;
      }
      if (current_ == blocks_.size()) {
        const std::size_t size = rounded > kBlock ? rounded : kBlock;
        blocks_.push_back({allocate_aligned(size), size});
      }
      std::byte* place = blocks_[current_].memory.get() + used_;
      used_ += rounded;
      return place;
    }

    void release(const Mark& mark) {
      current_ = mark.block;
      used_ = mark.used;
      // Nothing is in use: keep only as much as calls for single rows need.
      if (current_ == 0 && used_ == 0 && blocks_.size() > kKept) blocks_.resize(kKept);
    }
#endif

   private:
    struct Block {
      AlignedMemory memory;
      std::size_t size;
    };
    static constexpr std::size_t kBlock = std::size_t{1} << 18;
    static constexpr std::size_t kKept = 4;

    std::vector<Block> blocks_;
    std::size_t current_ = 0;
    std::size_t used_ = 0;
  };

  static Stack& stack() {
    thread_local Stack one;
    return one;
  }

  // Looked up once, since access to a thread-local variable is a function call.
  Stack& stack_;
  Mark mark_;
};

}  // namespace rpnb
