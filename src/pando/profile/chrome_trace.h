// Writes a trace as JSON in the Chrome trace event format, for chrome://tracing and Perfetto.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "pando/profile/trace.h"

namespace pando::profile {

struct ChromeTraceOptions {
  // The index of this instance in a job of several. It makes the process numbers of the file
  // unique, so that the files of all instances can be shown together.
  std::optional<int> instance;
  std::string run;  // the id of the run, which `otherData` has; empty: none
};

// Writes one process per device (and one for the host) and one thread per track; exchanges between
// instances, which may overlap, become asynchronous events. `otherData` says how many events were
// dropped and, if it is given, which run it was. A regular file gets its name only when it is
// complete; a device or a pipe is written to directly. Throws IoError and keeps the old file if the
// new one cannot be written.
void write_chrome_trace(const Trace& trace, const std::string& path,
                        const ChromeTraceOptions& options = {});

}  // namespace pando::profile
