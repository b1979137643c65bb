// SPDX-License-Identifier: MIT
#include "pando/app/job/agreed_signal.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::app {

namespace {

bool is_signal(int received) { return received != 0; }

}  // namespace

std::string stop_cause(std::span<const int> received) {
  const auto first = std::ranges::find_if(received, is_signal);
  PANDO_CHECK(first != received.end());
  std::string name = signal_name(*first);
  const bool is_only = std::ranges::count_if(received, is_signal) == 1;
  if (received.size() == 1 || !is_only) return name;
  return concat(name, " to instance ", first - received.begin());
}

AgreedSignal::AgreedSignal(const Instances& instances, const char* answer)
    : instances_(instances), own_(instances.is_first() ? answer : "") {}

int AgreedSignal::ask() {
  if (signal_ != 0) return signal_;
  const std::vector<int> all = all_received();
  const auto first = std::ranges::find_if(all, is_signal);
  if (first == all.end()) return 0;
  own_.expect_repetition();
  return signal_ = *first;
}

std::string AgreedSignal::text() const { return stop_cause(all_received()); }

std::vector<int> AgreedSignal::all_received() const {
  std::vector<int> all;
  for (const std::string& one : instances_.gather(std::to_string(own_.received()))) {
    all.push_back(static_cast<int>(parse_int(one).value_or(0)));
  }
  return all;
}

}  // namespace pando::app
