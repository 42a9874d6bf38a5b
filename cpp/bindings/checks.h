// What is checked of arrays where they enter the core.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../array.h"

namespace rpnb {

// Refuse an array of another shape; `name` is that of the argument.
template <class T, int N>
void require_shape(const char* name, const View<T, N>& array,
                   const std::type_identity_t<std::array<Index, N>>& shape) {
  if (array.shape() == shape) return;
  std::string message = std::string(name) + " is not of shape";
  for (const Index length : shape) message.append(" ").append(std::to_string(length));
  throw std::invalid_argument(message);
}

// Refuse numbers that are no class, 0 … M − 1; where `least` is −1, that stands for none.
inline void require_classes(Vector<const std::int64_t> y, Index least, Index M,
                            const char* name = "y") {
  bool all = true;
  for (const std::int64_t c : y) all &= c >= least && c < M;
  if (!all) throw std::invalid_argument(std::string(name) + " holds a number that is no class");
}

}  // namespace rpnb
