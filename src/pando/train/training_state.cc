// SPDX-License-Identifier: MIT
#include "pando/train/training_state.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/store/seal.h"
#include "pando/train/model_impl.h"

namespace pando {

namespace {

// Names of string attributes: any HDF5 tool shows them.
constexpr const char* kOptimizer = "pando_optimizer";
constexpr const char* kEpochAttribute = "pando_epoch";
constexpr const char* kUpdate = "pando_update";
constexpr const char* kIteration = "pando_iteration";
constexpr const char* kDataEpoch = "pando_data_epoch";
constexpr const char* kSeed = "pando_seed";
constexpr const char* kLossScaling = "pando_loss_scaling";
constexpr const char* kEpochSums = "pando_epoch_sums";
constexpr std::string_view kNote = "pando_note_";

std::string slot_name(const std::string& slot, const std::string& variable) {
  return concat("optimizer/", slot, "/", variable);
}

// With as many digits as it takes.
std::string text_of(std::span<const double> numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

// The attributes that save_training_state() wrote.
class Attributes {
 public:
  explicit Attributes(const store::WeightsFile& file) : file_(file) {}

  const std::string& text(const char* name) const {
    const auto found = file_.attributes.find(name);
    if (found != file_.attributes.end()) return found->second;
    throw IoError("checkpoint '", file_.path, "' has no attribute '", name,
                  "': it holds only weights, from which training cannot continue");
  }

  template <typename T = int64_t>
  T number(const char* name) const {
    const std::string& value = text(name);
    T number{};
    const char* end = value.data() + value.size();
    const auto [read_to, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc() && read_to == end && !(number < T{})) return number;
    throw IoError("checkpoint '", file_.path, "': attribute '", name,
                  "': expected a whole number, got '", value, "'");
  }

  // The sums of an epoch that was begun; none in files of earlier versions.
  std::vector<runtime::Totals> epoch_sums() const {
    const auto found = file_.attributes.find(kEpochSums);
    if (found == file_.attributes.end()) return {};
    std::vector<runtime::Totals> sums;
    for (const std::string& line : split(found->second, ';')) {
      std::vector<double> numbers;
      for (const std::string& word : split(line, ' ')) {
        const std::optional<double> number = parse_double(word);
        if (number && std::isfinite(*number)) numbers.push_back(*number);
      }
      const size_t fewest = runtime::Totals::count_of_numbers(0);
      if (numbers.size() < fewest || numbers.size() != split(line, ' ').size()) {
        throw IoError("checkpoint '", file_.path, "': attribute '", kEpochSums,
                      "': expected at least ", fewest, " numbers, got '", line, "'");
      }
      sums.push_back(runtime::Totals::of(numbers));
    }
    return sums;
  }

  // The state of loss scaling, if there is one.
  std::optional<LossScalerState> loss_scaling() const {
    const auto found = file_.attributes.find(kLossScaling);
    if (found == file_.attributes.end()) return std::nullopt;
    LossScalerState::Numbers numbers = {};
    const std::vector<std::string> words = split(found->second, ' ');
    bool good = words.size() == numbers.size();
    for (size_t i = 0; good && i < numbers.size(); ++i) {
      const std::optional<double> number = parse_double(words[i]);
      good = number && *number >= 0;
      numbers[i] = number.value_or(0);
    }
    if (good && numbers[0] > 0) return LossScalerState::of(numbers);
    throw IoError("checkpoint '", file_.path, "': attribute '", kLossScaling, "': expected ",
                  numbers.size(), " numbers, the first above 0, got '", found->second, "'");
  }

 private:
  const store::WeightsFile& file_;
};

// Throws an error that says what is wrong with a state.
struct Misfit {
  const std::string& path;
  const std::string& model;

  template <typename... Parts>
  void operator()(const Parts&... parts) const {
    throw InvalidArgument("the state", path.empty() ? "" : " of ", path, " does not fit model '",
                          model, "': ", parts...);
  }
};

// A file has the average as its weights, and in its place among the slots the weights as training
// goes on with them.
std::string file_slot(const SlotSpec& slot) { return slot.is_average ? "trained" : slot.name; }

// The optimizer's slots in a file; none at all when no update was made.
class SavedSlots {
 public:
  SavedSlots(const store::WeightsFile& file, const std::vector<SlotSpec>& slots) : slots_(slots) {
    for (const store::NamedWeight& entry : file.state) values_[entry.name] = &entry.value;
  }

  void check(const runtime::Variable& variable, const Misfit& fail) const {
    if (values_.empty() || variable.is_state()) return;
    for (const SlotSpec& slot : slots_) {
      const auto found = values_.find(slot_name(file_slot(slot), variable.name));
      if (found == values_.end()) {
        // A run without an average may go on with one, which begins there.
        if (!slot.is_average) fail("it has no ", slot.name, " of ", variable.name);
      } else if (found->second->dtype() == DType::i32 || found->second->dtype() == DType::u8 ||
                 found->second->shape() != variable.value.shape()) {
        fail("its ", slot.name, " of ", variable.name, ": expected ",
             to_string(variable.value.dtype()), variable.value.shape(), ", got ",
             to_string(found->second->dtype()), found->second->shape());
      }
    }
  }

  void copy_to(runtime::Variable& variable) const {
    for (size_t i = 0; i < variable.slots.size(); ++i) {
      // The average is among the weights already.
      Tensor& slot = slots_[i].is_average ? variable.value : variable.slots[i];
      const auto found = values_.find(slot_name(file_slot(slots_[i]), variable.name));
      if (found != values_.end()) {
        runtime::assign_numbers(*found->second, slot);
      } else if (!slots_[i].is_average) {
        runtime::reset_slot(slots_[i], variable.value, slot);
      }
    }
  }

 private:
  const std::vector<SlotSpec>& slots_;
  std::map<std::string, const Tensor*> values_;
};

}  // namespace

void save_training_state(const std::string& path, TrainingState state) {
  store::WeightsFile file = std::move(state.weights);
  file.attributes[kOptimizer] = state.optimizer;
  file.attributes[kEpochAttribute] = std::to_string(state.position.epoch);
  file.attributes[kUpdate] = std::to_string(state.position.update);
  file.attributes[kIteration] = std::to_string(state.iteration);
  file.attributes[kDataEpoch] = std::to_string(state.data_epoch);
  file.attributes[kSeed] = std::to_string(state.seed);
  if (state.loss_scaling) file.attributes[kLossScaling] = text_of(state.loss_scaling->numbers());
  std::vector<std::string> sums;
  for (const runtime::Totals& totals : state.epoch_sums) sums.push_back(text_of(totals.numbers()));
  if (!sums.empty()) file.attributes[kEpochSums] = join(sums, ";");
  for (const auto& [name, value] : state.notes) file.attributes[concat(kNote, name)] = value;
  store::write_weights_file(path, file);
}

void check_finite(const TrainingState& state) {
  for (const store::LayerWeights& layer : state.weights.layers) {
    for (const store::NamedWeight& weight : layer.weights) {
      const Tensor wide = cast(weight.value, DType::f32);
      if (std::ranges::all_of(wide.f32(), [](float value) { return std::isfinite(value); })) {
        continue;
      }
      throw NonFiniteLoss(concat("the weights ", layer.layer, "/", weight.name,
                                 " are not finite after ", state.iteration,
                                 " weight updates; they are not saved. A smaller learning rate may "
                                 "help"));
    }
  }
}

TrainingState load_training_state(const std::string& path) {
  // A file without a seal may be incomplete.
  if (!store::check_seal(path)) {
    throw IoError("checkpoint '", path,
                  "' has no seal at its end: it is incomplete, or another program wrote it");
  }
  TrainingState state;
  state.weights = store::read_weights_file(path);
  const Attributes attributes(state.weights);
  state.optimizer = attributes.text(kOptimizer);
  state.position = {attributes.number(kEpochAttribute), attributes.number(kUpdate)};
  state.iteration = attributes.number(kIteration);
  state.data_epoch = attributes.number(kDataEpoch);
  state.seed = attributes.number<uint64_t>(kSeed);
  state.loss_scaling = attributes.loss_scaling();
  state.epoch_sums = attributes.epoch_sums();
  for (const auto& [name, value] : state.weights.attributes) {
    if (name.starts_with(kNote)) state.notes[name.substr(kNote.size())] = value;
  }
  return state;
}

TrainingState Model::Impl::training_state() const {
  PANDO_CHECK(!variables.shows_averages(), "training_state() during an evaluation");
  TrainingState state{.weights = weights_file(),
                      .position = position,
                      .iteration = iteration,
                      .data_epoch = position.epoch + epoch_offset,
                      .seed = options.seed,
                      .epoch_sums = epoch_sums};
  if (!compile_options) return state;
  const UpdateRule& rule = *compile_options->optimizer.rule;
  state.optimizer = rule.name();
  if (scaler.automatic()) state.loss_scaling = scaler.state();
  const std::vector<SlotSpec> slots = rule.slots();
  for (const runtime::Variable& variable : variables.all()) {
    // There are no slots before the first program is made; they have their initial values then.
    for (size_t i = 0; i < std::min(slots.size(), variable.slots.size()); ++i) {
      const Tensor& values = slots[i].is_average ? variable.value : variable.slots[i];
      state.weights.state.push_back({slot_name(file_slot(slots[i]), variable.name), values});
    }
  }
  return state;
}

LoadReport Model::Impl::restore(const TrainingState& state) {
  const UpdateRule& rule = *compiled().optimizer.rule;
  const std::vector<SlotSpec> slots = rule.slots();
  const Misfit fail{state.weights.path, options.name};
  if (state.optimizer != rule.name()) {
    fail("it was saved with the optimizer ", state.optimizer, ", the model has ", rule.name());
  }
  if (state.seed != options.seed) {
    fail("it was saved with the seed ", state.seed, ", the model has ", options.seed,
         "; orders of samples and dropout would differ");
  }
  const SavedSlots saved(state.weights, slots);
  for (const runtime::Variable& variable : variables.all()) saved.check(variable, fail);
  variables.ensure_slots(rule);  // before the weights, which are averages if there are any
  LoadReport report = assign_weights(state.weights, {});  // throws before it changes anything
  for (runtime::Variable& variable : variables.all()) saved.copy_to(variable);
  scaler.reset();  // a state without loss_scaling is of a run that scaled otherwise
  if (scaler.automatic() && state.loss_scaling) scaler.restore(*state.loss_scaling);
  iteration = state.iteration;
  position = state.position;
  epoch_sums = state.epoch_sums;
  epochs = state.data_epoch;
  epoch_offset = state.data_epoch - state.position.epoch;
  return report;
}

}  // namespace pando
