// Cuts a network into shards so that the largest needs as little memory as possible; each device
// holds one shard.
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
  Optimizer optimizer = SGD();  // its slots count as memory
};

// The memory of a shard, in bytes of f32.
struct ShardMemory {
  int64_t parameters = 0;  // weights and the optimizer's slots
  // Results of its layers that backward reads. Data fed to the network do not count, nor do values
  // that are free at the end of forward.
  int64_t activations = 0;
  int64_t total() const { return parameters + activations; }
};

struct Sharding {
  std::vector<std::string> first_layers;  // first layer of each of shards 1, 2, ...
  std::vector<ShardMemory> memory;        // of each shard
  std::vector<int> shard_of;  // shard of each call, in the order of Network::stage_assignment()
};

// Chooses the cuts of a network. Candidates are edges of the forward graph whose removal leaves
// exactly two parts, one with the input and one with the output, such that no layer is called in
// both. Chooses the shards - 1 candidates that make the largest shard smallest; if several choices
// do, the one with the smallest variance, and then the first. Throws InvalidArgument if
// there are fewer candidates than cuts, or if the network already has stages.
Sharding choose_shards(const Network& network, const ShardRequest& request);

// For example "autosharding: shard 0 from the input (8.9 MiB), shard 1 from 'flatten' (9.2 MiB)".
std::string to_text(const Sharding& sharding);

// The network with its layers in the stages that choose_shards() chose; unchanged for one shard.
Network shard(const Network& network, const Sharding& sharding);

// The algorithm of the choice: divides a row of costs into parts and returns the indices at which
// parts 1, 2, ... begin. Requires: 1 <= parts <= costs.size().
std::vector<int> choose_cuts(const std::vector<int64_t>& costs, int parts);

}  // namespace pando::estimator
