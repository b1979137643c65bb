// The cost of the exchange between instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando::runtime {

// The figures of this instance, over the weight updates of an execution.
struct ExchangeFigures {
  int64_t bytes_sent = 0;
  double exposed_seconds = 0;  // in which the devices only waited for it

  void add(const ExchangeFigures& more) {
    bytes_sent += more.bytes_sent;
    exposed_seconds += more.exposed_seconds;
  }
};

}  // namespace pando::runtime
