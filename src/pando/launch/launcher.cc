// SPDX-License-Identifier: MIT
#include "pando/launch/launcher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include <fmt/core.h>
#include <unistd.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/environment.h"
#include "pando/base/paths.h"
#include "pando/launch/attempt.h"
#include "pando/launch/host_name.h"
#include "pando/launch/process.h"
#include "pando/launch/topology_table.h"
#include "pando/launch/words.h"

namespace pando::launch {
namespace {

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// A name for the job: unique, valid in a file name, and kept over restarts.
std::string job_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string name =
      fmt::format("{}-{}-{:x}", host_name(), getpid(),
                  std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

bool is_unicode_terminal() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string lowered = to_lower(environment(name));
    if (lowered.empty()) continue;
    return lowered.find("utf-8") != std::string::npos || lowered.find("utf8") != std::string::npos;
  }
  return false;
}

bool runs_here(const JobDivision& job) {
  const std::string name = host_name();
  const auto is_this = [&](const std::string& host) { return is_this_host(host, name); };
  return job.hosts.empty() || std::any_of(job.hosts.begin(), job.hosts.end(), is_this);
}

void describe(const RunOptions& options, const JobDivision& job, std::ostream& out,
              std::ostream& err) {
  if (!options.idle.empty()) {
    err << "pando: warning: " << join(options.idle, ", ") << ": ignored by Pando" << std::endl;
  }
  std::vector<InstanceCores> bound;
  if (runs_here(job)) {
    bound = bind_instances(runtime::query_topology(), job.instances_per_host(), options.numa_aware);
    for (const std::string& warning : binding_warnings(bound, job.devices_per_instance())) {
      err << "pando: warning: " << warning << std::endl;
    }
  }
  if (!options.print_topology) return;
  out << topology_table(job, {host_name(), std::move(bound), is_unicode_terminal()}) << std::flush;
}

// The same codes as a shell and run-instance.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// Replaces `pando` by the path of this program if it is not on PATH. Prints an error and returns an
// exit code other than kDone if the program cannot be started on this machine.
int settle_program(RunOptions& options, const JobDivision& job, std::ostream& err) {
  std::string& name = options.program.front();
  if (!find_on_path(name).empty()) return app::kDone;
  if (name == "pando") name = this_program();
  if (!job.hosts.empty() || name == this_program()) return app::kDone;
  const bool is_path = name.find('/') != std::string::npos;
  const bool exists = is_path && path_exists(name);
  err << "pando: error: program '" << name << "': "
      << (exists ? "the file exists but is not executable"
                 : concat("not found", is_path ? "" : " on PATH"));
  if (!is_path && !options.flag_before_program.empty()) {
    err << "; to give " << options.flag_before_program
        << " a value, use 1, 0, yes, no, true or false";
  }
  err << std::endl;
  return exists ? kNotExecutable : kNotFound;
}

LaunchContext make_context(const RunOptions& options) {
  LaunchContext context;
  context.mpirun = find_mpirun(options.mpirun);
  context.pando = this_program();
  if (context.mpirun.kind != MpiKind::open_mpi && !options.host_subnet.empty()) {
    throw UsageError(
        "--host-subnet: expected Open MPI, got MPICH; for MPICH use --mpi-global-args "
        "'-iface NAME' with the name of a network interface");
  }
  context.is_root = geteuid() == 0 && context.mpirun.kind == MpiKind::open_mpi;
  if (context.is_root && !may_run_as_root(options)) {
    throw UsageError(
        "pando run: Open MPI refuses to run as root; use --allow-run-as-root (for example in a "
        "container), or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  }
  return context;
}

// Restarting does not help against wrong options, a loss that is not finite or a missing program.
bool may_restart(const AttemptResult& result) {
  constexpr std::array<int, 6> kFinal = {app::kDone,    app::kUsage,    app::kNonFiniteLoss,
                                         app::kStopped, kNotExecutable, kNotFound};
  return result.signal == 0 && std::find(kFinal.begin(), kFinal.end(), result.code) == kFinal.end();
}

// Tells how the job ended; empty if it succeeded.
std::string end_text(const AttemptResult& result, const FailureLog& failures) {
  if (result.code == app::kDone) return "";
  const std::string after =
      fmt::format(" after {:.1f} s with exit code {}", result.seconds, result.code);
  const std::string first = result.signal == 0 ? "" : signal_name(result.signal);
  if (result.second_signal != 0) {
    return concat("the job ended", after, ": received another signal, ",
                  signal_name(result.second_signal));
  }
  if (result.code == app::kStopped && !failures.has_failed()) {
    return concat("the job stopped", after, first.empty() ? "" : ": received " + first);
  }
  if (result.signal != 0 && result.code == 128 + result.signal) {
    return concat("the job ended", after, ": killed by ", first);
  }
  return failures.summary(result.code, result.seconds) +
         (first.empty() ? "" : "; it had received " + first);
}

int run_attempts(const RunOptions& options, const JobDivision& job, LaunchContext context,
                 std::ostream& out, std::ostream& err) {
  const std::string name = job_name();
  adopt_orphans();
  SignalInbox signals;
  for (int restarts = 0;; ++restarts) {
    context.variables = job_variables(options, job, name, restarts);
    context.passed_names = passed_names(environ, context.variables);
    const std::vector<std::string> command = mpi_command(options, job, context);
    if (options.verbose) err << "pando: " << quote_words(command) << std::endl;
    JobOutput output(out, err, {options.only_output_from_instance, options.verbose});
    const AttemptResult result = run_attempt(command, context.mpirun.kind, signals, output);
    output.finish(result.code != app::kDone && result.signal == 0);
    const std::string text = end_text(result, output.failures());
    if (!text.empty()) output.say(text);
    if (!may_restart(result) || restarts == options.max_restarts || output.is_broken()) {
      return result.code;
    }
    err << "pando: restarting the job (restart " << restarts + 1 << " of " << options.max_restarts
        << ")" << std::endl;
  }
}

}  // namespace

int run_job(const RunOptions& given, std::ostream& out, std::ostream& err) {
  RunOptions options = given;
  const JobDivision job = divide_job(options);
  describe(options, job, out, err);
  export_config(options);
  if (options.program.empty()) return app::kDone;
  if (const int code = settle_program(options, job, err); code != app::kDone) return code;
  LaunchContext context = make_context(options);
  if (!options.dry_run) return run_attempts(options, job, std::move(context), out, err);
  context.variables = job_variables(options, job, job_name(), 0);
  context.passed_names = passed_names(environ, context.variables);
  out << quote_words(mpi_command(options, job, context)) << std::endl;
  return app::kDone;
}

}  // namespace pando::launch
