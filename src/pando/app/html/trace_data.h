// A Chrome trace, thinned for a page that draws what every worker did and when.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "pando/base/json.h"

namespace pando::app {

inline constexpr size_t kMostDrawnEvents = 20000;

// The id of the run that wrote the trace; empty if the file does not say.
std::string run_of_trace(const std::filesystem::path& file);

// {names, kinds, tracks: [{name, device, events: [begin, duration, name, kind, stage, micro_batch,
// ...]}], shown, recorded}: six numbers per event, times in tenths of a microsecond, name and kind
// as places in the lists, stage 2 * s + 1 for backward and 2 * s for forward, -1 for none. `most`
// events from the beginning of the trace on, all tracks up to the same time. Null if the file has
// no events. Throws IoError if it cannot be read.
Json trace_data(const std::filesystem::path& file, size_t most = kMostDrawnEvents);

}  // namespace pando::app
