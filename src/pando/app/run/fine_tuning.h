// What a run does with a network that is trained already: which weights it takes, which layers it
// freezes, how fast the classifier learns.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pando/app/flags/train_options.h"
#include "pando/train/model.h"

namespace pando::app {

// The layers that --freeze names, of a network without the layers that prepare samples on the
// device. Throws UsageError.
std::vector<std::string> frozen_layers(const Network& network, const TuningFlags& flags);

// The layers with weights that the file of --model declares as not trainable, unless --freeze is
// given; a new classifier is trained. Throws UsageError if no other layer has weights.
std::vector<std::string> layers_frozen_by_file(const Network& network, const TrainOptions& options);

// The last layer whose result cannot change while these layers are frozen, and through which all
// others take it; empty: there is none. `prepares` are layers without weights before the network.
std::string feature_layer(const Network& network, const std::vector<std::string>& frozen,
                          const std::vector<std::string>& prepares);

// Factors on the learning rate for --head-learning-rate. Throws UsageError.
std::map<std::string, double> head_rates(const Network& network, const TuningFlags& flags,
                                         double learning_rate);

// Gives the model the weights of --model FILE, except those of a new classifier.
void take_file_weights(Model& model, const TrainOptions& options);

// Loads --weights as the flags say; calls `tell` with a line about each layer that was not taken.
// Throws UsageError if a layer other than a new classifier was not taken and --by-name is not
// given.
LoadReport load_initial_weights(Model& model, const TrainOptions& options,
                                const std::function<void(const std::string&)>& tell);

}  // namespace pando::app
