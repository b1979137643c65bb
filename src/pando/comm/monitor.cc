// SPDX-License-Identifier: MIT
#include "pando/comm/monitor.h"

#include <array>
#include <cstdlib>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/threads.h"
#include "pando/comm/collectives.h"
#include "pando/comm/monitor_watch.h"

namespace pando::comm {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectPatience{2000};
constexpr milliseconds kWelcomePatience{5000};
constexpr milliseconds kBeforeNextCall{50};

// What instance 0 sends to the others through the communicator, as one line of words.
struct Invitation {
  Passwords passwords;
  int port = 0;
  Times times;
  std::string stack;
  std::vector<std::string> addresses;

  std::string to_line() const {
    return concat(passwords.hello, " ", passwords.welcome, " ", port, " ", times.period.count(),
                  " ", times.timeout.count(), " ", stack, " ", join(addresses, " "));
  }
};

int64_t number_of(const std::string& word) {
  const std::optional<int64_t> value = parse_int(word);
  PANDO_CHECK(value.has_value(), "'", word, "' in the invitation of instance 0");
  return *value;
}

Invitation parse_invitation(const std::string& line) {
  const std::vector<std::string> words = words_of(line, 7);
  PANDO_CHECK(words.size() == 7, "the invitation of instance 0: ", line);
  Invitation result{{words[0], words[1]},
                    static_cast<int>(number_of(words[2])),
                    {milliseconds(number_of(words[3])), milliseconds(number_of(words[4]))},
                    words[5],
                    split(words[6], ' ')};
  // Within one network stack the loopback address works even if the network fails.
  if (result.stack == network_stack_name()) result.addresses = {"127.0.0.1", "::1"};
  return result;
}

std::string random_word() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw IoError("cannot get random numbers from the system");
  }
  std::string word;
  for (const unsigned char byte : bytes) {
    word += "0123456789abcdef"[byte >> 4];
    word += "0123456789abcdef"[byte & 15];
  }
  return word;
}

Member this_member(int index) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return {index, ::getpid(), host.data()};
}

// The next line from the other side, or nothing if none arrives in time.
std::optional<std::string> next_line(Link& link, milliseconds patience) {
  const auto until = MonitorClock::now() + patience;
  while (link.open() && MonitorClock::now() < until) {
    pollfd waiting{link.descriptor(), POLLIN, 0};
    const auto left = std::chrono::ceil<milliseconds>(until - MonitorClock::now());
    ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    // Instance 0 sends nothing more until it has received "here".
    const std::vector<std::string> lines = link.receive();
    if (!lines.empty()) return lines.front();
  }
  return std::nullopt;
}

struct Hub {
  std::optional<Link> link;
  Member member;
  std::string trouble;
};

Hub call_hub(const Invitation& invitation, const std::string& address, const Member& self) {
  Connection connection = connect_to(address, invitation.port, kConnectPatience);
  if (!connection.trouble.empty()) return {std::nullopt, {}, connection.trouble};
  Link link(std::move(connection.socket));
  link.send(
      concat("hello ", invitation.passwords.hello, " ", self.index, " ", self.pid, " ", self.host));
  const std::optional<std::string> line = next_line(link, kWelcomePatience);
  const std::vector<std::string> words = words_of(line.value_or(""), 4);
  if (words.size() != 4 || words[0] != "welcome" || words[1] != invitation.passwords.welcome) {
    return {std::nullopt, {}, "answered by another program"};
  }
  link.send("here");
  return {std::move(link), {0, parse_int(words[2]).value_or(0), words[3]}, ""};
}

// Tries the addresses in turn, repeatedly: instance 0 may be slow, a network may still come up.
Hub reach_hub(const Invitation& invitation, const Member& self, const Communicator& communicator) {
  while (true) {
    std::vector<std::string> troubles;
    for (const std::string& address : invitation.addresses) {
      Hub hub = call_hub(invitation, address, self);
      if (hub.link) return hub;
      troubles.push_back(concat(address, " port ", invitation.port, ": ", hub.trouble));
    }
    if (communicator.failed()) {  // the watch has waited long enough
      throw CommError(self.describe(), ": cannot reach instance 0 (", join(troubles, "; "),
                      "); every host must be able to reach the host of instance 0 by TCP");
    }
    std::this_thread::sleep_for(kBeforeNextCall);
  }
}

std::optional<milliseconds> seconds_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::optional<double> value = parse_double(text);
  constexpr double kDay = 86400;
  if (!value || !(*value >= 0.001) || *value > kDay) {
    throw InvalidArgument(name, ": expected a number of seconds from 0.001 to ", kDay, ", got '",
                          text, "'");
  }
  return milliseconds(static_cast<int64_t>(*value * 1000));
}

}  // namespace

MonitorOptions monitor_options_from_environment() {
  MonitorOptions options;
  const auto period = seconds_from_environment("PANDO_HEARTBEAT_PERIOD");
  const auto timeout = seconds_from_environment("PANDO_HEARTBEAT_TIMEOUT");
  if (period) options.period = *period;
  options.stall = seconds_from_environment("PANDO_STALL_TIMEOUT").value_or(options.stall);
  options.timeout = timeout.value_or(period ? 4 * *period : options.timeout);
  if (options.period >= options.timeout) {
    throw InvalidArgument("PANDO_HEARTBEAT_PERIOD is ", options.period.count(),
                          " ms and PANDO_HEARTBEAT_TIMEOUT ", options.timeout.count(),
                          " ms: the timeout must be longer, best four times as long");
  }
  if (options.stall.count() > 0 && options.stall < 4 * options.period) {
    throw InvalidArgument("PANDO_STALL_TIMEOUT: expected at least four times ",
                          "PANDO_HEARTBEAT_PERIOD (", options.period.count(), " ms), got ",
                          options.stall.count(), " ms");
  }
  return options;
}

class Monitor::Parts {
 public:
  Parts(Communicator& communicator, const MonitorOptions& options)
      : invitation_(prepare(communicator, options)),
        watch_(communicator, setup(communicator, options)),
        thread_(start_thread("monitor", [this](const std::stop_token&) { watch_.run(); })) {
    try {
      join_job(communicator);
    } catch (...) {
      watch_.stop();
      throw;
    }
  }
  ~Parts() { watch_.stop(); }
  Watch& watch() { return watch_; }

 private:
  Invitation prepare(const Communicator& communicator, const MonitorOptions& options) {
    if (communicator.rank() != 0) return {};
    allow_open_files(communicator.size() + 256);
    listener_ = listen_anywhere();
    return {{random_word(), random_word()},
            listener_->port,
            {options.period, options.timeout},
            network_stack_name(),
            own_addresses()};
  }

  Watch::Setup setup(const Communicator& communicator, const MonitorOptions& options) {
    return {this_member(communicator.rank()), communicator.size(), invitation_.passwords,
            std::exchange(listener_, std::nullopt), options};
  }

  void join_job(Communicator& communicator) {
    const std::string line = broadcast_text(communicator, invitation_.to_line());
    if (communicator.rank() == 0) {
      watch_.wait_until_all_joined();  // the others still have to reach it
      return;
    }
    const Invitation invitation = parse_invitation(line);
    Hub hub = reach_hub(invitation, watch_.self(), communicator);
    watch_.join_hub(std::move(*hub.link), hub.member, invitation.times);
  }

  std::optional<Listener> listener_;  // until it moves to the watch
  Invitation invitation_;
  Watch watch_;
  std::jthread thread_;
};

Monitor::Monitor(Communicator& communicator, const MonitorOptions& options) {
  if (communicator.size() > 1) parts_ = std::make_unique<Parts>(communicator, options);
}

Monitor::~Monitor() = default;

std::string Monitor::self() const { return parts_ ? parts_->watch().self().describe() : ""; }

std::string Monitor::report_failure(const std::string& text, FailureKind kind) {
  if (!parts_) return text;
  Watch& watch = parts_->watch();
  return watch.report(concat(watch.self().describe(), ": ", text), kind);
}

bool Monitor::goodbye(std::optional<std::chrono::milliseconds> patience) {
  return !parts_ || parts_->watch().goodbye(patience);
}

}  // namespace pando::comm
