// What lies where in the memory of a program, and from which call to which: worked out from the
// finished program, so that it can be shown and the memory plan checked by it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/compiler/program.h"

namespace pando::compiler {

std::string to_string(Region region);

// Values that share one piece of memory because each is a view of the one before, or was computed
// in its place. Of one slice; with parts, of all.
struct MemoryBlock {
  std::vector<const ir::Value*> values;
  Region region = Region::activations;
  int stage = 0;
  size_t offset = 0;
  size_t bytes = 0;
  // Numbers of calls: the one that writes it, -1 for what is fed before all, and the last that
  // needs it. Packed variables, gradients and statistics, which are kept, have all calls.
  int first = -1;
  int last = -1;

  bool lives_at(int call) const { return first <= call && call <= last; }
};

// The memory of one stage that serves one section after the other: activations and sums.
struct StageMap {
  int stage = 0;
  size_t bytes = 0;          // of both regions
  std::vector<size_t> live;  // by call; 0 in calls of other stages
  int peak_call = -1;        // the first with most live bytes
  size_t peak_bytes = 0;
};

struct MemoryMap {
  std::vector<MemoryBlock> blocks;  // by region, stage, offset and first call
  std::vector<StageMap> stages;
};

// Whether a region is free again after every section; all others are always live, though what is
// held for another section of a pipeline changes.
bool is_working(Region region);

MemoryMap memory_map(const Program& program);

// The blocks of the working memory of a stage that live at a call, largest first.
std::vector<const MemoryBlock*> live_at(const MemoryMap& map, int stage, int call);

struct PictureSize {
  int rows = 14;
  int columns = 80;
};

// "conv_pool 'conv2d' f32[16,13,13,32]": what a block holds, by the value it was made for.
std::string describe(const MemoryBlock& block);

// Working memory of a stage (upwards) over its calls (to the right), a letter for each of the
// largest blocks and a list of these. What looks free is free, and every letter of the list is
// in the picture. Empty for a stage without any.
std::string memory_picture(const Program& program, const MemoryMap& map, int stage,
                           PictureSize size = {});

}  // namespace pando::compiler
