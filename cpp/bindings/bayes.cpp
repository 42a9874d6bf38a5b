#include "rooms.h"

namespace rpnb {

void bind_bayes(nb::module_& /*module*/) {}

}  // namespace rpnb
