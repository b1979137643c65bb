// Which field of the data feeds which input of a network, and which fields hold the labels and the
// weights of samples for which output.
//
// Fields are found by name: those of the inputs and of the outputs, "sample_weight" for all
// outputs, "sample_weight/NAME" for one. If there is one input of features, it may also be the
// first field, and the labels of a single output may also be "y" or the second field; then the
// third may be the weight of the sample.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/data/source.h"
#include "pando/nn/losses.h"
#include "pando/nn/network.h"

namespace pando::train {

struct Wiring {
  struct Output {
    int labels = -1;   // the place of a field; -1: there is none
    int weights = -1;  // likewise
  };
  std::vector<int> inputs;  // per input of the network: the place of its field; -1: there is none
  std::vector<Output> outputs;  // per output of the network

  // The fields with weights, each once.
  std::vector<int> weights() const;
  // The fields that decide whether a row is a sample: one whose weights are all 0 is padding. Empty
  // if every row is a sample, because an output that counts has no weights. `counts`, per output:
  // it has a loss or a metric.
  std::vector<int> deciding_weights(const std::vector<bool>& counts) const;
};

// Finds the fields; what is missing has place -1.
Wiring wire(const Network& network, const std::vector<Field>& fields);

// Throws InvalidArgument, which names both sides, if an input of features has no field or one of
// another type.
void check_inputs(const Network& network, const std::vector<Field>& fields);

// Throws InvalidArgument if labels are missing or do not fit their loss, or if a field is of no use
// for the network, which would be trained without it.
void check_labels(const Network& network, const std::vector<Field>& fields, const Losses& losses);

// The names of feeds in graphs.
std::string label_feed(const Network& network, size_t output);
std::string weight_feed(const Wiring& wiring, const Network& network, size_t output);

}  // namespace pando::train
