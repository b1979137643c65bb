// Reads any bytes as an ONNX model and imports its network. Expects a network or one of the errors
// that the headers name.
// SPDX-License-Identifier: MIT
#include <memory>

#include "pando/base/error.h"
#include "pando/onnx/import.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::onnx(Input input) {
  try {
    const onnx::ModelProto model =
        onnx::parse_model(std::make_shared<const std::vector<uint8_t>>(input.begin(), input.end()),
                          "fuzz", "/nowhere");
    onnx::import_network(model);
  } catch (const IoError&) {
  } catch (const InvalidArgument&) {
  } catch (const Unsupported&) {
  }
}
