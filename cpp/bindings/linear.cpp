#include "rooms.h"

namespace rpnb {

void bind_linear(nb::module_& /*module*/) {}

}  // namespace rpnb
