// Binding a member of the pool: its record and the interface of all members.
#pragma once

#include <nanobind/stl/shared_ptr.h>

#include "../pooled/member.h"
#include "record.h"

namespace rpnb {

// Bind member R, which has `static R begin(const Shape&, Vector<const bool>, ...)`.
template <class R>
auto bind_member(nb::module_& module, const char* name) {
  return bind_record<R, Member>(module, name);
}

}  // namespace rpnb
