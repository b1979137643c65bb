// SPDX-License-Identifier: MIT
#include "pando/optim/optimizer.h"

#include "pando/base/error.h"

namespace pando {

Optimizer make_optimizer(const std::string& name) {
  if (name == "sgd") return SGD();
  if (name == "adam") return Adam();
  if (name == "adamw") return AdamW();
  if (name == "rmsprop") return RMSprop();
  if (name == "adadelta") return Adadelta();
  throw InvalidArgument(unknown_name_message("optimizer", name, optimizer_names()));
}

std::vector<std::string> optimizer_names() {
  return {"sgd", "adam", "adamw", "rmsprop", "adadelta"};
}

}  // namespace pando
