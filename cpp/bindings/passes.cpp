#include "rooms.h"

namespace rpnb {

void bind_passes(nb::module_& /*module*/) {}

}  // namespace rpnb
