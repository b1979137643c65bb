// SPDX-License-Identifier: MIT
#include "tutorial.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>

#include <pando/datasets/all_datasets.h>
#include <pando/datasets/find_files.h>

namespace tutorial {

using namespace pando;

namespace {

void print_help(const char* program, const std::vector<Flag>& flags) {
  std::cout << "usage: " << program << " [FLAG...]\n";
  for (const Flag& flag : flags) {
    std::cout << "  " << join(flag.names, ", ")
              << (flag.value.index() == 0 ? "" : (flag.value.index() == 1 ? " N" : " " + flag.hint))
              << "\n";
  }
  std::cout << "  --help, -h\n";
}

int64_t read_number(const std::string& name, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    throw InvalidArgument(name, " is '", text, "', expected a whole number of at least 1");
  }
  return number;
}

const Flag& find_flag(const std::vector<Flag>& flags, const std::string& name) {
  std::vector<std::string> known = {"--help", "-h"};
  for (const Flag& flag : flags) {
    if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) return flag;
    known.insert(known.end(), flag.names.begin(), flag.names.end());
  }
  throw InvalidArgument(unknown_name_message("flag", name, known));
}

// The default is the data set of the original programs where it is here.
const DatasetRecord& chosen_dataset(const Options& options) {
  const std::vector<std::string> known = {"mnist", "fashion_mnist"};
  if (!options.dataset.empty()) {
    if (std::find(known.begin(), known.end(), options.dataset) == known.end()) {
      throw InvalidArgument("--dataset: ",
                            unknown_name_message("data set", options.dataset, known));
    }
    return dataset_record(options.dataset);
  }
  const bool is_mnist = !options.data.empty() || find_files(dataset_record("mnist"));
  return dataset_record(is_mnist ? "mnist" : "fashion_mnist");
}

std::string place_of(const DatasetRecord& record) {
  if (const auto found = find_files(record)) return *found;
  throw IoError(record.name, " was not found in ", join(search_places(record), ", "),
                "; run 'pando data fetch ", record.name, "', or name its folder with --data");
}

}  // namespace

Options read_options(int argc, char** argv, std::vector<Flag> more) {
  Options options;
  std::vector<Flag> flags = std::move(more);
  flags.insert(flags.end(), {{{"--dataset"}, &options.dataset, "mnist|fashion_mnist"},
                             {{"--data"}, &options.data},
                             {{"--samples"}, &options.samples},
                             {{"--epochs"}, &options.epochs},
                             {{"--drop-remainder"}, &options.drop_remainder}});
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      print_help(argv[0], flags);
      std::exit(0);
    }
    const Flag& flag = find_flag(flags, name);
    if (bool* const* on = std::get_if<bool*>(&flag.value)) {
      **on = true;
      continue;
    }
    if (++i == argc) throw InvalidArgument(name, " needs a value");
    if (int64_t* const* number = std::get_if<int64_t*>(&flag.value)) {
      **number = read_number(name, argv[i]);
    } else {
      *std::get<std::string*>(flag.value) = argv[i];
    }
  }
  return options;
}

TrainTest prepare_data(const Options& options) {
  const DatasetRecord& record = chosen_dataset(options);
  const std::string folder = options.data.empty() ? place_of(record) : options.data;
  TrainTest data = record.name == "mnist" ? load_mnist(folder) : load_fashion_mnist(folder);
  std::cout << "Data: " << record.name << " (" << record.title << ") in " << folder << "\n";
  const int64_t samples = options.samples > 0 ? options.samples : data.train.size();
  data.train = one_hot(data.train.take(samples), data.classes);
  data.test = one_hot(data.test.take(samples), data.classes);
  return data;
}

std::pair<SymbolicTensor, SymbolicTensor> model_fn() {
  auto input = Input({28, 28, 1});
  auto x = Conv2D({.filters = 32, .kernel = {3, 3}, .activation = "relu"})(input);
  x = MaxPooling2D({.pool = {2, 2}})(x);
  x = Conv2D({.filters = 64, .kernel = {3, 3}, .activation = "relu"})(x);
  x = MaxPooling2D({.pool = {2, 2}})(x);
  x = Flatten()(x);
  x = Dropout({.rate = 0.5})(x);
  x = Dense({.units = 10, .activation = "softmax"})(x);
  return {input, x};
}

int64_t batches(int64_t samples, int64_t batch_size) {
  return (samples + batch_size - 1) / batch_size;
}

int64_t make_divisible(int64_t number, int64_t divisor) { return number - number % divisor; }

int report(const char* program, const std::exception& error) {
  std::cerr << program << ": " << error.what() << "\n";
  return dynamic_cast<const InvalidArgument*>(&error) != nullptr ? 2 : 1;
}

}  // namespace tutorial
