// Ready-made callbacks.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pando/train/callback.h"

namespace pando {

// Saves the weights after every epoch to `path`, in which {epoch} becomes the number of epochs done
// ("out/epoch_{epoch}.h5": epoch_1.h5 first, as Keras counts in file names). The folder is made
// before training begins. In a job, only the first instance saves. Throws InvalidArgument for
// another {placeholder}.
std::shared_ptr<Callback> Checkpoint(std::string path);

// Functions that a fit calls; empty ones are not called.
struct CallbackFunctions {
  std::function<void(FitContext&)> train_begin;
  std::function<void(FitContext&)> train_end;
  std::function<void(FitContext&)> epoch_begin;
  std::function<void(FitContext&, const Logs&)> epoch_end;
  std::function<void(FitContext&)> execution_begin;
  std::function<void(FitContext&, const Logs&)> execution_end;
  std::function<void(FitContext&, const Logs&)> step_end;
};
std::shared_ptr<Callback> LambdaCallback(CallbackFunctions functions);

}  // namespace pando
