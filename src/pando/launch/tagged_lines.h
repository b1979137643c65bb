// Cuts what mpirun writes into the lines of the instances. Pieces of lines of several instances
// come mixed, each with the tag of its instance in front. SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "pando/launch/mpirun.h"

namespace pando::launch {

enum class Stream { out, err };

struct OutputLine {
  int instance = -1;  // -1: mpirun's own
  Stream stream = Stream::out;
  std::string text;  // without its end
};

// One for each of mpirun's two streams. Used by one thread.
class TaggedLines {
 public:
  using Take = std::function<void(const OutputLine&)>;
  TaggedLines(MpiKind kind, Stream stream, Take take)
      : kind_(kind), stream_(stream), take_(std::move(take)) {}

  void feed(std::string_view bytes);
  void finish();  // what has no line's end yet becomes lines

 private:
  void add(char c);
  void emit(int instance);

  MpiKind kind_;
  Stream stream_;
  Take take_;
  std::string held_;  // perhaps the beginning of a tag
  int instance_ = -1;
  std::map<int, std::string> lines_;  // so far, by instance
};

}  // namespace pando::launch
