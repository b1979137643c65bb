// `pando predict`: what a trained network says about pictures.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/picture_input.h"
#include "pando/app/run/predictions.h"
#include "pando/app/run/trained_model.h"
#include "pando/base/clock.h"
#include "pando/base/paths.h"
#include "pando/cli/program.h"
#include "pando/cli/trained_flags.h"
#include "pando/data/sources/class_names.h"
#include "pando/data/sources/gzip.h"

namespace pando::cli {

namespace {

constexpr const char* kPredictHelpHead = R"(usage: pando predict WHAT PICTURE... [flags]

Prints the likeliest classes of pictures. WHAT is the directory of a run, a checkpoint of one or a
model file; PICTURE is a JPEG or PNG file, or a folder, of which all files are taken. Networks for
several classes at once print the probability of each, those that were trained on numbers print
numbers, and those with a class for every pixel print shares and write masks into --output. Each of
several outputs gets a line with its name.

Runs and files of `pando export` know how pictures are prepared. For files of other software it is
assumed and printed: the middle of the picture, with the values of torchvision for colours and 0 to
1 for grey pictures; --preprocessing, --mean and --std say otherwise.

examples:
  pando predict runs/flowers photo.jpg
  pando predict model.onnx photos/ --top 3 --csv >answers.csv
  pando predict resnet50.onnx photo.jpg --labels imagenet_classes.txt --preprocessing torchvision

exit codes: 0 done, 1 failed or pictures that cannot be read (the others are answered), 2 wrong flag.

)";

struct PredictFlags {
  std::string what;
  std::vector<std::string> pictures;
  int64_t top = 5;
  bool csv = false;
  bool json = false;
  int64_t batch_size = 32;
  bool test_time_flip = false;
  std::string output;
  std::string labels;
  std::string image_size;
  int64_t size_multiple = 1;
  std::optional<app::AssumedValues> preprocessing;
  std::vector<double> mean;
  std::vector<double> std;
  std::optional<PicturePreparation::Colours> colours;
  std::optional<AnswerKind> task;
  app::WhichCheckpoint which = app::WhichCheckpoint::best_or_newest;
  CommonOptions common;
};

void add_preparation_flags(OptionTable& table, PredictFlags& flags) {
  using app::AssumedValues;
  using Colours = PicturePreparation::Colours;
  table.begin_group("How pictures are prepared, for model files of other software");
  table
      .add(
          "image-size", flags.image_size,
          "height and width where a model file leaves them open: N or HEIGHTxWIDTH; default: those "
          "of each picture")
      .with_hint("N");
  table
      .add("size-multiple", flags.size_multiple,
           "without --image-size, open heights and widths are rounded to multiples of it: 32 for "
           "networks that halve pictures five times")
      .with_hint("N")
      .at_least(1)
      .at_most(1024);
  table.add_choice<std::optional<AssumedValues>>(
      "preprocessing", flags.preprocessing,
      {{"torchvision", AssumedValues::torchvision},
       {"tf", AssumedValues::tf},
       {"scale", AssumedValues::scale},
       {"none", AssumedValues::none}},
      "what values become: normalised by the mean and deviation of ImageNet, -1 to 1, 0 to 1, or "
      "as they are, 0 to 255");
  table
      .add("mean", flags.mean,
           "subtracted from values between 0 and 1: one number, or one for each channel")
      .with_hint("X");
  table.add("std", flags.std, "what they are divided by then").with_hint("X");
  table.add_choice<std::optional<Colours>>("colours", flags.colours,
                                           {{"rgb", Colours::rgb}, {"bgr", Colours::bgr}},
                                           "the order of the channels");
}

void add_predict_flags(OptionTable& table, PredictFlags& flags) {
  table.add_positional("WHAT", flags.what, "the directory of a run, a checkpoint or a model file");
  table.add_positionals("PICTURE", flags.pictures, "pictures or folders of pictures");
  table.begin_group("Answers");
  table.add("top", flags.top, "how many classes to print for a picture").with_hint("N").at_least(1);
  table.add("csv", flags.csv, "print lines file,rank,index,label,value");
  table.add("json", flags.json, "print a JSON list");
  table.add("labels", flags.labels, "a text file with the name of a class in each line")
      .with_hint("FILE");
  table.add("output", flags.output, "the folder for masks; is created").with_hint("DIR");
  std::vector<std::pair<std::string, std::optional<AnswerKind>>> tasks;
  for (const Task& task : all_tasks()) tasks.emplace_back(task.name, task.answers);
  table.add_choice("task", flags.task, std::move(tasks),
                   "what the numbers mean; default: as WHAT says");
  table.add("batch-size", flags.batch_size, "pictures that are computed together")
      .with_hint("N")
      .at_least(1)
      .at_most(4096);
  table.add("test-time-flip", flags.test_time_flip,
            "answer with the mean of what the network says about a picture and its mirror image");
  add_checkpoint_choice(table, flags.which);
  add_preparation_flags(table, flags);
  table.begin_group("Help");
  add_help_option(table, flags.common);
}

// Height and width of --image-size; zeros if it is not given.
std::pair<int64_t, int64_t> sides_of(const std::string& text) {
  if (text.empty()) return {0, 0};
  const std::vector<std::string> parts = split(to_lower(text), 'x');
  const auto height = parse_int(parts.front());
  const auto width = parse_int(parts.back());
  constexpr int64_t kMost = 1 << 14;
  if (parts.size() > 2 || !height || !width || *height < 1 || *width < 1 || *height > kMost ||
      *width > kMost) {
    throw UsageError("--image-size: expected N or HEIGHTxWIDTH, 1 to ", kMost, ", got '", text,
                     "'");
  }
  return {*height, *width};
}

void take_values(const PredictFlags& flags, PicturePreparation& pictures) {
  if (flags.colours) pictures.colours = *flags.colours;
  if (flags.mean.empty() && flags.std.empty()) return;
  pictures.standardise = false;
  pictures.scale = 1.0 / 255;
  pictures.mean = flags.mean.empty() ? std::vector{0.0} : flags.mean;
  pictures.std = flags.std.empty() ? std::vector{1.0} : flags.std;
  for (const auto& [name, values] :
       {std::pair{"--mean", &pictures.mean}, {"--std", &pictures.std}}) {
    if (values->size() != 1 && std::ssize(*values) != pictures.channels()) {
      throw UsageError(name, ": expected 1 or ", pictures.channels(), " numbers, got ",
                       values->size());
    }
  }
  for (const double std : pictures.std) {
    if (!(std > 0)) throw UsageError("--std: expected numbers above 0, got ", std);
  }
}

bool chooses_preparation(const PredictFlags& flags) {
  return flags.preprocessing || !flags.mean.empty() || !flags.std.empty() || flags.colours;
}

// Gives the model the preparation that it lacks or that the flags ask for; says what was assumed.
void complete_facts(Model& model, const PredictFlags& flags, bool own_sizes) {
  ModelFacts facts = model.facts();
  if (!facts.pictures || flags.preprocessing) {
    const bool is_assumed = !chooses_preparation(flags);
    facts.pictures = app::assumed_preparation(model.network(), flags.preprocessing);
    if (is_assumed) {
      std::cerr << "pando: the file does not say how pictures are prepared; assumed: "
                << app::describe(*facts.pictures, own_sizes) << "; --preprocessing changes it\n";
    }
  }
  take_values(flags, *facts.pictures);
  if (!flags.labels.empty()) {
    const std::vector<uint8_t> text = data::read_file(flags.labels);
    facts.labels = data::parse_class_names(
        {reinterpret_cast<const char*>(text.data()), text.size()}, flags.labels);
    std::vector<std::string> sizes;  // of the outputs
    bool fits = false;
    for (const NetworkOutput& output : model.network().outputs()) {
      sizes.push_back(std::to_string(output.shape.back()));
      fits = fits || std::ssize(facts.labels) == output.shape.back();
    }
    if (!fits) {
      throw UsageError("--labels: ", flags.labels, " has ", facts.labels.size(),
                       " names, expected ", join(sizes, " or "),
                       ", as many as outputs of the network");
    }
  }
  model.set_facts(std::move(facts));
}

void check(const PredictFlags& flags) {
  if (flags.csv && flags.json) throw UsageError("--csv and --json exclude each other");
  if (flags.preprocessing && (!flags.mean.empty() || !flags.std.empty())) {
    throw UsageError("--preprocessing and --mean or --std both choose the values; remove one");
  }
  if (!flags.output.empty() && path_exists(flags.output) && !is_folder(flags.output)) {
    throw UsageError("--output: expected a folder, got the file '", flags.output, "'");
  }
}

// The kind of each output.
std::vector<AnswerKind> kinds_of(const Model& model, std::optional<AnswerKind> wanted) {
  const size_t outputs = model.network().outputs().size();
  if (wanted && outputs > 1) {
    throw UsageError("--task: the network has ", outputs,
                     " outputs, expected one; remove the flag");
  }
  if (wanted) return {*wanted};
  std::vector<AnswerKind> kinds;
  for (size_t i = 0; i < outputs; ++i) kinds.push_back(app::answer_kind_of(model, i));
  return kinds;
}

// Flags that the network or the kinds of answers do not use.
void check_effects(const OptionTable& table, const std::vector<AnswerKind>& kinds, bool own_sizes) {
  const auto has = [&](AnswerKind kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  const auto is_given = [&](const char* name) {
    return table.find_exact(name)->origin.kind != Origin::Kind::built_in;
  };
  if (is_given("output") && !has(AnswerKind::pixels)) {
    throw UsageError(
        "--output: the folder for masks, which only networks with a class for every pixel make; "
        "remove it");
  }
  if (is_given("size-multiple") && !own_sizes) {
    throw UsageError(
        "--size-multiple: pictures keep their own sizes only where a network leaves height and "
        "width open and --image-size does not choose them; remove it");
  }
  if (is_given("top") && !has(AnswerKind::classes)) {
    std::cerr << "pando: warning: --top has no effect: all values are printed for this network\n";
  }
}

void set_views(Model& model, const PredictFlags& flags) {
  try {
    model.set_test_time_flip(flags.test_time_flip);
  } catch (const InvalidArgument& error) {
    throw UsageError("--test-time-flip: ", error.what());
  }
}

// Prints the answers, and what could not be answered to standard error.
int answer_pictures(Model& model, const PredictFlags& flags, app::PredictionOptions& options,
                    std::ostream& out) {
  const app::PredictionForm form = flags.csv    ? app::PredictionForm::csv
                                   : flags.json ? app::PredictionForm::json
                                                : app::PredictionForm::text;
  app::PredictionWriter writer(out, form, options.kinds.size() > 1);
  options.answer = [&](const app::Prediction& answer) { writer.write(answer); };
  options.unread = [](const std::string&, const std::string& why) {
    std::cerr << "pando: warning: " << why << "\n";
  };
  const auto start = std::chrono::steady_clock::now();
  const int64_t answered = app::predict_pictures(model, options);
  const double seconds = seconds_since(start);
  writer.finish();
  const auto failed = std::ssize(options.files) - answered;
  if (form == app::PredictionForm::text && options.files.size() > 1) {
    out << fmt::format("{} in {:.2f} s ({:.0f} a second){}\n", counted(answered, "picture"),
                       seconds, static_cast<double>(answered) / seconds,
                       failed == 0 ? "" : fmt::format("; not read: {}", failed));
  }
  return failed == 0 ? app::kDone : app::kFailed;
}

}  // namespace

int command_predict(std::span<const std::string> args, std::ostream& out) {
  PredictFlags flags;
  OptionTable table;
  add_predict_flags(table, flags);
  parse_command_line(table, flags.common, args);
  if (flags.common.help) {
    out << kPredictHelpHead << help_text(table);
    return app::kDone;
  }
  check(flags);
  const auto [height, width] = sides_of(flags.image_size);
  app::PredictionOptions options{.files = app::list_pictures(flags.pictures),
                                 .top = flags.top,
                                 .batch_size = flags.batch_size,
                                 .mask_folder = flags.output,
                                 .kinds = {},
                                 .own_sizes = false,
                                 .size_multiple = flags.size_multiple,
                                 .answer = {},
                                 .unread = {}};
  constexpr int64_t kUsualSide = 256;
  app::TrainedModel trained = app::open_trained_model(
      flags.what, {.which = flags.which,
                   .file = {.height = height, .width = width, .usual_side = kUsualSide},
                   .table = &table});
  options.own_sizes = flags.image_size.empty() && !trained.model.facts().pictures &&
                      app::has_open_sides(trained.model);
  complete_facts(trained.model, flags, options.own_sizes);
  options.kinds = kinds_of(trained.model, flags.task);
  check_effects(table, options.kinds, options.own_sizes);
  set_views(trained.model, flags);
  return answer_pictures(trained.model, flags, options, out);
}

}  // namespace pando::cli
