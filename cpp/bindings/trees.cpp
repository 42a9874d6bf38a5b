#include "rooms.h"

namespace rpnb {

void bind_trees(nb::module_& /*module*/) {}

}  // namespace rpnb
