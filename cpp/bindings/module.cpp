// The extension module: one submodule for each part of the core.
#include "rooms.h"

NB_MODULE(RPNB_MODULE, module) {
  module.doc() = "The compiled core of rpnb.";
  // Caches and frames of exceptions may keep models alive until the interpreter exits.
  nb::set_leak_warnings(false);
  const auto room = [&](const char* name, void (*bind)(nb::module_&)) {
    nb::module_ submodule = module.def_submodule(name);
    // The same name for all instruction sets, so that pickles load on other machines.
    submodule.attr("__name__") = nb::str("rpnb._core.") + nb::str(name);
    bind(submodule);
  };
  room("numbers", rpnb::bind_numbers);
  room("pooled", rpnb::bind_pooled);
  room("algebra", rpnb::bind_algebra);
  room("covariances", rpnb::bind_covariances);
  room("densities", rpnb::bind_densities);
  room("forest", rpnb::bind_forest);
  room("boosted", rpnb::bind_boosted);
  room("projection", rpnb::bind_projection);
  room("bayes", rpnb::bind_bayes);
  room("passes", rpnb::bind_passes);
  room("linear", rpnb::bind_linear);
  room("trees", rpnb::bind_trees);
  room("streams", rpnb::bind_streams);
}
