// Bodies of the Open Inference Protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/http/message.h"
#include "pando/rest/json_input.h"

namespace pando::rest {

struct OipOutput {
  std::string name;
  std::optional<bool> is_binary;
};

struct OipBody {
  std::optional<std::string> id;
  bool binary_outputs = false;  // of outputs that do not say
  std::optional<int64_t> timeout_us;
  std::vector<serve::InputTensor> inputs;
  std::vector<OipOutput> outputs;  // empty: all
};

// `json_bytes` of the body are JSON, binary tensors follow. Tensors point into the body and into
// `memory`. Throws InvalidArgument.
OipBody parse_oip_body(std::string_view body, size_t json_bytes, InputMemory& memory);

// Throws InvalidArgument if an output has no form in JSON.
http::Response oip_response(const serve::InferResponse& response, const OipBody& body);
std::string oip_metadata(const serve::Servable& servable, const std::vector<int64_t>& versions);

std::string_view oip_type(serve::ElementType type);  // "FP32"
std::optional<serve::ElementType> parse_oip_type(std::string_view name);

}  // namespace pando::rest
