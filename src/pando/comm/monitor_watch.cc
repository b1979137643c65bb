// SPDX-License-Identifier: MIT
#include "pando/comm/monitor_watch.h"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::comm {

namespace {

using std::chrono::milliseconds;

// The time for a first cause or a goodbye to reach the others; after it nobody waits for them. Also
// the time that a report of kind lost_peer waits for a better cause.
constexpr milliseconds kDelivery{1000};
constexpr size_t kMaxStrangers = 64;  // in addition to one connection per instance

void write_to_stderr(const std::string& line) {
  const std::string whole = line + "\n";  // one call, so that lines of several processes do not mix
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, whole.data(), whole.size());
}

}  // namespace

std::string Member::describe() const {
  return concat("instance ", index, " on ", host, " (pid ", pid, ")");
}

Watch::Watch(Communicator& communicator, Setup setup)
    : communicator_(communicator),
      self_(std::move(setup.self)),
      size_(setup.size),
      passwords_(std::move(setup.passwords)),
      options_(std::move(setup.options)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      listener_(std::move(setup.listener)),
      joined_(static_cast<size_t>(size_), !is_hub()),
      active_at_(MonitorClock::now()),
      now_(active_at_),
      next_beat_(now_ + options_.period),
      start_until_(now_ + options_.start) {
  if (!wake_.open()) throw ResourceError("the monitor of this instance cannot create an eventfd");
  joined_[0] = is_hub();
}

void Watch::post(const std::function<void(Requests&)>& request) {
  {
    const std::lock_guard lock(mutex_);
    request(requests_);
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.descriptor(), &one, sizeof one);
}

void Watch::stop() {
  post([](Requests& requests) { requests.stop = true; });
}

void Watch::join_hub(Link link, Member hub, const Times& times) {
  post([&](Requests& requests) {
    requests.hub = Peer{std::move(link), std::move(hub), Standing::member, {}};
    requests.times = times;
  });
}

void Watch::wait_until_all_joined() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return published_cause_ || published_all_joined_; });
  if (!published_all_joined_) throw CommError(*published_cause_);
}

std::string Watch::report(const std::string& cause, FailureKind kind) {
  post([&](Requests& requests) {
    if (requests.failure) return;
    requests.failure = cause;
    requests.kind = kind;
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_outcome(); });
  return published_cause_.value_or(cause);
}

bool Watch::goodbye(std::optional<milliseconds> patience) {
  std::unique_lock lock(mutex_);
  if (!std::exchange(said_goodbye_, true)) {
    lock.unlock();
    post([](Requests& requests) { requests.goodbye = true; });
    lock.lock();
  }
  const auto outcome = [this] { return has_outcome(); };
  if (!patience) {
    changed_.wait(lock, outcome);
  } else if (!changed_.wait_for(lock, *patience, outcome)) {
    return false;
  }
  if (published_cause_) throw CommError(*published_cause_);
  return true;
}

void Watch::run() {
  while (wait_for_news()) {
    accept_callers();
    for (Peer& peer : peers_) read(peer);
    lose_closed_peers();
    judge_silence();
    judge_start();
    send_beats();
    advance();
  }
  peers_.clear();
  listener_.reset();
}

bool Watch::wait_for_news() {
  std::vector<pollfd> waiting = {{wake_.descriptor(), POLLIN, 0}};
  if (listener_) waiting.push_back({listener_->socket.descriptor(), POLLIN, 0});
  for (const Peer& peer : peers_) {
    const int events = peer.link.has_unsent() ? POLLIN | POLLOUT : POLLIN;
    waiting.push_back({peer.link.descriptor(), static_cast<short>(events), 0});
  }
  const Time deadline = next_deadline();
  const auto patience = std::chrono::ceil<milliseconds>(deadline - MonitorClock::now());
  ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<int64_t>(0, patience.count())));
  now_ = MonitorClock::now();
  if (now_ - deadline > options_.period) {  // this process itself was stopped, not the others
    for (Peer& peer : peers_) peer.heard_at = now_;
  }
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(wake_.descriptor(), &count, sizeof count);
  return take_requests();
}

bool Watch::take_requests() {
  Requests taken;
  {
    const std::lock_guard lock(mutex_);
    taken = std::exchange(requests_, {});
  }
  if (taken.stop) return false;
  if (taken.hub) {
    taken.hub->heard_at = now_;
    options_.period = taken.times.period;
    options_.timeout = taken.times.timeout;
    next_beat_ = now_ + options_.period;
    peers_.push_back(std::move(*taken.hub));
    joined_[0] = true;
  }
  if (taken.failure) take_report(*taken.failure, taken.kind);
  if (taken.goodbye && !own_goodbye_) {
    own_goodbye_ = true;
    if (!is_hub() && !peers_.empty()) peers_.front().link.send("bye");
  }
  return true;
}

void Watch::take_report(const std::string& text, FailureKind kind) {
  if (phase_ != Phase::watching) return;
  const bool tells_hub = !is_hub() && !peers_.empty();
  if (tells_hub) {
    peers_.front().link.send((kind == FailureKind::own ? "failed " : "lost ") + text);
  } else if (kind == FailureKind::own) {
    settle(text, true);
    return;
  }
  // Instance 0 waits for a better cause; the others wait for its answer, which includes that wait.
  if (!suspicion_) suspicion_ = {text, now_ + (is_hub() ? kDelivery : 3 * kDelivery)};
}

Watch::Time Watch::next_deadline() const {
  if (phase_ != Phase::watching) return phase_until_;
  Time result = next_beat_;
  if (!all_joined()) result = std::min(result, start_until_);
  if (suspicion_) result = std::min(result, suspicion_->until);
  for (const Peer& peer : peers_) result = std::min(result, peer.heard_at + options_.timeout);
  return result;
}

void Watch::accept_callers() {
  if (!listener_) return;
  try {
    while (std::optional<Socket> caller = accept_one(*listener_)) {
      // Too many callers: closes the connection at once; an instance calls again.
      if (peers_.size() >= static_cast<size_t>(size_) + kMaxStrangers) continue;
      peers_.push_back({Link(std::move(*caller)), {}, Standing::stranger, now_});
    }
  } catch (const Error& error) {
    settle(concat(self_.describe(), ": ", error.what()), true);
    listener_.reset();
  }
}

void Watch::read(Peer& peer) {
  peer.link.flush();
  for (const std::string& line : peer.link.receive()) {
    if (peer.standing == Standing::member) {
      peer.heard_at = now_;
      hear(peer, line);
    } else {
      greet(peer, line);
    }
  }
}

void Watch::greet(Peer& peer, const std::string& line) {
  const std::vector<std::string> words = words_of(line, 5);
  if (peer.standing == Standing::welcomed && line == "here") {
    admit(peer);
    return;
  }
  if (peer.standing == Standing::stranger && words.size() == 5 && words[0] == "hello" &&
      words[1] == passwords_.hello) {
    const auto index = parse_int(words[2]);
    const auto pid = parse_int(words[3]);
    if (index && pid && *index > 0 && *index < size_) {
      peer.member = {static_cast<int>(*index), *pid, words[4]};
      peer.standing = Standing::welcomed;
      peer.link.send(concat("welcome ", passwords_.welcome, " ", self_.pid, " ", self_.host));
      return;
    }
  }
  peer.link.close();
}

void Watch::admit(Peer& peer) {
  const auto index = static_cast<size_t>(peer.member.index);
  if (joined_[index]) {
    peer.link.close();
    return;
  }
  joined_[index] = true;
  peer.standing = Standing::member;
  peer.heard_at = now_;
  if (phase_ == Phase::settling || phase_ == Phase::failed) peer.link.send("failed " + cause_);
  if (!all_joined()) return;
  const std::lock_guard lock(mutex_);
  published_all_joined_ = true;
  changed_.notify_all();
}

void Watch::hear(Peer& peer, const std::string& line) {
  const std::vector<std::string> words = words_of(line, 2);
  const std::string rest = words.size() > 1 ? words[1] : "";
  if (words[0] == "beat") {
    peer.idle = milliseconds(parse_int(rest).value_or(0));
  } else if (words[0] == "failed") {
    if (!is_hub()) peer.link.send("heard");
    settle(rest, is_hub());
  } else if (words[0] == "lost") {
    if (!suspicion_) suspicion_ = {rest, now_ + kDelivery};
  } else if (words[0] == "heard") {
    peer.knows_cause = true;
  } else if (words[0] == "bye") {
    peer.said_goodbye = true;
  } else {
    settle(concat(peer.member.describe(),
                  ": its monitor sent an unknown line; all instances must run the same "
                  "version"),
           true);
  }
}

void Watch::lose_closed_peers() {
  for (const Peer& peer : peers_) {
    if (peer.link.open() || peer.standing != Standing::member) continue;
    const char* when =
        peer.said_goodbye ? "while it waited for the others to end" : "without a goodbye";
    const bool at_end = !is_hub() && peer.said_goodbye;
    if (!at_end) {
      settle(concat(peer.member.describe(), ": died: its connection closed ", when), true);
    }
  }
  peers_.remove_if([](const Peer& peer) { return !peer.link.open(); });
}

void Watch::send_beats() {
  if (now_ < next_beat_) return;
  next_beat_ = now_ + options_.period;
  const std::string beat = concat("beat ", own_idle().count());
  for (Peer& peer : peers_) {
    if (peer.standing == Standing::member && !peer.link.has_unsent()) peer.link.send(beat);
  }
  judge_stall();
}

void Watch::settle(const std::string& cause, bool noticed_here) {
  if (phase_ != Phase::watching) return;
  phase_ = Phase::settling;
  phase_until_ = now_ + kDelivery;
  cause_ = cause;
  if (noticed_here) say("pando: " + cause);
  // Instance 0 tells all others, the others tell instance 0. An instance that seems lost also gets
  // the message, because it may only have been stopped for a while.
  for (Peer& peer : peers_) {
    if (peer.standing == Standing::member && noticed_here) peer.link.send("failed " + cause);
  }
}

// Changes the phase according to the lines that have arrived and the deadlines that have passed.
void Watch::advance() {
  if (phase_ == Phase::watching && suspicion_ && now_ >= suspicion_->until) {
    settle(suspicion_->text, true);
  }
  if (phase_ == Phase::settling && (all_know_cause() || now_ >= phase_until_)) publish_failure();
  if (phase_ == Phase::watching && own_goodbye_ && all_said_goodbye()) {
    phase_ = Phase::closing;
    phase_until_ = now_ + kDelivery;
    listener_.reset();
    if (is_hub()) {
      for (Peer& peer : peers_) peer.link.send("bye");
    } else {
      peers_.clear();
    }
  }
  if (phase_ == Phase::closing && (peers_.empty() || now_ >= phase_until_)) publish_end();
  if ((phase_ == Phase::failed || phase_ == Phase::ended) && now_ >= phase_until_) {
    end_late_process();
  }
}

void Watch::publish_failure() {
  phase_ = Phase::failed;
  phase_until_ = now_ + options_.grace;
  communicator_.fail(cause_);
  if (options_.on_failure) options_.on_failure(cause_);
  const std::lock_guard lock(mutex_);
  published_cause_ = cause_;
  changed_.notify_all();
}

void Watch::publish_end() {
  phase_ = Phase::ended;
  phase_until_ = now_ + options_.timeout;
  peers_.clear();
  const std::lock_guard lock(mutex_);
  published_end_ = true;
  changed_.notify_all();
}

void Watch::end_late_process() {
  phase_until_ = now_ + std::chrono::hours(1);
  if (!options_.ends_process) return;
  if (phase_ == Phase::failed) {
    say(concat("pando: ended by force ", in_seconds(options_.grace),
               " after the failure of the job: ", cause_));
  } else {
    say(concat("pando: ended by force: ", self_.describe(), " still ran ",
               in_seconds(options_.timeout), " after all instances had ended"));
  }
  ::_exit(1);
}

void Watch::say(const std::string& line) const {
  if (options_.say) {
    options_.say(line);
  } else {
    write_to_stderr(line);
  }
}

}  // namespace pando::comm
