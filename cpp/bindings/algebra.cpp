#include "rooms.h"

namespace rpnb {

void bind_algebra(nb::module_& /*module*/) {}

}  // namespace rpnb
