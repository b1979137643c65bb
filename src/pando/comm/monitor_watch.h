// The thread of a monitor: exchanges signs of life, finds the first cause of a failure and reports
// it.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pando/comm/monitor.h"
#include "pando/comm/tcp_link.h"

namespace pando::comm {

using MonitorClock = std::chrono::steady_clock;

// An instance as messages name it.
struct Member {
  int index = 0;
  int64_t pid = 0;
  std::string host;
  std::string describe() const;  // "instance 1 on hostb (pid 123)"
};

std::string in_seconds(std::chrono::milliseconds time);  // "0.5 s"

// The words by which instances recognise each other: strangers may call the same port.
struct Passwords {
  std::string hello;
  std::string welcome;
};

// The times that are the same for all instances.
struct Times {
  std::chrono::milliseconds period{};
  std::chrono::milliseconds timeout{};
};

// The lines of the protocol:
//   instance i to instance 0          instance 0 to instance i
//   hello <password> <i> <pid> <host>
//                                     welcome <password> <pid> <host>
//   here
//   beat <ms without activity>        beat <ms without activity>
//   failed <cause> | lost <cause>     failed <first cause>
//   heard
//   bye                               bye   (when all have said it; then i closes)
//
// Phases: watching -> settling (the first cause is found; instance 0 waits until the others have
// heard it) -> failed, or watching -> closing (instance 0 waits until the others have closed) ->
// ended.
class Watch {
 public:
  struct Setup {
    Member self;
    int size = 1;
    Passwords passwords;
    std::optional<Listener> listener;  // only on instance 0
    MonitorOptions options;
  };
  Watch(Communicator& communicator, Setup setup);

  void run();  // the thread's body, until stop()

  // Called by other threads.
  void stop();
  void join_hub(Link link, Member hub, const Times& times);
  void wait_until_all_joined();  // on instance 0; throws CommError if one does not
  std::string report(const std::string& cause, FailureKind kind);
  bool goodbye(std::optional<std::chrono::milliseconds> patience);
  const Member& self() const { return self_; }

 private:
  enum class Phase { watching, settling, failed, closing, ended };
  enum class Standing { stranger, welcomed, member };
  using Time = MonitorClock::time_point;
  struct Peer {
    Link link;
    Member member;
    Standing standing = Standing::stranger;
    Time heard_at;
    std::chrono::milliseconds idle{};
    bool said_goodbye = false;
    bool knows_cause = false;
  };
  struct Cause {
    std::string text;
    Time until;  // it is the first cause if there is no better one by then
  };
  struct Requests {
    std::optional<Peer> hub;
    Times times{};  // set together with `hub`
    std::optional<std::string> failure;
    FailureKind kind = FailureKind::own;
    bool goodbye = false;
    bool stop = false;
  };

  bool is_hub() const { return self_.index == 0; }
  void post(const std::function<void(Requests&)>& request);
  bool has_outcome() const { return published_cause_ || published_end_; }  // mutex_ is held
  bool wait_for_news();                                                    // false: stop
  bool take_requests();
  void take_report(const std::string& text, FailureKind kind);
  Time next_deadline() const;
  void accept_callers();
  void read(Peer& peer);
  void hear(Peer& peer, const std::string& line);
  void greet(Peer& peer, const std::string& line);
  void admit(Peer& peer);
  void lose_closed_peers();
  void send_beats();
  std::chrono::milliseconds own_idle();
  void judge_silence();
  void judge_stall();
  void judge_start();
  void settle(const std::string& cause, bool noticed_here);
  void advance();
  void publish_failure();
  void publish_end();
  void end_late_process();
  bool all_joined() const;
  bool all_said_goodbye() const;
  bool all_know_cause() const;
  void say(const std::string& line) const;

  Communicator& communicator_;
  const Member self_;
  const int size_;
  const Passwords passwords_;
  MonitorOptions options_;
  Socket wake_;  // an event that wakes the thread

  // Used by the thread only.
  std::optional<Listener> listener_;
  std::list<Peer> peers_;     // instance 0 has all others, the others have instance 0
  std::vector<bool> joined_;  // by instance; true for those that this one does not watch
  Phase phase_ = Phase::watching;
  std::string cause_;
  std::optional<Cause> suspicion_;  // a cause that may be the consequence of another
  bool own_goodbye_ = false;
  int64_t activity_ = 0;
  Time active_at_;
  Time now_;
  Time next_beat_;
  Time start_until_;
  Time phase_until_;  // of settling, failed, closing, ended

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Requests requests_;
  bool said_goodbye_ = false;
  bool published_all_joined_ = false;
  std::optional<std::string> published_cause_;
  bool published_end_ = false;
};

}  // namespace pando::comm
