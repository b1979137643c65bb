// The picture of memory over calls. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pando/base/strings.h"
#include "pando/compiler/memory_map.h"

namespace pando::compiler {

namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOP";
constexpr char kFree = '.';
constexpr char kSmall = '+';

// A block where it lies when the region of sums follows that of activations.
struct Box {
  const MemoryBlock* block;
  size_t begin;
  size_t end;
  char letter = kSmall;
};

std::vector<Box> boxes_of(const Program& program, const MemoryMap& map, int stage) {
  const size_t sums = program.memory().stages[static_cast<size_t>(stage)].activations;
  std::vector<Box> boxes;
  for (const MemoryBlock& block : map.blocks) {
    if (block.stage != stage || !is_working(block.region) || block.bytes == 0) continue;
    const size_t begin = block.offset + (block.region == Region::sums ? sums : 0);
    boxes.push_back({&block, begin, begin + block.bytes});
  }
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Box& a, const Box& b) { return a.block->bytes > b.block->bytes; });
  for (size_t i = 0; i < std::min(boxes.size(), kLetters.size()); ++i) {
    boxes[i].letter = kLetters[i];
  }
  return boxes;
}

std::vector<int> calls_of(const Program& program, int stage) {
  std::vector<int> calls;
  for (size_t i = 0; i < program.calls().size(); ++i) {
    const int section = program.calls()[i].section;
    if (section < 0 || program.sections()[static_cast<size_t>(section)].stage != stage) continue;
    calls.push_back(static_cast<int>(i));
  }
  return calls;
}

// The letter of the block that covers most of [begin, end) at a call.
char cell(const std::vector<Box>& boxes, int call, double begin, double end) {
  double most = 0;
  double covered = 0;
  char letter = kFree;
  for (const Box& box : boxes) {
    if (!box.block->lives_at(call)) continue;
    const double overlap = std::min(static_cast<double>(box.end), end) -
                           std::max(static_cast<double>(box.begin), begin);
    if (overlap <= 0) continue;
    covered += overlap;
    if (overlap <= most) continue;
    most = overlap;
    letter = box.letter;
  }
  return covered < 0.5 * (end - begin) ? kFree : letter;
}

// Of those that the picture shows.
std::string legend(const std::vector<Box>& boxes, const std::string& picture) {
  std::string text;
  size_t others = 0;
  for (const Box& box : boxes) {
    if (box.letter == kSmall || picture.find(box.letter) == std::string::npos) {
      ++others;
      continue;
    }
    const MemoryBlock& block = *box.block;
    const std::string calls = fmt::format("{}-{}", std::max(block.first, 0), block.last);
    text += fmt::format("    {} {:>10}  calls {:<9} {}\n", box.letter,
                        human_bytes(static_cast<double>(block.bytes)), calls, describe(block));
  }
  if (others > 0) text += fmt::format("    {} {} smaller blocks\n", kSmall, others);
  return text;
}

}  // namespace

std::string memory_picture(const Program& program, const MemoryMap& map, int stage,
                           PictureSize size) {
  const std::vector<Box> boxes = boxes_of(program, map, stage);
  const std::vector<int> calls = calls_of(program, stage);
  const auto bytes = static_cast<double>(map.stages[static_cast<size_t>(stage)].bytes);
  if (boxes.empty() || calls.empty()) return "";
  // Few calls are wide, many share a column, which shows the first of them.
  const auto columns = static_cast<size_t>(size.columns);
  const size_t wide = std::max<size_t>(columns / calls.size(), 1);
  const size_t shown = std::min(calls.size(), columns);
  const double step = bytes / size.rows;
  std::string picture;
  for (int row = size.rows - 1; row >= 0; --row) {
    std::string cells;
    for (size_t column = 0; column < shown; ++column) {
      const int call = calls[column * calls.size() / shown];
      cells += std::string(wide, cell(boxes, call, step * row, step * (row + 1)));
    }
    picture += cells + "\n";
  }
  std::string text;
  for (int row = 0; row < size.rows; ++row) {
    const auto length = shown * wide;
    text += fmt::format("{:>12} |{}|\n", human_bytes(step * (size.rows - row)),
                        picture.substr(static_cast<size_t>(row) * (length + 1), length));
  }
  const std::string first = fmt::format("call {}", calls.front());
  const std::string last = fmt::format("{}", calls.back());
  const size_t width = std::max(shown * wide, first.size() + last.size() + 1);
  text += fmt::format("{:>12}  {}{:>{}}\n", "", first, last, width - first.size());
  return text + legend(boxes, picture);
}

}  // namespace pando::compiler
