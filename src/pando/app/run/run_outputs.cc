// SPDX-License-Identifier: MIT
#include "pando/app/run/run_outputs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

#include "pando/app/html/run_report.h"
#include "pando/app/report/input_record.h"
#include "pando/app/report/schedule_record.h"
#include "pando/app/run/pipeline_text.h"
#include "pando/base/new_file.h"
#include "pando/profile/trace_summary.h"

namespace pando::app {

std::unique_ptr<LoadRecorder> begin_load(const TrainingSetup& setup,
                                         const RunDirectory& directory) {
  if (!setup.instances.is_first()) return nullptr;
  try {
    return std::make_unique<LoadRecorder>(LoadRecorderOptions{
        .folder = directory.path(), .seconds_before = directory.seconds_before()});
  } catch (const ResourceError&) {
    return nullptr;
  }
}

namespace {

// Only for a profile, because it takes time; made-up samples would say nothing about the data.
std::optional<PreparationTime> preparation_of(const TrainingSetup& setup) {
  const DataFlags& data = setup.options.data;
  if (setup.options.profile.empty() || data.synthetic_data != SyntheticData::none) {
    return std::nullopt;
  }
  PreparationTime time = measure_preparation(setup.data.sets.train, setup.options.micro_batch_size);
  time.workers = data.pipeline_num_parallel;
  return time;
}

}  // namespace

void record_input(const TrainingSetup& setup, const RunDirectory& directory) {
  if (!setup.instances.is_first() || !setup.options.phases.training) return;
  InputRecord record;
  try {
    record = input_record(setup.data.sets.train, preparation_of(setup));
  } catch (const Error&) {  // a sample that cannot be read ends or skips where training reads it
    return;
  }
  try {
    write_input_record(directory.path(), record);
  } catch (const IoError& error) {
    setup.out << "warning: the report will show no samples: " << error.what() << std::endl;
  }
}

void end_load(const TrainingSetup& setup, LoadRecorder* load) {
  if (load == nullptr || load->stop().empty()) return;
  setup.out << "warning: the report will show a part of the load: " << load->stop() << std::endl;
}

void claim_profile(const std::filesystem::path& folder, const RunMark& run) {
  std::error_code error;  // a folder that cannot be made cannot get the mark either
  std::filesystem::create_directories(folder, error);
  if (mark_in(folder, kProfileMark).id != run.id) {
    for (const char* name :
         {"train_report.txt", "train_report.json", "train_trace.json", kScheduleFile}) {
      std::filesystem::remove(folder / name, error);
    }
  }
  write_mark(folder, run, kProfileMark);
}

void write_schedule(const TrainingSetup& setup, const profile::Trace& trace) {
  if (setup.stages() < 2) return;
  const profile::TraceSummary summary = profile::summarize(trace);
  int64_t visits = 0;  // of the first stage, by all workers
  for (const profile::StageSummary& stage : summary.stages) {
    if (stage.stage == 0 && !stage.backward) visits += stage.visits;
  }
  const int workers = setup.options.devices.cores_of_a_device(setup.options.threads);
  if (visits < workers) return;
  const auto seconds =
      stage_seconds(summary, {.stages = setup.stages(),
                              .workers = workers,
                              .micro_batches = std::max<int64_t>(visits / workers, 1)});
  const std::string text = schedule_record(setup.shape(), seconds).dump() + "\n";
  const std::filesystem::path path = std::filesystem::path(setup.options.profile) / kScheduleFile;
  write_new_file(path.string(), std::as_bytes(std::span(text)));
}

void write_report_page(const TrainingSetup& setup, const RunDirectory& directory) {
  if (!setup.options.logging.report || !setup.instances.is_first()) return;
  const std::filesystem::path path = directory.path() / "report.html";
  try {
    const std::string html = run_report_html({directory.path()});
    write_new_file(path.string(), std::as_bytes(std::span(html)));
    if (!setup.options.quiet) setup.out << "report written to " << path.string() << std::endl;
  } catch (const std::exception& error) {
    setup.out << "warning: --report: " << path.string() << " is not written: " << error.what()
              << std::endl;
  }
}

}  // namespace pando::app
