#include "rooms.h"

namespace rpnb {

void bind_projection(nb::module_& /*module*/) {}

}  // namespace rpnb
