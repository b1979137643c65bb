// Shows the progress of a download: a bar that is redrawn on a terminal, one line for each file
// elsewhere.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace pando::fetch {

struct ProgressLineOptions {
  std::ostream* out = nullptr;  // null: prints nothing
  bool is_terminal = false;
  std::function<double()> clock;  // seconds; steady time by default
};

// Handles one file at a time: begin(), update() whenever bytes arrive, then end() or note(). Used
// by one thread.
class ProgressLine {
 public:
  explicit ProgressLine(ProgressLineOptions options);

  // `done` bytes of `total` are here from an earlier fetch.
  void begin(const std::string& name, int64_t done, int64_t total);
  void update(int64_t done);
  // The server starts over: the bytes received before are lost.
  void restart() { first_ = done_ = 0; }
  // The file is complete.
  void end();
  // Writes a line of its own, below the bar if there is one.
  void note(const std::string& text);

 private:
  void draw(double now);

  ProgressLineOptions options_;
  std::string name_;
  double began_ = 0;
  double drawn_ = 0;
  int64_t first_ = 0;  // bytes of an earlier download
  int64_t done_ = 0;
  int64_t total_ = 0;
  bool on_line_ = false;  // the cursor is on the line of a bar
};

// "34 s", "2:05 min", "1:02 h"
std::string duration_text(double seconds);

}  // namespace pando::fetch
