// SPDX-License-Identifier: MIT
#include "pando/launch/tagged_lines.h"

#include <optional>

#include "pando/base/strings.h"

namespace pando::launch {
namespace {

constexpr size_t kLongestLine = 1 << 20;  // longer lines are cut, to limit memory

struct Tag {
  size_t size = 0;  // 0: the tag is not complete
  int instance = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Matches the start of the text with a pattern of literal characters, and # for a number.
std::optional<Tag> match(std::string_view text, std::string_view pattern) {
  Tag tag;
  size_t at = 0;
  for (const char wanted : pattern) {
    if (at == text.size()) return Tag{};
    if (wanted != '#') {
      if (text[at++] != wanted) return std::nullopt;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && at - begin < 9 && is_digit(text[at])) ++at;
    if (at == begin) return std::nullopt;
    tag.instance = static_cast<int>(parse_int(text.substr(begin, at - begin)).value_or(0));
  }
  tag.size = at;
  return tag;
}

// Reads the tag at the start of the text; nothing if there is none.
std::optional<Tag> tag_at(std::string_view text, MpiKind kind, Stream stream) {
  if (kind == MpiKind::hydra) return match(text, "[1,#]<mpi>:");
  return match(text, stream == Stream::out ? "[1,#]<stdout>:" : "[1,#]<stderr>:");
}

}  // namespace

void TaggedLines::feed(std::string_view bytes) {
  const std::string text = std::exchange(held_, "") + std::string(bytes);
  for (size_t i = 0; i < text.size();) {
    // A tag may be inside a line: mpirun puts one before every piece that it read.
    const auto tag =
        text[i] == '[' ? tag_at(std::string_view(text).substr(i), kind_, stream_) : std::nullopt;
    if (tag && tag->size == 0) {
      held_ = text.substr(i);
      return;
    }
    if (tag) {
      instance_ = tag->instance;
      i += tag->size;
    } else {
      add(text[i++]);
    }
  }
}

void TaggedLines::add(char c) {
  std::string& line = lines_[instance_];
  if (c != '\n') line += c;
  if (c == '\n' || line.size() == kLongestLine) emit(instance_);
  if (c == '\n') instance_ = -1;
}

void TaggedLines::emit(int instance) {
  take_({instance, stream_, std::exchange(lines_[instance], "")});
}

void TaggedLines::finish() {
  for (const char c : std::exchange(held_, "")) add(c);
  for (const auto& [instance, line] : lines_) {
    if (!line.empty()) take_({instance, stream_, line});
  }
  lines_.clear();
}

}  // namespace pando::launch
