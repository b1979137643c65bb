// SPDX-License-Identifier: MIT
#include "pando/train/callbacks.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "pando/base/error.h"
#include "pando/comm/job.h"
#include "pando/train/model.h"

namespace pando {

namespace {

constexpr std::string_view kEpochField = "{epoch}";

std::string with_epoch(const std::string& path, int64_t number) {
  std::string result;
  size_t from = 0;
  for (size_t at = path.find(kEpochField); at != std::string::npos;
       at = path.find(kEpochField, from)) {
    result += path.substr(from, at - from) + std::to_string(number);
    from = at + kEpochField.size();
  }
  return result + path.substr(from);
}

class CheckpointCallback : public Callback {
 public:
  explicit CheckpointCallback(std::string path) : path_(std::move(path)) {
    if (path_.empty()) throw InvalidArgument("Checkpoint: expected a path, got an empty text");
    const std::string example = with_epoch(path_, 1);
    if (example.find_first_of("{}") != std::string::npos) {
      throw InvalidArgument("Checkpoint: path '", path_, "' has a placeholder other than {epoch}");
    }
  }

  // Makes the folder early, so that a fit that cannot save ends at once.
  void on_train_begin(FitContext& context) override {
    if (comm::current_job().is_first()) make_folder(context.epoch + 1);
  }
  void on_epoch_end(FitContext& context, const Logs&) override {
    if (!comm::current_job().is_first()) return;
    make_folder(context.epoch + 1);
    context.model->save_weights(with_epoch(path_, context.epoch + 1));
  }

 private:
  void make_folder(int64_t number) const {
    const std::filesystem::path folder =
        std::filesystem::path(with_epoch(path_, number)).parent_path();
    if (folder.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      throw IoError("Checkpoint: cannot make the folder '", folder.string(),
                    "': ", error.message());
    }
  }

  std::string path_;
};

template <typename Function, typename... Arguments>
void call(const Function& function, Arguments&... arguments) {
  if (function) function(arguments...);
}

class FunctionsCallback : public Callback {
 public:
  explicit FunctionsCallback(CallbackFunctions functions) : functions_(std::move(functions)) {}
  void on_train_begin(FitContext& context) override { call(functions_.train_begin, context); }
  void on_train_end(FitContext& context) override { call(functions_.train_end, context); }
  void on_epoch_begin(FitContext& context) override { call(functions_.epoch_begin, context); }
  void on_epoch_end(FitContext& context, const Logs& logs) override {
    call(functions_.epoch_end, context, logs);
  }
  void on_execution_begin(FitContext& context) override {
    call(functions_.execution_begin, context);
  }
  void on_execution_end(FitContext& context, const Logs& logs) override {
    call(functions_.execution_end, context, logs);
  }
  void on_step_end(FitContext& context, const Logs& logs) override {
    call(functions_.step_end, context, logs);
  }

 private:
  CallbackFunctions functions_;
};

}  // namespace

std::shared_ptr<Callback> Checkpoint(std::string path) {
  return std::make_shared<CheckpointCallback>(std::move(path));
}

std::shared_ptr<Callback> LambdaCallback(CallbackFunctions functions) {
  return std::make_shared<FunctionsCallback>(std::move(functions));
}

}  // namespace pando
