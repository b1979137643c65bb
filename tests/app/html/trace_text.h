// A trace as our programs write it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando::app {

// A trace of two workers whose last line is cut off.
inline std::string trace_text(int events) {
  std::string text =
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"device 0"}},)"
      "\n";
  for (int i = 0; i < events; ++i) {
    text += R"({"ph":"X","pid":0,"tid":)" + std::to_string(1 + i * 2 / events) +
            R"(,"name":"conv <b>","cat":"op","ts":)" + std::to_string(i % (events / 2)) +
            R"(.250,"dur":0.500,"args":{"stage":1,"micro_batch":3,"pass":"backward"}},)" + "\n";
  }
  return text + "{\"ph\":\"X\",\"half\n";
}

}  // namespace pando::app
