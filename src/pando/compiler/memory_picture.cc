// Draws the picture of memory over calls.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/core.h>

#include "pando/base/strings.h"
#include "pando/compiler/memory_map.h"

namespace pando::compiler {

namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOP";
constexpr char kFree = '.';
constexpr char kSmall = '+';

// A block with its position when the region of sums follows the region of activations.
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

// A grid of memory over calls. With few calls a call is several columns wide; with many, several
// calls share a column, which shows the blocks that live at any of them.
class Picture {
 public:
  // Boxes that get no cell lose their letter, so that the others have the first letters of the
  // alphabet.
  Picture(std::vector<Box>& boxes, const std::vector<int>& calls, double bytes, PictureSize size)
      : calls_(calls),
        rows_(static_cast<size_t>(size.rows)),
        columns_(std::min(calls.size(), static_cast<size_t>(size.columns))),
        wide_(std::max<size_t>(static_cast<size_t>(size.columns) / calls.size(), 1)),
        step_(bytes / size.rows),
        cells_(rows_, std::string(columns_, kFree)) {
    for (size_t row = 0; row < rows_; ++row) {
      for (size_t column = 0; column < columns_; ++column) {
        cells_[row][column] = largest(boxes, row, column);
      }
    }
    for (const Box& box : boxes) {
      if (box.letter != kSmall && count(box.letter) == 0) squeeze_in(box);
    }
    size_t shown = 0;
    for (Box& box : boxes) {
      if (box.letter == kSmall) continue;
      const char now = count(box.letter) > 0 ? kLetters[shown++] : kSmall;
      for (std::string& row : cells_) std::replace(row.begin(), row.end(), box.letter, now);
      box.letter = now;
    }
  }

  // Row 0 is at the bottom.
  std::string line(size_t row) const {
    std::string text;
    for (const char letter : cells_[row]) text += std::string(wide_, letter);
    return text;
  }
  size_t width() const { return columns_ * wide_; }
  double top(size_t row) const { return step_ * static_cast<double>(row + 1); }

 private:
  std::ptrdiff_t count(char letter) const {
    std::ptrdiff_t sum = 0;
    for (const std::string& row : cells_) sum += std::count(row.begin(), row.end(), letter);
    return sum;
  }

  bool lives_in(const Box& box, size_t column) const {
    const size_t first = column * calls_.size() / columns_;
    const size_t last = (column + 1) * calls_.size() / columns_ - 1;
    return box.block->first <= calls_[last] && calls_[first] <= box.block->last;
  }

  double overlap(const Box& box, size_t row) const {
    return std::min(static_cast<double>(box.end), top(row)) -
           std::max(static_cast<double>(box.begin), step_ * static_cast<double>(row));
  }

  // The letter of the block that covers most of a cell. A cell looks free only if nothing covers
  // it.
  char largest(const std::vector<Box>& boxes, size_t row, size_t column) const {
    double most = 0;
    char letter = kFree;
    for (const Box& box : boxes) {
      const double covered = overlap(box, row);
      if (covered <= most || !lives_in(box, column)) continue;
      most = covered;
      letter = box.letter;
    }
    return letter;
  }

  // For a block that other blocks hide everywhere: gives it one cell, taken from a block that has
  // more than one.
  void squeeze_in(const Box& box) {
    for (size_t row = 0; row < rows_; ++row) {
      if (overlap(box, row) <= 0) continue;
      for (size_t column = 0; column < columns_; ++column) {
        char& letter = cells_[row][column];
        if (!lives_in(box, column) || (letter != kSmall && count(letter) < 2)) continue;
        letter = box.letter;
        return;
      }
    }
  }

  const std::vector<int>& calls_;
  size_t rows_;
  size_t columns_;
  size_t wide_;
  double step_;
  std::vector<std::string> cells_;
};

std::string legend(const std::vector<Box>& boxes) {
  std::string text;
  size_t others = 0;
  for (const Box& box : boxes) {
    if (box.letter == kSmall) {
      ++others;
      continue;
    }
    const MemoryBlock& block = *box.block;
    const std::string calls = fmt::format("{}-{}", std::max(block.first, 0), block.last);
    text += fmt::format("    {} {:>10}  calls {:<9} {}\n", box.letter,
                        human_bytes(static_cast<double>(block.bytes)), calls, describe(block));
  }
  if (others > 0)
    text += fmt::format("    {} {} other block{}\n", kSmall, others, others == 1 ? "" : "s");
  return text;
}

}  // namespace

std::string memory_picture(const Program& program, const MemoryMap& map, int stage,
                           PictureSize size) {
  std::vector<Box> boxes = boxes_of(program, map, stage);
  const std::vector<int> calls = calls_of(program, stage);
  const auto bytes = static_cast<double>(map.stages[static_cast<size_t>(stage)].bytes);
  if (boxes.empty() || calls.empty()) return "";
  const Picture picture(boxes, calls, bytes, size);
  std::string text;
  for (auto row = static_cast<size_t>(size.rows); row-- > 0;) {
    text += fmt::format("{:>12} |{}|\n", human_bytes(picture.top(row)), picture.line(row));
  }
  const std::string first = fmt::format("call {}", calls.front());
  const std::string last = fmt::format("{}", calls.back());
  const size_t width = std::max(picture.width(), first.size() + last.size() + 1);
  text += fmt::format("{:>12}  {}{:>{}}\n", "", first, last, width - first.size());
  return text + legend(boxes);
}

}  // namespace pando::compiler
