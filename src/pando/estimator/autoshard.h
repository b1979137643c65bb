// Cuts a network into shards that need as little memory as can be, for devices that hold one each.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/data/source.h"
#include "pando/nn/losses.h"
#include "pando/nn/network.h"
#include "pando/optim/optimizer.h"

namespace pando::estimator {

struct ShardRequest {
  int shards = 1;
  int64_t batch = 1;               // samples of a micro-batch
  std::vector<Field> fields = {};  // of the data
  Loss loss = "mse";
  Optimizer optimizer = SGD();  // whose slots count
};

// What a shard would hold, in bytes of f32.
struct ShardMemory {
  int64_t parameters = 0;  // weights and the optimizer's slots
  // Results of its layers that backward reads. What the data feed is not counted, nor what is gone
  // by the end of a forward pass.
  int64_t activations = 0;
  int64_t total() const { return parameters + activations; }
};

struct Sharding {
  std::vector<std::string> first_layers;  // of shards 1, 2, ...
  std::vector<ShardMemory> memory;        // of each shard
  std::vector<int> shard_of;              // each call, in the order of Network::stage_assignment()
};

// Candidates for a cut are edges of the forward graph whose removal leaves exactly two parts, one
// with the input and one with the output, unless a layer is called in both. Of all choices of
// shards - 1 of them: the one whose largest shard is smallest; then of the smallest variance; then
// the first. Throws InvalidArgument when there are fewer candidates than cuts, and for a network
// that has stages already.
Sharding choose_shards(const Network& network, const ShardRequest& request);

// "autosharding: shard 0 from the input (8.9 MiB), shard 1 from 'flatten' (9.2 MiB)"
std::string to_text(const Sharding& sharding);

// The network with its layers in the stages that choose_shards() chose; as it is for one shard.
Network shard(const Network& network, const Sharding& sharding);

// The choice itself: the indices at which parts 1, 2, ... of a row of costs begin. Requires:
// 1 <= parts <= costs.size().
std::vector<int> choose_cuts(const std::vector<int64_t>& costs, int parts);

}  // namespace pando::estimator
