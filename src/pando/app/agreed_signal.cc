// SPDX-License-Identifier: MIT
#include "pando/app/agreed_signal.h"

#include "pando/base/strings.h"

namespace pando::app {

AgreedSignal::AgreedSignal(const Instances& instances, const char* answer)
    : instances_(instances), own_(instances.is_first() ? answer : "") {}

int AgreedSignal::ask() {
  if (signal_ != 0) return signal_;
  const std::vector<std::string> all = instances_.gather(std::to_string(own_.received()));
  for (size_t i = 0; i < all.size() && signal_ == 0; ++i) {
    signal_ = static_cast<int>(parse_int(all[i]).value_or(0));
    instance_ = static_cast<int>(i);
  }
  return signal_;
}

std::string AgreedSignal::text() const {
  if (instances_.count() == 1) return concat("signal ", signal_);
  return concat("signal ", signal_, " to instance ", instance_);
}

}  // namespace pando::app
