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
  int64_t batch = 1;          // samples of a micro-batch
  std::vector<Field> fields;  // of the data
  Loss loss = "mse";
  Optimizer optimizer;  // whose slots count
};

// What a shard would hold, in bytes.
struct ShardMemory {
  int64_t parameters = 0;   // weights and the optimizer's slots
  int64_t activations = 0;  // kept for backward
  int64_t total() const { return parameters + activations; }
};

struct Sharding {
  std::vector<std::string> first_layers;  // of shards 1, 2, ...
  std::vector<ShardMemory> memory;        // of each shard
};

// Candidates for a cut are edges of the forward graph whose removal leaves exactly two parts, one
// with the input and one with the output. Of all choices of shards - 1 of them: the one whose
// largest shard is smallest; then of the smallest variance; then the first. Throws InvalidArgument
// when there are fewer candidates than cuts.
Sharding choose_shards(const Network& network, const ShardRequest& request);

// The network with its layers in the stages that choose_shards() chose.
Network shard(const Network& network, const ShardRequest& request);

}  // namespace pando::estimator
