// Splits the output of mpirun into lines of the instances. mpirun mixes pieces of lines of several
// instances; each piece starts with the tag of its instance.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "pando/launch/mpirun.h"

namespace pando::launch {

enum class Stream { out, err };

struct OutputLine {
  int instance = -1;  // -1: written by mpirun itself
  Stream stream = Stream::out;
  std::string text;  // without newline
};

// Use one object for each of mpirun's two streams. Used by one thread.
class TaggedLines {
 public:
  using Take = std::function<void(const OutputLine&)>;
  TaggedLines(MpiKind kind, Stream stream, Take take)
      : kind_(kind), stream_(stream), take_(std::move(take)) {}

  void feed(std::string_view bytes);
  void finish();  // emits unfinished lines

 private:
  void add(char c);
  void emit(int instance);

  MpiKind kind_;
  Stream stream_;
  Take take_;
  std::string held_;  // perhaps the start of a tag
  int instance_ = -1;
  std::map<int, std::string> lines_;  // unfinished lines by instance
};

}  // namespace pando::launch
