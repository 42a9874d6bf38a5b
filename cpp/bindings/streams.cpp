#include "rooms.h"

namespace rpnb {

void bind_streams(nb::module_& /*module*/) {}

}  // namespace rpnb
