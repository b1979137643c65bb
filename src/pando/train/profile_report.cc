// SPDX-License-Identifier: MIT
#include "pando/train/profile_report.h"

#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "pando/base/error.h"
#include "pando/compiler/report.h"
#include "pando/profile/chrome_trace.h"
#include "pando/profile/trace_summary.h"
#include "pando/store/atomic_file.h"
#include "pando/train/model_impl.h"

namespace pando {

namespace {

train::Mode mode_of(ProfiledProgram program) {
  switch (program) {
    case ProfiledProgram::training: return train::Mode::train;
    case ProfiledProgram::evaluation: return train::Mode::evaluate;
    case ProfiledProgram::prediction: return train::Mode::predict;
  }
  PANDO_CHECK(false, static_cast<int>(program));
}

void write_text(const std::string& path, const std::string& text) {
  store::replace_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace

ProfileReport Model::profile(const ProfileRequest& request) {
  const train::LoadedProgram& loaded =
      impl_->program(mode_of(request.program), request.batch_size, request.fields);
  ProfileReport report{.text = compiler::compile_report(loaded.program())};
  nlohmann::json json;
  if (request.trace != nullptr) {
    const profile::TraceSummary summary = profile::summarize(*request.trace);
    report.text += profile::to_text(summary);
    json["execution"] = {{"span_seconds", summary.span_seconds}};
  }
  report.json = json.dump(1) + "\n";
  return report;
}

ProfileFiles write_profile(Model& model, const std::string& folder, const std::string& name,
                           const ProfileRequest& request) {
  const ProfileReport report = model.profile(request);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError("profile: cannot make the folder '", folder, "': ", error.message());
  const std::string start = (std::filesystem::path(folder) / name).string();
  ProfileFiles files{.text = start + "_report.txt", .json = start + "_report.json"};
  write_text(files.text, report.text);
  write_text(files.json, report.json);
  if (request.trace != nullptr) {
    files.trace = start + "_trace.json";
    profile::write_chrome_trace(*request.trace, files.trace);
  }
  return files;
}

}  // namespace pando
