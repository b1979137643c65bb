// Keeps measured choices of kernels on disk, for later runs on the same machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/folder_lock.h"
#include "pando/compiler/kernel_choices.h"

namespace pando::runtime {

// What measured times depend on besides the layer. Each machine in this sense has its own file.
struct TuningMachine {
  std::string processor;  // its name
  std::string isa;        // the instruction set of kernels
  std::string version;    // of Pando
  int threads = 1;        // that work at the same time
  bool operator==(const TuningMachine&) const = default;
};

// A decision and how carefully it was measured.
struct KeptDecision {
  compiler::KernelDecision decision;
  bool full = false;
};
using KeptDecisions = std::map<std::string, KeptDecision, std::less<>>;  // by layer_key()

// $XDG_CACHE_HOME/pando/kernels, or $HOME/.cache/pando/kernels; empty if neither is set.
std::string default_tuning_folder();

// The decisions in the text of such a file. Throws IoError if it is damaged or of another machine.
KeptDecisions parse_decisions(std::string_view text, const TuningMachine& machine);

// One file of a folder. While the object lives, another process that tunes for the same machine
// waits and then finds the results. No function throws: results that cannot be read are measured
// again, and results that cannot be written are lost; `tell` receives a sentence about it.
class TuningFile {
 public:
  using Tell = std::function<void(const std::string&)>;

  // Waits up to `patience` seconds for another process. An empty folder keeps nothing.
  TuningFile(std::string folder, TuningMachine machine, Tell tell, double patience = 60);

  const std::string& path() const { return path_; }  // empty: nothing is kept
  KeptDecisions read() const;
  // Replaces the file by these decisions.
  void write(const KeptDecisions& decisions) const;

 private:
  TuningMachine machine_;
  Tell tell_;
  std::string path_;
  std::unique_ptr<FolderLock> lock_;  // null if the folder cannot be written
};

}  // namespace pando::runtime
