// Reads any bytes as the model.json of a layers model of tfjs, with shards of 64 bytes, and imports
// its network. Expects a network or one of the errors that the headers name.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/keras/files.h"
#include "pando/keras/import.h"
#include "tests/fuzz/targets.h"

namespace {

class FewBytes : public pando::keras::ShardReader {
 public:
  std::vector<uint8_t> read(const std::string& /*name*/) const override {
    constexpr size_t kBytes = 64;
    return std::vector<uint8_t>(kBytes, 7);
  }
};

}  // namespace

void pando::fuzz::tfjs(Input input) {
  try {
    const Json model = Json::parse({reinterpret_cast<const char*>(input.data()), input.size()});
    const keras::ModelFile file = keras::parse_tfjs_model(model, FewBytes(), "fuzz");
    keras::import_network(file.config, file.major, *file.weights);
  } catch (const IoError&) {
  } catch (const InvalidArgument&) {
  } catch (const Unsupported&) {
  }
}
