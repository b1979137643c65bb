// SPDX-License-Identifier: MIT
#include "pando/launch/job_output.h"

#include <algorithm>
#include <array>

#include "pando/base/strings.h"

namespace pando::launch {
namespace {

constexpr size_t kMostHeldBack = 30;
constexpr std::string_view kError = "pando: error: ";

bool is_rule(const std::string& text) {
  return text.size() >= 60 && (text[0] == '-' || text[0] == '=') &&
         text.find_first_not_of(text[0]) == std::string::npos;
}

// Lines of mpirun that add nothing to our own messages.
bool is_chatter(const std::string& text) {
  constexpr std::array<const char*, 7> kChatter = {
      "mpirun: Forwarding signal ",
      "more process has sent help message",
      "more processes have sent help message",
      "Set MCA parameter \"orte_base_help_aggregate\"",
      "YOUR APPLICATION TERMINATED WITH THE EXIT STRING",
      "This typically refers to a problem with your application",
      "Please see the FAQ page for debugging suggestions"};
  return std::any_of(kChatter.begin(), kChatter.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

}  // namespace

void JobOutput::take(const OutputLine& line) {
  if (line.instance >= 0) {
    take_instance_line(line);
  } else {
    take_mpirun_line(line);
  }
}

void JobOutput::take_instance_line(const OutputLine& line) {
  auto status = line.stream == Stream::err ? parse_status(line.text) : std::nullopt;
  bool shown = !options_.only_instance || *options_.only_instance == line.instance;
  if (status) {
    const auto error = errors_.find(line.instance);
    status->is_shown = error != errors_.end() && error->second == status->text;
    failures_.take(*status);
    if ((status->is_shown || is_from_launcher(*status)) && !options_.verbose) return;
    shown = true;
  } else if (shown && line.stream == Stream::err && line.text.starts_with(kError)) {
    errors_[line.instance] = line.text.substr(kError.size());
  }
  if (shown) return print(line);
  if (line.stream == Stream::out) return;
  std::deque<std::string>& held = held_back_[line.instance];
  held.push_back(line.text);
  if (held.size() > kMostHeldBack) held.pop_front();
}

void JobOutput::take_mpirun_line(const OutputLine& line) {
  if (options_.verbose) print(line);
  if (is_rule(line.text)) {
    if (block_) {
      end_block();
    } else {
      block_.emplace();
    }
  } else if (block_) {
    *block_ += line.text + "\n";
  } else if (!options_.verbose && !is_chatter(line.text)) {
    print(line);
  }
}

void JobOutput::end_block() {
  const std::string block = std::exchange(block_, std::nullopt).value();
  const auto failure = parse_failure_block(block);
  if (failure) {
    failures_.take_failure(*failure);
  } else if (!options_.verbose) {
    err_ << block << std::flush;
  }
}

void JobOutput::note_killed_mpirun(int pid, const std::string& text) {
  if (failures_.has_stopped()) return;
  failures_.take_failure({.text = concat("mpirun (pid ", pid, "): ", text)});
}

void JobOutput::say(const std::string& text) { err_ << "pando: " << text << std::endl; }

void JobOutput::print(const OutputLine& line) {
  std::ostream& stream = line.stream == Stream::out ? out_ : err_;
  std::string text;
  if (line.instance >= 0) {
    text = concat("[1,", line.instance, line.stream == Stream::out ? "]<stdout>:" : "]<stderr>:");
  }
  stream << text + line.text + "\n" << std::flush;
}

void JobOutput::finish(bool failed) {
  if (block_) end_block();
  if (!failed) return;
  for (const auto& [instance, lines] : held_back_) {
    const auto& first = failures_.first();
    if (first && first->instance >= 0 && first->instance != instance) continue;
    for (const std::string& text : lines) print({instance, Stream::err, text});
  }
}

}  // namespace pando::launch
