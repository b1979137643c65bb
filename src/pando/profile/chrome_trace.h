// Writes a trace as JSON in the Chrome trace event format, which chrome://tracing and Perfetto
// show. SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/profile/trace.h"

namespace pando::profile {

// One process per device (and one for the host), one thread per track; `otherData` says how many
// events were dropped. A regular file gets its name only when it is complete; a device or a pipe is
// written to directly. Throws IoError and leaves the old file when the new one cannot be written.
void write_chrome_trace(const Trace& trace, const std::string& path);

}  // namespace pando::profile
