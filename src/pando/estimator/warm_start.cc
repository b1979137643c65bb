// Initializes weights from an earlier model.
// SPDX-License-Identifier: MIT
#include <map>
#include <regex>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/estimator/estimator_impl.h"
#include "pando/estimator/run_model.h"
#include "pando/store/weights_file.h"

namespace pando::estimator {

namespace {

std::string file_of(const std::string& path, const Tell& tell) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(path, unknown)) return path;
  const std::optional<Checkpoint> newest = newest_checkpoint(path, tell);
  if (newest) return newest->path.string();
  throw IoError("warm start: the folder ", path, " has no readable checkpoint");
}

std::regex pattern_of(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw InvalidArgument("warm start: variables: expected a regular expression, got '", text,
                          "': ", error.what());
  }
}

}  // namespace

void warm_start(Model& model, const WarmStart& from, const Tell& tell) {
  const std::regex wanted = pattern_of(from.variables);
  const std::string path = file_of(from.path, tell);
  const store::WeightsFile file = store::read_weights_file(path);
  std::map<std::string, const Tensor*> saved;
  std::vector<std::string> known;
  for (const store::LayerWeights& layer : file.layers) {
    for (const store::NamedWeight& weight : layer.weights) {
      known.push_back(layer.layer + "/" + weight.name);
      saved[known.back()] = &weight.value;
    }
  }
  const std::vector<std::string> names = model.weight_names();
  for (const auto& entry : from.previous_names) {
    if (std::ranges::find(names, entry.first) == names.end()) {
      throw InvalidArgument("warm start: ", unknown_name_message("weight", entry.first, names));
    }
  }
  std::vector<Tensor> weights = model.get_weights();
  size_t taken = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!std::regex_search(names[i], wanted)) continue;
    const auto renamed = from.previous_names.find(names[i]);
    const std::string& previous = renamed == from.previous_names.end() ? names[i] : renamed->second;
    const auto found = saved.find(previous);
    if (found == saved.end()) {
      throw InvalidArgument(
          "warm start from ", path, ": ", unknown_name_message("weight", previous, known),
          "; use `variables` to choose weights and `previous_names` to map renamed ones");
    }
    check_shape(names[i], *found->second, weights[i], path);
    weights[i] = *found->second;
    ++taken;
  }
  if (taken == 0) {
    throw InvalidArgument("warm start: variables '", from.variables,
                          "' matches no weight of the network; it has ", join(names, ", "));
  }
  model.set_weights(weights);
  tell(concat("warm start: ", taken, " of ", names.size(), " weights from ", path));
}

}  // namespace pando::estimator
