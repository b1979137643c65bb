// Functions that all readers of model files share.
// SPDX-License-Identifier: MIT
#pragma once

#include <iterator>
#include <map>
#include <string>

#include "pando/base/error.h"
#include "pando/train/load_options.h"

namespace pando {

// Imports a network; errors begin with the path.
template <typename Import>
auto imported_from(const std::string& path, const Import& import) {
  const auto named = [&](const Error& error) {
    const std::string text = error.what();
    return text.starts_with(path) ? text : concat(path, ": ", text);
  };
  try {
    return import();
  } catch (const IoError& error) {
    throw IoError(named(error));
  } catch (const Unsupported& error) {
    throw Unsupported(named(error));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(named(error));
  }
}

// A model of an imported network, whose weights it takes.
template <typename Imported>
Model model_of_import(Imported& imported, const LoadModelOptions& options) {
  std::map<std::string, Tensor> weights(std::make_move_iterator(imported.weights.begin()),
                                        std::make_move_iterator(imported.weights.end()));
  return Model(imported.network, std::move(weights), options.model);
}

}  // namespace pando
