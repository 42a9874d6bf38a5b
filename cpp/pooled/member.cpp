#include "member.h"

#include <stdexcept>
#include <string>

namespace rpnb {

void require_length(const char* what, Index found, Index expected) {
  if (found != expected) {
    throw std::invalid_argument(std::string(what) + " is of length " + std::to_string(found) +
                                ", not " + std::to_string(expected));
  }
}

}  // namespace rpnb
