#include "rooms.h"

namespace rpnb {

void bind_forest(nb::module_& /*module*/) {}

}  // namespace rpnb
