// Shows what lies where in the memory of a program, and from which call to which. It is computed
// from the finished program, so that it can be printed and used to check the memory plan.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/compiler/program.h"

namespace pando::compiler {

std::string to_string(Region region);

// Values that share one piece of memory because each is a view of the one before, or was computed
// in place. For one slice; with parts, for all parts.
struct MemoryBlock {
  std::vector<const ir::Value*> values;
  Region region = Region::activations;
  int stage = 0;
  size_t offset = 0;
  size_t bytes = 0;
  // Numbers of calls: the call that writes the block (-1 for values fed before all calls), and the
  // last call that needs it. Gradients and statistics are kept, so they live in all calls. Packed
  // variables live to the last call, and what only the prologue reads to the end of its readers.
  int first = -1;
  int last = -1;

  bool lives_at(int call) const { return first <= call && call <= last; }
};

// The working memory of one stage, reused by one section after the other: activations and sums.
struct StageMap {
  int stage = 0;
  size_t bytes = 0;          // of both regions together
  std::vector<size_t> live;  // by call; 0 in calls of other stages
  int peak_call = -1;        // the first call with the most live bytes
  size_t peak_bytes = 0;
};

struct MemoryMap {
  std::vector<MemoryBlock> blocks;  // by region, stage, offset and first call
  std::vector<StageMap> stages;
};

// Whether a region is free again after every section. All other regions are always live, although
// the contents of the held regions change.
bool is_working(Region region);

MemoryMap memory_map(const Program& program);

// The blocks of the working memory of a stage that live at a call, largest first.
std::vector<const MemoryBlock*> live_at(const MemoryMap& map, int stage, int call);

struct PictureSize {
  int rows = 14;
  int columns = 80;
};

// A text for a block, from the value it was made for: "conv_pool 'conv2d' f32[16,13,13,32]".
std::string describe(const MemoryBlock& block);

// Draws the working memory of a stage (upwards) over its calls (to the right), with a letter for
// each of the largest blocks and a legend. A cell that looks free is completely free, and every
// letter of the legend is in the picture. Empty for a stage without working memory.
std::string memory_picture(const Program& program, const MemoryMap& map, int stage,
                           PictureSize size = {});

}  // namespace pando::compiler
