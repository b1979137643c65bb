// Pieces of memory and their lifetimes, as plan-memory sees them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <unordered_map>

#include "pando/compiler/pass.h"

namespace pando::compiler {

// Times count two per node: node i runs at 2 i, and reads after node i happen at 2 i + 1.

// When the chains of tiles run. Their nodes take turns tile by tile, so each of them runs during
// the whole chain.
class ChainTimes {
 public:
  struct Chain {
    int first = 0;
    int last = 0;
    int64_t tiles = 1;
  };

  explicit ChainTimes(const CompileState& state) {
    std::unordered_map<const ir::Node*, int> times;
    int time = 0;
    for (const auto& node : state.graph.nodes()) {
      times[node.get()] = time;
      time += 2;
    }
    for (const TileChain& chain : state.chains) {
      const Chain range{times.at(chain.nodes.front()), times.at(chain.nodes.back()), chain.tiles};
      for (const ir::Node* node : chain.nodes) chains_[times.at(node)] = range;
    }
  }

  // The chain of the node that runs at a time; only the time itself if there is none.
  Chain at(int time) const {
    const auto found = chains_.find(time);
    return found == chains_.end() ? Chain{time, time} : found->second;
  }

 private:
  std::unordered_map<int, Chain> chains_;  // by the time of each node
};

struct Storage {
  size_t bytes = 0;
  bool sums = false;     // contribution to a sum: each slice has its own
  bool moments = false;  // holds a statistic, which is accumulated
  int first = 0;         // time of the write; -1 for a feed
  int last = 0;          // time of the last read
  int first_section = 0;
  int last_section = 0;
  int lowest_stage = 0;  // of all nodes that write or read it
  Region region = Region::activations;
  int completed = -1;  // for a gradient: number of the node that completes it
  size_t offset = 0;
  int64_t tiles = 1;  // the number of tiles that use it one after the other

  // What a node of a chain writes or reads lives as long as the chain. What only the chain needs
  // has room for one tile, unless the plan shares no memory.
  void follow(const ChainTimes& chains, bool share) {
    const ChainTimes::Chain writes = chains.at(first);
    const ChainTimes::Chain reads = chains.at(last);
    if (share && writes.tiles > 1 && writes.first == reads.first && !sums) {
      tiles = writes.tiles;
      bytes /= static_cast<size_t>(tiles);
    }
    first = writes.first;
    last = std::max({last, writes.last, reads.last});
  }
};

}  // namespace pando::compiler
