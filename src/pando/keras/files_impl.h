// Functions that all readers of model files share.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "pando/base/json.h"
#include "pando/tensor/tensor.h"

namespace pando::keras {

// IoError names the place and `what` is not JSON.
Json parse_json(const std::string& text, const std::string& place, const std::string& what);

// 2 of "2.15.0"; throws Unsupported for versions that there are not.
int major_version(const std::string& version);

// All datasets of an HDF5 file by their paths ("layers/conv2d/vars/0"), except the optimizer's.
// Throws IoError if they take more bytes.
std::map<std::string, Tensor> variables_of(std::span<const uint8_t> content,
                                           const std::string& place, uint64_t most_bytes);

// The members of an object that are texts.
std::map<std::string, std::string> texts_of(const Json& object);

}  // namespace pando::keras
