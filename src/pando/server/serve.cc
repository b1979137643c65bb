// SPDX-License-Identifier: MIT
#include "pando/server/serve.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>
#include <thread>

#include <fmt/core.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pando/app/flags/serve_flags.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/memory_use.h"
#include "pando/base/signals.h"
#include "pando/grpc/server.h"
#include "pando/http/server.h"
#include "pando/options/command_line.h"
#include "pando/profile/chrome_trace.h"
#include "pando/rest/service.h"
#include "pando/serve/model_server.h"
#include "pando/server/access_log.h"
#include "pando/server/config_files.h"
#include "pando/server/systemd.h"

namespace pando::server {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::seconds kSameSignal{1};  // senders repeat themselves, `timeout` for one
constexpr auto kTick = 250ms;
constexpr std::chrono::hours kLongestLoad{24};

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

std::string token_of(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string token(trim(text));
  if (!file || token.empty()) {
    throw UsageError("--token-file: expected a readable file with a token, got '", path, "'");
  }
  return token;
}

http::ServerOptions http_options(const app::ServeFlags& flags) {
  http::ServerOptions options;
  options.address = flags.address;
  options.port = flags.rest_api_port == 0 ? -1 : flags.rest_api_port < 0 ? 0 : flags.rest_api_port;
  options.unix_socket = flags.unix_socket;
  options.tls = {flags.tls_certificate, flags.tls_key, flags.tls_client_ca};
  options.token = token_of(flags.token_file);
  options.public_paths = rest::Service::public_paths();
  options.io_threads = flags.rest_api_num_threads;
  options.limits.body_bytes = flags.max_body_bytes;
  options.limits.connections = flags.max_connections;
  options.limits.header_timeout = milliseconds_of(flags.header_timeout);
  options.limits.body_timeout = milliseconds_of(flags.body_timeout);
  options.limits.idle_timeout = milliseconds_of(flags.idle_timeout);
  return options;
}

// Every connection needs an open file, and the usual limit of shells is 1024 files.
void raise_file_limit(int64_t connections) {
  constexpr rlim_t kOthers = 256;  // model files, logs, the server's own
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOthers;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Large requests come one after the other. Memory that went back to the system after each would
// have to be filled with zeros for the next one, which takes longer than reading the request.
void keep_freed_memory() {
  constexpr int kLargestKept = 16 << 20;
  constexpr int kMostKept = 64 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLargestKept);
  ::mallopt(M_TRIM_THRESHOLD, kMostKept);
}

grpc::ServerOptions grpc_options(const app::ServeFlags& flags) {
  grpc::ServerOptions options;
  options.address = flags.address;
  options.port = std::max(flags.port, 0);
  options.unix_socket = flags.grpc_socket_path;
  options.max_message_bytes = flags.grpc_max_message_bytes;
  options.max_connections = flags.max_connections;
  options.header_timeout = milliseconds_of(flags.header_timeout);
  options.body_timeout = milliseconds_of(flags.body_timeout);
  options.ping_after = milliseconds_of(flags.idle_timeout);
  options.version = PANDO_VERSION;
  options.tls_certificate = flags.tls_certificate;
  options.tls_key = flags.tls_key;
  options.tls_client_ca = flags.tls_client_ca;
  options.token = token_of(flags.token_file);
  if (flags.allow_reload) options.reload_base = server_config(flags);
  return options;
}

// A signal that comes within the time, else 0.
int wait_for_signal(const sigset_t& signals, std::chrono::nanoseconds time) {
  timespec limit = {.tv_sec = time.count() / 1'000'000'000,
                    .tv_nsec = time.count() % 1'000'000'000};
  return std::max(0, sigtimedwait(&signals, nullptr, &limit));
}

class ServeRun {
 public:
  ServeRun(const app::ServeFlags& flags, std::ostream& out, std::ostream& err)
      : flags_(flags), out_(out), err_(err), signals_(block_signals({SIGTERM, SIGINT, SIGHUP})) {}

  int run() {
    const auto begin = std::chrono::steady_clock::now();
    raise_file_limit(2 * flags_.max_connections);  // by HTTP, and as many by gRPC
    keep_freed_memory();
    serve::ServerConfig config = server_config(flags_);
    if (!flags_.trace.empty()) config.trace = &trace_.emplace();
    models_ = std::make_unique<serve::ModelServer>(config);
    backend_ = rest::backend_of(*models_);
    service_ = std::make_unique<rest::Service>(
        *backend_, rest::ServiceOptions{.version = PANDO_VERSION,
                                        .cors = flags_.rest_api_enable_cors_support,
                                        .page = flags_.page});
    http::ServerOptions options = http_options(flags_);
    grpc::ServerOptions calls = grpc_options(flags_);
    if (!flags_.access_log.empty()) {
      log_ = std::make_unique<AccessLog>(flags_.access_log);
      options.access_log = [this](const http::AccessRecord& record) { log_->write(record); };
      calls.access_log = options.access_log;
    }
    if (flags_.rest_api_port != 0 || !flags_.unix_socket.empty()) {
      if (options.io_threads == 0) options.io_threads = models_->reading_threads();
      if (models_->may_help(options.io_threads)) {
        options.after_reads = [this] { return models_->help(); };
      }
      http_ = std::make_unique<http::Server>(std::move(options), *service_);
    }
    if (flags_.port != 0) grpc_ = std::make_unique<grpc::Server>(std::move(calls), *models_);
    add_metrics();
    std::jthread starting([this, begin] {
      models_->await_ready(kLongestLoad);
      tell_start(std::chrono::steady_clock::now() - begin);
    });
    wait_for_end();
    return drain(starting);
  }

 private:
  void add_metrics() {
    serve::Metrics& metrics = models_->metrics();
    serve::Gauge& memory =
        metrics.gauge("process_resident_memory_bytes", "Memory of the process, in bytes.");
    serve::Gauge& files = metrics.gauge("process_open_fds", "Open files and sockets.");
    serve::Gauge& connections = metrics.gauge("pando_http_connections", "Open HTTP connections.");
    serve::Gauge& callers = metrics.gauge("pando_grpc_connections", "Open gRPC connections.");
    serve::Gauge& calls =
        metrics.gauge("pando_grpc_open_calls", "gRPC calls whose clients do not have everything.");
    serve::Gauge& flight = metrics.gauge("pando_requests_in_flight", "Requests not answered yet.");
    metrics.before_text([&, this] {
      memory.set(static_cast<double>(memory_use().resident));
      const std::filesystem::directory_iterator open("/proc/self/fd");
      files.set(static_cast<double>(std::distance(begin(open), end(open))));
      connections.set(http_ == nullptr ? 0 : http_->connections());
      callers.set(grpc_ == nullptr ? 0 : grpc_->connections());
      calls.set(grpc_ == nullptr ? 0 : static_cast<double>(grpc_->open_calls()));
      flight.set(static_cast<double>(models_->in_flight()));
    });
  }

  // Prints a line with the models and addresses of the server.
  void tell_start(std::chrono::duration<double> time) {
    if (stopping_) return;
    std::string text = "pando-serve: ";
    for (const serve::ModelStatus& model : models_->models()) {
      text += model.name + " (";
      std::string versions;
      for (const serve::VersionStatus& version : model.versions) {
        versions += versions.empty() ? "" : ", ";
        versions += fmt::format("version {} {}", version.version, to_string(version.state));
        if (!version.status.ok()) versions += ": " + version.status.message;
      }
      text += (versions.empty() ? "no version found" : versions) + "), ";
    }
    const char* scheme = flags_.tls_certificate.empty() ? "http" : "https";
    const bool is_ipv6 = flags_.address.find(':') != std::string::npos;
    const std::string host = is_ipv6 ? "[" + flags_.address + "]" : flags_.address;
    if (http_ != nullptr && http_->port() >= 0) {
      text += fmt::format("at {}://{}:{}/ ", scheme, host, http_->port());
    }
    if (grpc_ != nullptr) text += fmt::format("at grpc://{}:{} ", host, grpc_->port());
    if (!flags_.unix_socket.empty()) text += "on " + flags_.unix_socket + " ";
    text += fmt::format("{} {:.2f} s", models_->ready() ? "ready after" : "NOT READY after",
                        time.count());
    if (!flags_.quiet) out_ << text << std::endl;
    tell_systemd("READY=1\nSTATUS=" + text);
  }

  void wait_for_end() {
    double since_poll = 0;
    const auto watchdog = watchdog_interval();
    // Twice as often as systemd expects it.
    const std::chrono::nanoseconds tick =
        watchdog ? std::min<std::chrono::nanoseconds>(kTick, *watchdog / 2) : kTick;
    while (true) {
      const int signal = wait_for_signal(signals_, tick);
      if (watchdog) tell_systemd("WATCHDOG=1");
      if (log_ != nullptr) log_->flush();
      if (signal == SIGTERM || signal == SIGINT) return;
      if (signal == SIGHUP) reload(true);
      since_poll += std::chrono::duration<double>(tick).count();
      const double interval = flags_.model_config_file_poll_wait_seconds;
      if (interval > 0 && since_poll >= interval) {
        since_poll = 0;
        reload(false);
      }
    }
  }

  // Keeps what it serves if the new configuration cannot be.
  void reload(bool is_asked) {
    try {
      if (is_asked && log_ != nullptr) log_->reopen();
      models_->reload(server_config(flags_));
      if (is_asked && !flags_.quiet)
        out_ << "pando-serve: read the configuration again" << std::endl;
    } catch (const std::exception& error) {
      err_ << "pando-serve: the configuration stays as it is: " << error.what() << std::endl;
    }
  }

  // Answers what was accepted, then ends with 0. Another signal ends the process at once.
  int drain(std::jthread& starting) {
    const auto begin = std::chrono::steady_clock::now();
    stopping_ = true;
    tell_systemd("STOPPING=1");
    if (!flags_.quiet) err_ << "pando-serve: answering what was accepted, then ending" << std::endl;
    models_->begin_drain();
    std::atomic<bool> is_done = false;
    bool is_complete = false;
    bool grpc_is_complete = true;
    std::jthread draining([&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(flags_.drain_delay));
      std::jthread calls([&] {
        if (grpc_ != nullptr)
          grpc_is_complete = grpc_->drain(milliseconds_of(flags_.drain_timeout));
      });
      is_complete = http_ == nullptr || http_->drain(milliseconds_of(flags_.drain_timeout));
      calls.join();
      is_complete = is_complete && grpc_is_complete;
      models_->drain(std::chrono::duration<double>(flags_.drain_timeout));
      end_servers(starting);  // waits for a version that is being loaded
      is_done = true;
    });
    while (!is_done) {
      const int signal = wait_for_signal(signals_, 10ms);
      const bool repeats = std::chrono::steady_clock::now() - begin < kSameSignal;
      if (signal != 0 && signal != SIGHUP && !repeats) ::_exit(128 + signal);
    }
    draining.join();
    if (!is_complete) {
      err_ << "pando-serve: some clients were not served within --drain-timeout" << std::endl;
    }
    if (trace_) profile::write_chrome_trace(*trace_, flags_.trace);
    return is_complete ? app::kDone : app::kFailed;
  }

  void end_servers(std::jthread& starting) {
    if (starting.joinable()) starting.join();
    http_.reset();  // first: its metrics look at the other one
    grpc_.reset();
    models_.reset();
  }

  const app::ServeFlags& flags_;
  std::ostream& out_;
  std::ostream& err_;
  const sigset_t signals_;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<AccessLog> log_;
  std::optional<profile::Trace> trace_;
  std::unique_ptr<serve::ModelServer> models_;
  std::unique_ptr<rest::Backend> backend_;
  std::unique_ptr<rest::Service> service_;
  std::unique_ptr<http::Server> http_;
  std::unique_ptr<grpc::Server> grpc_;
};

}  // namespace

int run_serve(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  try {
    app::ServeFlags flags;
    CommonOptions common;
    OptionTable table;
    app::add_serve_flags(table, flags);
    add_common_options(table, common);
    parse_command_line(table, common, args);
    if (common.help) {
      out << app::kServeHelpHead << help_text(table);
      return app::kDone;
    }
    if (flags.version) {
      out << "pando-serve " PANDO_VERSION "\n";
      return app::kDone;
    }
    if (common.print_config) {
      out << config_text(table);
      return app::kDone;
    }
    validate(flags);
    return ServeRun(flags, out, err).run();
  } catch (const std::exception& error) {
    err << "pando-serve: error: " << app::describe(error, false) << std::endl;
    const auto* own = dynamic_cast<const Error*>(&error);
    // An invalid configuration is an error of the user, wherever it was found.
    const bool is_usage = own != nullptr && own->kind() == ErrorKind::invalid_argument;
    return is_usage ? app::kUsage : app::exit_code_of(error);
  }
}

}  // namespace pando::server
