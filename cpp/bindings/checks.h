// Checks of arrays from Python.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../array.h"

namespace rpnb {

// Reject an array of any other shape; `name` is the argument's name.
template <class T, int N>
void require_shape(const char* name, const View<T, N>& array,
                   const std::type_identity_t<std::array<Index, N>>& shape) {
  if (array.shape() == shape) return;
  std::string message = std::string(name) + " is not of shape";
  for (const Index length : shape) message.append(" ").append(std::to_string(length));
  throw std::invalid_argument(message);
}

// Reject values outside `least` … M − 1, where `least` is 0, or −1 if that means "no class".
inline void require_classes(Vector<const std::int64_t> y, Index least, Index M,
                            const char* name = "y") {
  bool all = true;
  for (const std::int64_t c : y) all &= c >= least && c < M;
  if (!all) throw std::invalid_argument(std::string(name) + " holds a number that is no class");
}

}  // namespace rpnb
