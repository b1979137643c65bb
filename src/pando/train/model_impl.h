// What a Model owns: the network, the variables, the workers and the programs made so far.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "pando/train/model.h"
#include "pando/train/programs.h"

namespace pando::train {

// A compiled program with the executor that runs it.
class LoadedProgram {
 public:
  LoadedProgram(std::unique_ptr<const compiler::Program> program, runtime::VariableStore& variables,
                runtime::WorkerTeam& team, const UpdateRule* rule)
      : program_(std::move(program)), executor_(*program_, variables, team, rule) {}
  const compiler::Program& program() const { return *program_; }
  runtime::Executor& executor() { return executor_; }

 private:
  std::unique_ptr<const compiler::Program> program_;
  runtime::Executor executor_;
};

}  // namespace pando::train

namespace pando {

struct Model::Impl {
  Impl(Network network_in, ModelOptions options_in);

  CompileOptions& compiled();  // throws InvalidArgument before compile()
  void compile(CompileOptions options_in);
  void drop_programs(train::Mode mode);
  // The program for this mode and these data, compiled when first asked for.
  train::LoadedProgram& program(train::Mode mode, int64_t batch, const std::vector<Field>& fields);
  Verification verify(int64_t batch, const std::vector<Field>& fields);
  runtime::WorkerTeam& workers();

  void assign(runtime::Variable& variable, const Tensor& value);
  void save_weights(const std::string& path) const;
  LoadReport load_weights(const std::string& path, const LoadOptions& load);

  Network network;
  ModelOptions options;
  std::set<std::string> frozen;
  runtime::VariableStore variables;
  std::optional<CompileOptions> compile_options;
  int64_t iteration = 0;  // weight updates since compile()
  int64_t epochs = 0;     // epochs of data drawn since compile(), or the last one's number if more

 private:
  train::SliceDivision division_of(int64_t batch, const ExecutionOptions& execution);
  train::GraphRequest graph_request(train::Mode mode, int64_t slice_batch,
                                    const std::vector<Field>& fields);

  using Key = std::tuple<train::Mode, int64_t, std::string>;
  std::unique_ptr<runtime::WorkerTeam> team_;
  std::map<Key, std::unique_ptr<train::LoadedProgram>> programs_;
};

}  // namespace pando
