#include "rooms.h"

namespace rpnb {

void bind_covariances(nb::module_& /*module*/) {}

}  // namespace rpnb
