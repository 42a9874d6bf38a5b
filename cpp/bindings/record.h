// A record (../record.h) as a Python class: a named tuple of arrays that C++ owns.
#pragma once

#include <initializer_list>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "../record.h"
#include "arrays.h"

namespace rpnb {

// The lengths that axis letters stand for while the fields of a record are checked.
class Axes {
 public:
  // Reject a shape that does not match `axes`; `name` is the field's name.
  template <std::size_t N>
  void check(const char* name, const char* axes, const std::array<Index, N>& shape) {
    std::istringstream words(axes);
    std::string word;
    for (std::size_t axis = 0; axis < N; ++axis) {
      if (!(words >> word)) throw std::logic_error(std::string(name) + " lists too few axes");
      if (!fits(word, shape[axis])) {
        throw std::invalid_argument(std::string(name) + ": axis " + std::to_string(axis) +
                                    " is of length " + std::to_string(shape[axis]) + ", not " +
                                    word);
      }
    }
    if (words >> word) throw std::logic_error(std::string(name) + " lists too many axes");
  }

 private:
  bool fits(const std::string& word, Index length) {
    if (word == "*") return true;
    const std::size_t sign = word.find('+');
    const Index added = sign == std::string::npos ? 0 : std::stol(word.substr(sign + 1));
    const std::string name = word.substr(0, sign);
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      return length == std::stol(name) + added;
    }
    const auto [known, is_new] = lengths_.try_emplace(name, length - added);
    return is_new ? length >= added : length == known->second + added;
  }

  std::map<std::string, Index> lengths_;
};

template <class R>
std::size_t count_fields() {
  return std::tuple_size_v<decltype(R::fields())>;
}

// The fields of a record as NumPy arrays that view its memory.
template <class R>
nb::tuple show_fields(nb::handle self) {
  R& record = nb::cast<R&>(self);
  nb::list arrays;
  for_each_field<R>([&](const auto& entry) {
    using Entry = std::remove_cvref_t<decltype(entry)>;
    const View<typename Entry::Value, Entry::kAxes> view = record.*(entry.member);
    arrays.append(nb::cast(show(view, self)));
  });
  return nb::tuple(arrays);
}

// Make a record from copies of arrays given by position or by name. A record may have a
// function check(), which throws if the arrays are inconsistent beyond their shapes.
template <class R>
R make_record(const char* kind, const nb::args& places, const nb::kwargs& names) {
  R record;
  Axes axes;
  std::size_t place = 0;
  std::size_t used = 0;
  for_each_field<R>([&](const auto& entry) {
    using Entry = std::remove_cvref_t<decltype(entry)>;
    using Given = View<const typename Entry::Value, Entry::kAxes>;
    nb::object given;
    if (place < places.size()) {
      given = places[place];
    } else if (names.contains(entry.name)) {  // GCOVR_EXCL_BR_LINE: else an error
      given = names[entry.name];
      ++used;
    } else {
      throw nb::type_error((std::string(kind) + " needs " + entry.name).c_str());
    }
    ++place;
    nb::detail::make_caster<Given> caster;
    if (!caster.from_python(given, 0, nullptr)) {
      throw nb::type_error((std::string(kind) + "." + entry.name +
                            " is not an array of the right type and number of axes")
                               .c_str());
    }
    axes.check(entry.name, entry.axes, caster.value.shape());
    Array<typename Entry::Value, Entry::kAxes> copy(caster.value.shape());
    std::copy(caster.value.begin(), caster.value.end(), copy.begin());
    record.*(entry.member) = std::move(copy);
  });
  if (places.size() > place || names.size() != used) {
    throw nb::type_error((std::string(kind) + " got arrays that it does not have").c_str());
  }
  if constexpr (requires { record.check(); }) record.check();
  return record;
}

// Bind record R as class `name`. `bases` are C++ bases that are bound already.
template <class R, class... Bases>
nb::class_<R, Bases...> bind_record(nb::module_& module, const char* name) {
  nb::class_<R, Bases...> bound(module, name);
  bound.def("__init__", [name](R* self, const nb::args& places, const nb::kwargs& names) {
    new (self) R(make_record<R>(name, places, names));
  });
  nb::list names;
  for_each_field<R>([&](const auto& entry) {
    using Entry = std::remove_cvref_t<decltype(entry)>;
    names.append(entry.name);
    bound.def_prop_ro(entry.name, [entry](nb::pointer_and_handle<R> self) {
      const View<typename Entry::Value, Entry::kAxes> view = self.p->*(entry.member);
      return show(view, self.h);
    });
  });
  bound.attr("_fields") = nb::tuple(names);
  bound.def("__iter__", [](nb::handle self) { return nb::iter(show_fields<R>(self)); });
  bound.def("__len__", [](const R&) { return count_fields<R>(); });
  bound.def("_asdict", [](nb::handle self) {
    nb::dict fields;
    const nb::tuple arrays = show_fields<R>(self);
    const auto listed = nb::borrow<nb::tuple>(self.attr("_fields"));
    for (std::size_t i = 0; i < arrays.size(); ++i) fields[listed[i]] = arrays[i];
    return fields;
  });
  bound.def("_replace", [](nb::handle self, const nb::kwargs& changes) {
    auto fields = nb::borrow<nb::dict>(self.attr("_asdict")());
    for (auto [key, value] : changes) {
      if (!fields.contains(key)) throw nb::type_error("_replace got an array of no field");
      fields[key] = value;
    }
    return self.type()(**fields);
  });
  bound.def("__reduce__",
            [](nb::handle self) { return nb::make_tuple(self.type(), show_fields<R>(self)); });
  return bound;
}

// List attributes of a class as the fields of a named tuple, for classes that are more than a
// record of arrays.
template <class C>
void list_fields(nb::class_<C>& bound, std::initializer_list<const char*> names) {
  nb::list fields;
  for (const char* name : names) fields.append(name);
  bound.attr("_fields") = nb::tuple(fields);
  bound.def("__iter__", [](nb::handle self) {
    nb::list values;
    for (nb::handle name : nb::borrow<nb::tuple>(self.attr("_fields"))) {
      values.append(nb::getattr(self, name));
    }
    return nb::iter(values);
  });
}

}  // namespace rpnb
