// SPDX-License-Identifier: MIT
#include "pando/benchmark/selection.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "pando/base/environment.h"
#include "pando/base/paths.h"
#include "pando/launch/mpirun.h"
#include "pando/launch/words.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

constexpr size_t kLongestFolderName = 200;  // bytes; file systems take 255

bool is_options(const Benchmark& benchmark) {
  return benchmark.name.find("options") != std::string::npos;
}

bool is_convergence(const Benchmark& benchmark) {
  return benchmark.name.find("_conv") != std::string::npos;
}

// A program is found as the command will find it; the server is beside this program, or where its
// package puts it.
bool is_there(const std::string& needed, const Benchmark& benchmark) {
  namespace fs = std::filesystem;
  if (needed.find('/') != std::string::npos) {
    const fs::path folder = fs::path(benchmark.path).parent_path() / benchmark.location;
    return path_exists((folder / needed).lexically_normal());
  }
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  return path_exists(own / needed) || path_exists(own.parent_path() / "libexec/pando" / needed) ||
         !launch::find_on_path(needed).empty();
}

// Why a benchmark cannot run here, or nothing.
std::string obstacle(const Benchmark& benchmark) {
  if (benchmark.needs_datasets && environment("DATASETS_DIR").empty()) {
    return "needs data: set DATASETS_DIR to the folder of the data sets";
  }
  for (const std::string& needed : benchmark.needs) {
    if (!is_there(needed, benchmark)) return concat("needs '", needed, "', which is not there");
  }
  return "";
}

const Benchmark& find_benchmark(const std::vector<Benchmark>& benchmarks, const std::string& name) {
  std::vector<std::string> known;
  for (const Benchmark& one : benchmarks) {
    if (one.name == name && !is_options(one)) return one;
    if (one.name == name) {
      throw UsageError(one.place, ": '", name,
                       "' is a set of options for other benchmarks, because "
                       "its name contains 'options'");
    }
    if (!is_options(one)) known.push_back(one.name);
  }
  throw UsageError("--benchmark: ", unknown_name_message("benchmark", name, known));
}

std::vector<const Benchmark*> chosen(const std::vector<Benchmark>& benchmarks,
                                     const BenchmarkOptions& options) {
  std::vector<const Benchmark*> list;
  for (const std::string& name : options.benchmarks) {
    const Benchmark& one = find_benchmark(benchmarks, name);
    const std::string problem = options.list ? "" : obstacle(one);
    if (!problem.empty()) throw UsageError(one.place, ": '", name, "' ", problem);
    if (std::find(list.begin(), list.end(), &one) == list.end()) list.push_back(&one);
  }
  if (!options.benchmarks.empty()) return list;
  for (const Benchmark& one : benchmarks) {
    const bool is_left_out = is_convergence(one) && !options.include_convergence;
    if (!is_options(one) && !is_left_out) list.push_back(&one);
  }
  if (list.empty()) {
    throw UsageError(join(options.specs, ", "),
                     ": no benchmark to run; those with _conv in their "
                     "name need --include-convergence or --benchmark");
  }
  return list;
}

// Makes a folder name that every file system accepts and that no other variant has.
std::string folder_name(const std::string& variant, std::set<std::string>& used) {
  std::string name = variant.substr(0, kLongestFolderName);
  for (char& c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("._-+=,@").find(c) != std::string_view::npos;
    if (!is_plain) c = '_';
  }
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  std::string unique = name;
  for (int i = 2; !used.insert(unique).second; ++i) unique = concat(name, "_", i);
  return unique;
}

}  // namespace

std::vector<VariantResult> select_variants(const std::vector<Benchmark>& benchmarks,
                                           const BenchmarkOptions& options) {
  std::vector<VariantResult> results;
  std::set<std::string> folders;
  std::set<std::string> names;
  const CommandChanges changes{.allow_wandb = options.allow_wandb,
                               .compile_only = options.compile_only};
  for (const Benchmark* benchmark : chosen(benchmarks, options)) {
    for (Variant& variant : make_variants(*benchmark)) {
      if (!names.insert(variant.name).second) {
        throw UsageError(benchmark->place, ": the variant '", variant.name,
                         "' has the name of another benchmark; rename one");
      }
      VariantResult result{.benchmark = benchmark, .variant = std::move(variant)};
      result.command = command_of(*benchmark, result.variant, changes);
      launch::split_words(result.command,
                          concat(benchmark->place, ": cmd of '", benchmark->name, "'"));
      result.folder = folder_name(result.variant.name, folders);
      result.skipped = obstacle(*benchmark);
      results.push_back(std::move(result));
    }
    if (results.size() > kMostVariants) {
      throw UsageError("more than ", kMostVariants, " variants; choose some by --benchmark");
    }
  }
  return results;
}

}  // namespace pando::benchmark
