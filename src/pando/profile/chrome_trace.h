// Writes a trace as JSON in the Chrome trace event format, which chrome://tracing and Perfetto
// show. SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "pando/profile/trace.h"

namespace pando::profile {

struct ChromeTraceOptions {
  // Of a job of several: tells its processes from those of others, so that the files of all can be
  // shown together.
  std::optional<int> instance;
};

// One process per device (and one for the host), one thread per track; what goes on at the same
// time between instances is shown as asynchronous. `otherData` says how many events were dropped. A
// regular file gets its name only when it is complete; a device or a pipe is written to directly.
// Throws IoError and leaves the old file when the new one cannot be written.
void write_chrome_trace(const Trace& trace, const std::string& path,
                        const ChromeTraceOptions& options = {});

}  // namespace pando::profile
