// SPDX-License-Identifier: MIT
#include "pando/launch/program_start.h"

#include "pando/app/job/exit_code.h"

namespace pando::launch {
namespace {

class Scan {
 public:
  Scan(OptionTable& table, std::span<const std::string> args) : table_(table), args_(args) {}

  ProgramStart run() {
    while (next_ < args_.size() && take_option()) {
    }
    start_.program.assign(args_.begin() + static_cast<std::ptrdiff_t>(next_), args_.end());
    return std::move(start_);
  }

 private:
  // Returns false if the program starts here.
  bool take_option() {
    const std::string& arg = args_[next_];
    if (arg == "--") {
      ++next_;
      start_.flag_before_program.clear();
      return false;
    }
    if (arg.empty() || arg[0] != '-') return false;
    ++next_;
    start_.flag_before_program.clear();
    if (arg == "-h" || arg == "--help") {
      start_.options.emplace_back("--help");
    } else if (arg == "-v" || arg == "-vv") {
      start_.options.emplace_back("--verbose=true");
    } else if (arg == "-H") {
      start_.options.push_back("--host=" + take_value(arg, *table_.find_exact("host")));
    } else if (arg.starts_with("--")) {
      take_long(arg);
    } else if (arg == "-n" || arg == "-np") {
      throw UsageError("'", arg,
                       "': unknown flag; use --num-instances for the number of instances");
    } else {
      throw UsageError("'", arg, "': unknown flag; use --help to list all flags");
    }
    return true;
  }

  void take_long(const std::string& arg) {
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (is_negated(name)) return start_.options.push_back(arg);
    const Option& option = table_.find(name, "--" + name);
    const std::string head = "--" + option.name + "=";
    if (equals != std::string::npos) {
      start_.options.push_back(head + arg.substr(equals + 1));
    } else if (!option.is_bool) {
      start_.options.push_back(head + take_value(arg, option));
    } else if (next_ < args_.size() && parse_bool(args_[next_])) {
      start_.options.push_back(head + args_[next_++]);
    } else {
      start_.options.push_back(head + "true");
      start_.flag_before_program = "--" + option.name;
    }
  }

  bool is_negated(const std::string& name) const {
    if (!name.starts_with("no-") || table_.find_exact(name) != nullptr) return false;
    const Option* option = table_.find_exact(name.substr(3));
    return option != nullptr && option->is_bool;
  }

  std::string take_value(const std::string& arg, const Option& option) {
    if (next_ == args_.size()) {
      throw UsageError(arg, ": expected ", wanted_text(option), ", got no value");
    }
    return args_[next_++];
  }

  OptionTable& table_;
  std::span<const std::string> args_;
  size_t next_ = 0;
  ProgramStart start_;
};

}  // namespace

ProgramStart find_program(OptionTable& table, std::span<const std::string> args) {
  return Scan(table, args).run();
}

}  // namespace pando::launch
