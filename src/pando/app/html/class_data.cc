// SPDX-License-Identifier: MIT
#include "pando/app/html/class_data.h"

#include "pando/app/report/class_record.h"
#include "pando/app/report/class_report.h"
#include "pando/app/report/input_record.h"
#include "pando/app/report/segmentation_record.h"
#include "pando/app/report/target_report.h"
#include "pando/base/control_group.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/wire/base64.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostRecordBytes = 4 << 20;  // nobody else's large file gets into a page

// Null if there is no such file, or none of a run.
Json record_of(RunRecord& run, const char* name) {
  const fs::path path = run.folder / name;
  if (!path_exists(path)) return nullptr;
  try {
    const uintmax_t bytes = fs::file_size(path);
    if (bytes > kMostRecordBytes) {
      throw IoError("expected at most ", kMostRecordBytes, " bytes, got ", bytes);
    }
    Json record = Json::parse(read_system_file(path));
    record.get<int>("version");
    return record;
  } catch (const IoError& error) {
    run.problems.push_back(concat(path.string(), ": left out: ", error.what()));
  } catch (const fs::filesystem_error& error) {
    run.problems.push_back(concat(path.string(), ": left out: ", error.what()));
  }
  return nullptr;
}

// The file as a data URL; null if there is none.
Json picture_url(RunRecord& run, const char* name) {
  const fs::path path = run.folder / name;
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (error) return nullptr;
  if (bytes > kMostRecordBytes) {
    run.problems.push_back(concat(path.string(), ": left out: is too large for a page"));
    return nullptr;
  }
  return "data:image/png;base64," + wire::base64_encode(read_system_file(path));
}

// What a validation leaves for the page.
struct TaskFiles {
  const char* record;
  const char* pictures;
};

TaskFiles files_of(const Task& task) {
  switch (task.answers) {
    case AnswerKind::numbers: return {kTargetRecordFile, ""};
    case AnswerKind::pixels: return {kSegmentationRecordFile, kSegmentationSamplesFile};
    case AnswerKind::classes:
    case AnswerKind::labels: break;
  }
  return {kClassRecordFile, kClassSamplesFile};
}

}  // namespace

Json class_data(RunRecord& run) {
  const TaskFiles files = files_of(run.task());
  Json record = record_of(run, files.record);
  if (record.is_null()) return record;
  record["task"] = run.task().name;
  if (const Json* shown = record.find("shown"); shown != nullptr && shown->is_object()) {
    Json sheet = picture_url(run, files.pictures);
    if (sheet.is_null()) {
      record["shown"] = nullptr;
    } else {
      record["shown"]["sheet"] = std::move(sheet);
    }
  }
  return record;
}

Json input_data(RunRecord& run) {
  Json record = record_of(run, kInputFile);
  if (record.is_null()) return record;
  record["sheet"] = picture_url(run, kInputPictures);
  const fs::path names = run.folder / "class_names.txt";
  if (path_exists(names)) record["names"] = parse_class_names(read_system_file(names));
  return record;
}

}  // namespace pando::app
