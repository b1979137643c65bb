// Reports on traced runs: their numbers agree with each other, whatever the division of the work.
#include "pando/train/profile_report.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "pando/zoo/zoo.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

using nlohmann::json;

ProfileRequest request_of(int64_t batch, const profile::Trace* trace = nullptr) {
  return {.batch_size = batch, .fields = image_data(1).fields(), .trace = trace, .peak_seconds = 0};
}

double sum_of(const json& rows, const std::string& key) {
  double sum = 0;
  for (const json& row : rows) sum += row.at(key).get<double>();
  return sum;
}

// Blocks of one region that are live at the same time do not overlap, and the peak is the largest
// sum.
void expect_sound_memory(const json& memory) {
  const json& blocks = memory.at("blocks");
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t j = i + 1; j < blocks.size(); ++j) {
      const json& a = blocks[i];
      const json& b = blocks[j];
      if (a["region"] != b["region"] || a["stage"] != b["stage"]) continue;
      if (a["first_call"] > b["last_call"] || b["first_call"] > a["last_call"]) continue;
      const int64_t a_end = a["offset"].get<int64_t>() + a["bytes"].get<int64_t>();
      const int64_t b_end = b["offset"].get<int64_t>() + b["bytes"].get<int64_t>();
      EXPECT_TRUE(a_end <= b["offset"].get<int64_t>() || b_end <= a["offset"].get<int64_t>())
          << a << " and " << b;
    }
  }
  for (const json& stage : memory.at("stages")) {
    const auto live = stage["live_bytes"].get<std::vector<int64_t>>();
    const auto peak = stage["peak_bytes"].get<int64_t>();
    EXPECT_EQ(peak, *std::max_element(live.begin(), live.end()));
    EXPECT_EQ(peak, live[stage["peak_call"].get<size_t>()]);
    EXPECT_LE(peak, stage["working_bytes"].get<int64_t>());
  }
}

void expect_sound_compilation(const json& compilation) {
  double flops = 0;
  for (const json& op : compilation.at("ops")) flops += op["flops"].get<double>();
  const double samples = compilation["division"]["samples_of_a_slice"].get<double>();
  EXPECT_NEAR(flops / samples, compilation["flops_per_sample"]["all"].get<double>(), 1e-6 * flops);
  const json& layers = compilation.at("layers");
  EXPECT_NEAR(sum_of(layers, "forward_flops") + sum_of(layers, "backward_flops"), flops,
              1e-6 * flops);
  expect_sound_memory(compilation.at("memory"));
}

// Ops add up to their part of the step, phases to all the time of all workers.
void expect_sound_execution(const json& execution) {
  const json& phases = execution.at("phase_seconds");
  for (const std::string part : {"forward", "backward"}) {
    double seconds = 0;
    double flops = 0;
    for (const json& op : execution.at("ops")) {
      if (op["part"] != part) continue;
      seconds += op["seconds"].get<double>();
      flops += op["flops"].get<double>();
      EXPECT_GT(op["times"].get<int64_t>(), 0);
    }
    EXPECT_NEAR(seconds, phases[part].get<double>(), 1e-9) << part;
    EXPECT_NEAR(flops, execution[part]["flops"].get<double>(), 1) << part;
    double layers = 0;
    for (const json& layer : execution.at("layers")) layers += layer[part]["seconds"].get<double>();
    EXPECT_NEAR(layers, seconds, 1e-9) << part;
  }
  double all = 0;
  for (const json& seconds : phases) all += seconds.get<double>();
  const double workers = execution["workers"].get<double>();
  const double span = execution["span_seconds"].get<double>();
  EXPECT_NEAR(all, span * workers, 1e-3 * all);
  EXPECT_EQ(sum_of(execution.at("devices"), "workers"), workers);
  EXPECT_GT(execution["busy_share"].get<double>(), 0);
  EXPECT_LE(execution["busy_share"].get<double>(), 1);
}

// The report on a fit of `updates` weight updates, in JSON.
json report_of(Model& model, int64_t batch, int64_t samples, profile::Trace& trace) {
  model.fit(image_data(samples), {.batch_size = batch, .trace = &trace, .verbose = 0});
  json report = json::parse(model.profile(request_of(batch, &trace)).json);
  expect_sound_compilation(report.at("compilation"));
  expect_sound_execution(report.at("execution"));
  return report;
}

CompileOptions with_threads(int threads) {
  CompileOptions options = classifier();
  options.execution.threads = threads;
  return options;
}

TEST(ProfileReport, NumbersOfATrainingRunAgree) {
  Model model = compiled(rich_cnn(), with_threads(2));
  profile::Trace trace(kProfileTrace);
  const json report = report_of(model, 8, 40, trace);
  EXPECT_EQ(report["program"], "training");
  const json& execution = report["execution"];
  EXPECT_EQ(execution["steps"], 5);
  EXPECT_EQ(execution["samples"], 40);
  EXPECT_EQ(execution["updates"], 5);
  EXPECT_EQ(execution["workers"], 2);
  EXPECT_EQ(execution["dropped_events"], 0);
  EXPECT_EQ(execution["other_program_seconds"], 0);
  EXPECT_FALSE(execution.contains("peak"));
  EXPECT_GT(report["memory"]["weights_bytes"].get<int64_t>(), 0);
  EXPECT_GT(report["memory"]["moving_statistics_bytes"].get<int64_t>(), 0);
  EXPECT_GT(execution["update"]["bytes"].get<double>(), 0);
}

// Every op ran once per slice and step.
TEST(ProfileReport, OpsAreCountedAndWeighed) {
  Model model = compiled(small_cnn(), with_threads(1));
  profile::Trace trace(kProfileTrace);
  const json report = report_of(model, 4, 24, trace);
  for (const json& op : report["execution"]["ops"]) EXPECT_EQ(op["times"], 6) << op;
  const double flops = report["compilation"]["flops_per_sample"]["all"].get<double>();
  const json& execution = report["execution"];
  EXPECT_NEAR(
      execution["forward"]["flops"].get<double>() + execution["backward"]["flops"].get<double>(),
      24 * flops, 1);
}

// Weights and momentum are read and written, the gradient of each of two slices is read.
TEST(ProfileReport, WeightUpdatesAreWeighed) {
  CompileOptions options = with_threads(2);
  options.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9});
  Model model = compiled(Sequential({6, 6, 1}, {Flatten(), Dense({.units = 16, .use_bias = false}),
                                                Dense({.units = 3, .activation = "softmax"})}),
                         options);
  model.set_trainable("dense_1", false);
  profile::Trace trace(kProfileTrace);
  const json report = report_of(model, 4, 12, trace);
  const double kernel = sizeof(float) * 36 * 16;
  EXPECT_EQ(report["execution"]["update"]["bytes"], 3 * (4 + 2) * kernel);
  const json& memory = report["memory"];
  EXPECT_EQ(memory["optimizer_bytes"].get<size_t>(), memory["weights_bytes"].get<size_t>());
  size_t total = memory["weights_bytes"].get<size_t>() + memory["optimizer_bytes"].get<size_t>() +
                 memory["packed_bytes"].get<size_t>();
  for (const json& device : memory["devices"]) total += device["total_bytes"].get<size_t>();
  EXPECT_EQ(
      memory["always_live_bytes"].get<size_t>() + memory["not_always_live_bytes"].get<size_t>(),
      total);
}

TEST(ProfileReport, PartsAreSharesOfACall) {
  CompileOptions options = with_threads(2);
  options.execution.slices = 4;
  Model model = compiled(small_cnn(), options);
  profile::Trace trace(kProfileTrace);
  const json report = report_of(model, 2, 6, trace);
  EXPECT_EQ(report["compilation"]["division"]["parts"], true);
  const json& execution = report["execution"];
  EXPECT_EQ(execution["steps"], 3);
  const double flops = report["compilation"]["flops_per_sample"]["all"].get<double>();
  EXPECT_NEAR(
      execution["forward"]["flops"].get<double>() + execution["backward"]["flops"].get<double>(),
      6 * flops, 1);
}

TEST(ProfileReport, EveryStageAndDeviceOfAPipelineIsThere) {
  const DeviceStrategy strategy({.devices = 2, .cores_per_device = 1});
  const auto scope = strategy.scope();
  Model model = compiled(small_cnn().with_splits({"dense"}), classifier());
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
  profile::Trace trace(kProfileTrace);
  const json report = report_of(model, 2, 16, trace);
  const json& execution = report["execution"];
  EXPECT_EQ(execution["devices"].size(), 2u);
  EXPECT_EQ(execution["stages"].size(), 4u);
  EXPECT_EQ(execution["steps"], 8);
  EXPECT_EQ(execution["updates"], 2);
  EXPECT_EQ(report["memory"]["devices"].size(), 2u);
  EXPECT_GT(report["compilation"]["memory"]["always_live"]["held"].get<int64_t>(), 0);
  const std::string text = model.profile(request_of(2, &trace)).text;
  EXPECT_SAYS(text, "backward of stage 1");
  EXPECT_SAYS(text, "held activations of stage 0");
  EXPECT_SAYS(text, "stages: one visit of one worker");
}

TEST(ProfileReport, RecomputedOpsHaveRowsOfTheirOwn) {
  const DeviceStrategy strategy({.devices = 2, .cores_per_device = 1});
  const auto scope = strategy.scope();
  Model model = compiled(small_cnn().with_splits({"dense"}), classifier());
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4,
                                .recomputation = Recomputation::then_backward});
  profile::Trace trace(kProfileTrace);
  const json report = report_of(model, 2, 8, trace);
  int forward = 0;
  int again = 0;
  for (const json& op : report["execution"]["ops"]) {
    if (op["layer"] != "conv2d" || op["name"] != "conv2d") continue;
    ++(op["part"] == "forward" ? forward : again);
  }
  EXPECT_GT(forward, 0);
  EXPECT_GT(again, 0);
}

TEST(ProfileReport, ReplicasAreCountedTogether) {
  const DeviceStrategy strategy({.devices = 2, .cores_per_device = 1});
  const auto scope = strategy.scope();
  Model model = compiled(small_cnn(), classifier());
  profile::Trace trace(kProfileTrace);
  const json execution = report_of(model, 4, 24, trace)["execution"];
  EXPECT_EQ(execution["replicas"], 2);
  EXPECT_EQ(execution["steps"], 3);
  EXPECT_EQ(execution["samples"], 24);
}

TEST(ProfileReport, HalfPrecisionIsReported) {
  CompileOptions options = classifier();
  options.precision = {DType::bf16, DType::f32};
  Model model = compiled(rich_cnn(), options);
  profile::Trace trace(kProfileTrace);
  EXPECT_EQ(report_of(model, 8, 16, trace)["compilation"]["precision"], "bf16.32");
}

TEST(ProfileReport, EvaluationHasNoBackwardAndNoUpdate) {
  Model model = compiled(rich_cnn(), with_threads(2));
  profile::Trace trace(kProfileTrace);
  model.evaluate(image_data(21), {.batch_size = 8, .trace = &trace});
  ProfileRequest request = request_of(8, &trace);
  request.mode = RunMode::evaluate;
  const ProfileReport both = model.profile(request);
  const json report = json::parse(both.json);
  EXPECT_EQ(report["program"], "evaluation");
  expect_sound_compilation(report.at("compilation"));
  expect_sound_execution(report.at("execution"));
  EXPECT_EQ(report["execution"]["steps"], 3);
  EXPECT_EQ(report["execution"]["samples"], 21);
  EXPECT_EQ(report["execution"]["padding_rows"], 3);
  EXPECT_EQ(report["execution"]["updates"], 0);
  EXPECT_SAYS(both.text, " 3 steps of 1 replica, 21 samples\n");
  const std::string execution = both.text.substr(both.text.find("== execution"));
  EXPECT_EQ(execution.find("update"), std::string::npos) << execution;
  EXPECT_EQ(report["execution"]["backward"]["seconds"], 0);
  EXPECT_EQ(report["compilation"]["flops_per_sample"]["backward"], 0);
}

// The validation of a fit is another program than the one that is reported.
TEST(ProfileReport, OpsOfOtherProgramsAreApart) {
  Model model = compiled(small_cnn(), classifier());
  profile::Trace trace(kProfileTrace);
  model.fit(image_data(16), {.batch_size = 8, .trace = &trace, .verbose = 0});
  Model other = compiled(
      Sequential({6, 6, 1},
                 {Flatten(), Dense({.units = 3, .activation = "softmax", .name = "last"})}),
      classifier());
  other.fit(image_data(16), {.batch_size = 8, .trace = &trace, .verbose = 0});
  const json report = json::parse(model.profile(request_of(8, &trace)).json);
  EXPECT_GT(report["execution"]["other_program_seconds"].get<double>(), 0);
}

TEST(ProfileReport, ATraceThatWasFullSaysSo) {
  Model model = compiled(small_cnn(), with_threads(2));
  profile::Trace trace({.events_per_track = 100});
  const json report = report_of(model, 4, 200, trace);
  EXPECT_GT(report["execution"]["dropped_events"].get<int64_t>(), 0);
  EXPECT_LT(report["execution"]["steps"].get<int64_t>(), 50);
  EXPECT_SAYS(model.profile(request_of(4, &trace)).text, "the trace was full then: ");
}

TEST(ProfileReport, WithoutATraceItIsTheCompilationAlone) {
  Model model = compiled(small_cnn(), classifier());
  const ProfileReport report = model.profile(request_of(4));
  EXPECT_FALSE(json::parse(report.json).contains("execution"));
  EXPECT_EQ(report.text.find("== execution"), std::string::npos);
  const profile::Trace empty;
  EXPECT_SAYS(model.profile(request_of(4, &empty)).text, "the trace has no event of a device");
}

TEST(ProfileReport, ThePeakIsMeasuredOnAsManyThreadsAsThereAreWorkers) {
  Model model = compiled(small_cnn(), with_threads(2));
  profile::Trace trace(kProfileTrace);
  model.fit(image_data(8), {.batch_size = 4, .trace = &trace, .verbose = 0});
  ProfileRequest request = request_of(4, &trace);
  request.peak_seconds = 0.01;
  const json execution = json::parse(model.profile(request).json)["execution"];
  EXPECT_EQ(execution["peak"]["threads"], 2);
  EXPECT_GT(execution["peak"]["gflops"].get<double>(), 0);
  EXPECT_GT(execution["peak"]["memory_gb_per_second"].get<double>(), 0);
  EXPECT_GT(execution["forward"]["peak_fraction"].get<double>(), 0);
  EXPECT_SAYS(model.profile(request).text, "2 threads with ");
}

TEST(ProfileReport, TextHasItsHeadingsAndFitsATerminal) {
  Model model = compiled(rich_cnn(), with_threads(2));
  profile::Trace trace(kProfileTrace);
  model.fit(image_data(16), {.batch_size = 8, .trace = &trace, .verbose = 0});
  ProfileRequest request = request_of(8, &trace);
  request.peak_seconds = 0.005;
  const std::string text = model.profile(request).text;
  for (const char* part : {"== compilation =", "== memory =", "== execution =", "passes\n",
                           "calls: ", "layers: ", "memory map: ", "working memory of stage 0",
                           "phases: ", "ops that take most time", "devices: ", "weight update",
                           "all ops in the order of the program"}) {
    EXPECT_SAYS(text, part);
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

// The longest names of ops: mean_squared_error_grad, conv_pool_filter_grad.
TEST(ProfileReport, LongNamesOfOpsFitATerminal) {
  Model model = compiled(small_cnn(), {.optimizer = SGD(), .loss = "mean_squared_error"});
  const Dataset data = one_hot(image_data(8), 3);
  profile::Trace trace(kProfileTrace);
  model.fit(data, {.batch_size = 4, .trace = &trace, .verbose = 0});
  ProfileRequest request = request_of(4, &trace);
  request.fields = data.fields();
  const std::string text = model.profile(request).text;
  EXPECT_SAYS(text, "mean_squared_error_grad ");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

// The parts of the memory add up to the total.
TEST(ProfileReport, MemoryAddsUp) {
  Model model = compiled(rich_cnn(), with_threads(2));
  const ProfileReport report = model.profile(request_of(8));
  const json memory = json::parse(report.json).at("memory");
  EXPECT_GT(memory["packed_bytes"].get<int64_t>(), 0);
  const int64_t once =
      memory["weights_bytes"].get<int64_t>() + memory["moving_statistics_bytes"].get<int64_t>() +
      memory["optimizer_bytes"].get<int64_t>() + memory["packed_bytes"].get<int64_t>();
  const auto devices = static_cast<int64_t>(sum_of(memory["devices"], "total_bytes"));
  const int64_t all =
      memory["always_live_bytes"].get<int64_t>() + memory["not_always_live_bytes"].get<int64_t>();
  EXPECT_EQ(once + devices, all);
  EXPECT_SAYS(report.text, "in all: " + human_bytes(static_cast<double>(all)) + "\n");
  EXPECT_SAYS(report.text,
              "packed weights " + human_bytes(memory["packed_bytes"].get<double>()) + "\n");
}

TEST(ProfileReport, NeedsACompiledModel) {
  Model model(small_cnn());
  EXPECT_SAYS(error_of([&] { model.profile(request_of(4)); }), "compile");
}

TEST(WriteProfile, WritesThreeFilesAndTellsTheirPaths) {
  const TempFolder folder;
  Model model = compiled(small_cnn(), classifier());
  profile::Trace trace(kProfileTrace);
  model.fit(image_data(8), {.batch_size = 4, .trace = &trace, .verbose = 0});
  const std::string inside = folder.path("reports/run");
  const ProfileFiles files = write_profile(model, inside, "train", request_of(4, &trace));
  EXPECT_EQ(files.text, inside + "/train_report.txt");
  EXPECT_EQ(files.json, inside + "/train_report.json");
  EXPECT_EQ(files.trace, inside + "/train_trace.json");
  EXPECT_SAYS(folder.read("reports/run/train_report.txt"), "profile of training");
  EXPECT_TRUE(json::parse(folder.read("reports/run/train_report.json")).contains("execution"));
  EXPECT_FALSE(json::parse(folder.read("reports/run/train_trace.json"))["traceEvents"].empty());
  const ProfileFiles without = write_profile(model, inside, "plain", request_of(4));
  EXPECT_EQ(without.trace, "");
  EXPECT_FALSE(std::filesystem::exists(inside + "/plain_trace.json"));
}

TEST(WriteProfile, AFolderThatCannotBeMadeIsAnError) {
  const TempFolder folder;
  folder.write_text("file", "");
  Model model = compiled(small_cnn(), classifier());
  EXPECT_SAYS(error_of<IoError>([&] {
                write_profile(model, folder.path("file/reports"), "train", request_of(4));
              }),
              "cannot make the folder");
}

// The FLOPs that performance estimates count for one sample.
TEST(ProfileReport, FlopsOfATrainingStepAreThoseOfTheModel) {
  const std::vector<std::pair<std::string, double>> models = {
      {"mnist_cnn", 14.26e6}, {"cifar10_cnn", 122.68e6}, {"cosmoflow", 2048e6}};
  for (const auto& [name, flops] : models) {
    const ZooEntry& entry = zoo_entry(name);
    Model model(entry.build(entry.input_shape, entry.outputs));
    CompileOptions options;
    options.loss = entry.loss;
    options.execution.threads = 1;
    model.compile(options);
    ProfileRequest request{.batch_size = 2};
    request.fields = {{"x", DType::f32, entry.input_shape}, {"y", DType::i32, {}}};
    if (name == "cosmoflow") request.fields[1] = {"y", DType::f32, {entry.outputs}};
    const json report = json::parse(model.profile(request).json);
    expect_sound_compilation(report.at("compilation"));
    EXPECT_NEAR(report["compilation"]["flops_per_sample"]["all"].get<double>(), flops, flops / 2000)
        << name;
  }
}

}  // namespace
}  // namespace pando
