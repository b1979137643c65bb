// SPDX-License-Identifier: MIT
#include "pando/runtime/machine/fp_exceptions.h"

namespace pando::runtime {

std::string fp_exception_names(unsigned raised) {
  std::string names;
  const auto add = [&](unsigned kind, const char* name) {
    if ((raised & kind) != 0) names += concat(names.empty() ? "" : " and ", name);
  };
  add(kFpInvalid, "invalid operation");
  add(kFpDivisionByZero, "division by zero");
  add(kFpOverflow, "overflow");
  return names;
}

std::string to_string(const ExecutionPlace& place) {
  std::string text;
  const auto add = [&](const char* name, int64_t number) {
    if (number >= 0) text += concat(text.empty() ? "" : ", ", name, " ", number);
  };
  const auto add_first = [&](const char* name, int64_t before) {
    if (before >= 0) add(name, before + 1);
  };
  add_first("weight update", place.update);
  add_first("micro-batch", place.micro_batch);
  add("replica", place.replica);
  add("instance", place.instance);
  return text;
}

void throw_fp_exception(const std::string& what, const ExecutionPlace& place) {
  const std::string names = fp_exception_names(raised_fp_exceptions());
  clear_fp_exceptions();
  throw FloatingPointError(concat(what, ": floating-point exception (", names, ") in ",
                                  to_string(place),
                                  "; the model was compiled with fp_exceptions, which stops at the "
                                  "first one. Try a smaller learning rate",
                                  place.f16 ? " or a smaller loss scaling" : ""));
}

}  // namespace pando::runtime
