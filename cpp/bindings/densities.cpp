#include "rooms.h"

namespace rpnb {

void bind_densities(nb::module_& /*module*/) {}

}  // namespace rpnb
