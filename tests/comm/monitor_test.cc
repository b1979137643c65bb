// Monitors of instances that are threads: a failing instance is named to all, strangers are
// ignored.
// SPDX-License-Identifier: MIT
#include "pando/comm/monitor.h"

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "pando/comm/collectives.h"
#include "pando/comm/tcp_link.h"
#include "tests/support/expect_error.h"
#include "tests/support/in_process.h"

namespace pando::comm {
namespace {

using std::chrono::milliseconds;
using testing_support::error_of;

// A job and the lines of its monitors.
class WatchedJob {
 public:
  explicit WatchedJob(int size) : communicators(in_process_instances(size)), meeting_(size) {
    options.period = milliseconds(50);
    options.timeout = milliseconds(60000);  // on a busy machine a thread may wait for long
    options.ends_process = false;
    options.say = [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    };
    options.on_failure = [this](const std::string&) { ++told; };
  }

  // Runs each instance in a thread of its own, with its index.
  void run(const std::function<void(int index)>& body) {
    std::vector<std::jthread> threads;
    for (int index = 0; index < static_cast<int>(communicators.size()); ++index) {
      threads.emplace_back([&body, index] { body(index); });
    }
  }

  // Waits for the other threads, whatever the communicators say.
  void meet() { meeting_.arrive_and_wait(); }

  Communicator& at(int index) { return *communicators[static_cast<size_t>(index)]; }
  std::string cause(int index) {
    while (!at(index).failed()) std::this_thread::sleep_for(milliseconds(1));
    return error_of<CommError>([&] { at(index).check(); });
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  std::vector<std::shared_ptr<Communicator>> communicators;
  MonitorOptions options;
  std::atomic<int> told{0};

 private:
  std::barrier<> meeting_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(Monitor, AllComeToAGoodEnd) {
  for (const int size : {1, 2, 5}) {
    WatchedJob job(size);
    job.run([&](int index) {
      Monitor monitor(job.at(index), job.options);
      barrier(job.at(index));
      if (size == 1) {
        EXPECT_EQ(monitor.self(), "");
      } else {
        EXPECT_SAYS(monitor.self(), concat("instance ", index, " on "));
      }
      monitor.goodbye();
      EXPECT_SAYS(monitor.report_failure("too late"), "too late");
    });
    EXPECT_TRUE(job.lines().empty());
    EXPECT_EQ(job.told, 0);
    for (int index = 0; index < size; ++index) EXPECT_FALSE(job.at(index).failed());
  }
}

TEST(Monitor, GoodbyeWaitsForTheLast) {
  WatchedJob job(3);
  std::atomic<int> working{3};
  job.run([&](int index) {
    Monitor monitor(job.at(index), job.options);
    std::this_thread::sleep_for(milliseconds(100 * index));
    --working;
    EXPECT_TRUE(monitor.goodbye());
    EXPECT_EQ(working, 0) << "instance " << index;
  });
}

TEST(Monitor, GoodbyeHasItsPatience) {
  WatchedJob job(2);
  job.run([&](int index) {
    Monitor monitor(job.at(index), job.options);
    if (index == 0) {
      EXPECT_FALSE(monitor.goodbye(milliseconds(20)));
    }
    job.meet();
    EXPECT_TRUE(monitor.goodbye(milliseconds(60000)));
  });
}

TEST(Monitor, NamesAnInstanceThatGoesAway) {
  WatchedJob job(3);
  job.run([&](int index) {
    Monitor monitor(job.at(index), job.options);
    job.meet();
    if (index == 2) return;
    const std::string cause = error_of<CommError>([&] { barrier(job.at(index)); });
    EXPECT_SAYS(cause, "instance 2 on ");
    EXPECT_SAYS(cause, ": died: ");
    EXPECT_EQ(error_of<CommError>([&] { monitor.goodbye(); }), cause);
  });
  ASSERT_EQ(job.lines().size(), 1u);
  EXPECT_SAYS(job.lines().front(), "pando: instance 2 on ");
  EXPECT_EQ(job.told, 2);
}

TEST(Monitor, TellsAllWhatAnInstanceReports) {
  for (const int failing : {0, 1, 3}) {
    WatchedJob job(4);
    job.run([&](int index) {
      Monitor monitor(job.at(index), job.options);
      job.meet();
      if (index == failing) {
        EXPECT_SAYS(monitor.report_failure("disk\nfull"), "): disk");
      }
      EXPECT_SAYS(job.cause(index), concat("instance ", failing, " on "));
      EXPECT_SAYS(job.cause(index), "full");
      // A second report changes nothing.
      EXPECT_EQ(monitor.report_failure("later"), job.cause(index));
    });
    ASSERT_EQ(job.lines().size(), 1u);
    EXPECT_SAYS(job.lines().front(), concat("pando: instance ", failing, " on "));
  }
}

TEST(Monitor, NamesTheFirstInstanceWhenItIsGone) {
  WatchedJob job(3);
  job.run([&](int index) {
    Monitor monitor(job.at(index), job.options);
    job.meet();
    if (index == 0) return;
    EXPECT_SAYS(job.cause(index), "instance 0 on ");
    EXPECT_SAYS(job.cause(index), "died");
  });
}

TEST(Monitor, AReportThatAnotherDoesNotAnswerWaitsForABetterCause) {
  for (const int reporting : {0, 1}) {
    WatchedJob job(3);
    job.run([&](int index) {
      Monitor monitor(job.at(index), job.options);
      job.meet();
      if (index == 2) {
        std::this_thread::sleep_for(milliseconds(100));
        return;
      }
      if (index == reporting) monitor.report_failure("no answer", FailureKind::lost_peer);
      EXPECT_SAYS(job.cause(index), "instance 2 on ");
      EXPECT_SAYS(job.cause(index), "died");
    });
  }
}

TEST(Monitor, AReportThatAnotherDoesNotAnswerIsTheCauseWhenThereIsNoOther) {
  for (const int reporting : {0, 1}) {
    WatchedJob job(2);
    job.run([&](int index) {
      Monitor monitor(job.at(index), job.options);
      if (index == reporting) monitor.report_failure("no answer", FailureKind::lost_peer);
      EXPECT_SAYS(job.cause(index), concat("instance ", reporting, " on "));
      EXPECT_SAYS(job.cause(index), "no answer");
    });
  }
}

// Counts like an instance that waits for others.
class Waiting {
 public:
  std::function<int64_t()> activity() {
    return [this] { return is_waiting ? ++count_ : count_; };
  }
  bool is_waiting = true;

 private:
  int64_t count_ = 0;
};

TEST(Monitor, NamesAnInstanceThatHangsWhileOthersWait) {
  for (const int hanging : {0, 2}) {
    WatchedJob job(3);
    job.options.stall = milliseconds(300);
    job.run([&](int index) {
      Waiting waiting;
      waiting.is_waiting = index != hanging;
      MonitorOptions options = job.options;
      options.activity = waiting.activity();
      Monitor monitor(job.at(index), options);
      EXPECT_SAYS(job.cause(index), concat("instance ", hanging, " on "));
      EXPECT_SAYS(job.cause(index), ": hangs: ");
    });
  }
}

TEST(Monitor, AllMayComputeForLong) {
  WatchedJob job(2);
  job.options.stall = milliseconds(1000);
  job.run([&](int index) {
    Waiting waiting;
    waiting.is_waiting = false;
    MonitorOptions options = job.options;
    options.activity = waiting.activity();
    Monitor monitor(job.at(index), options);
    std::this_thread::sleep_for(milliseconds(1500));
    EXPECT_FALSE(job.at(index).failed());
    job.meet();
    monitor.goodbye();
  });
}

// A hand-made instance: reads the invitation and calls instance 0.
class Caller {
 public:
  explicit Caller(Communicator& communicator) {
    words_ = words_of(broadcast_text(communicator, "", 0), 7);
    port_ = static_cast<int>(*parse_int(words_[2]));
  }
  Link call(const std::string& first_line) const {
    Connection connection = connect_to("127.0.0.1", port_, milliseconds(10000));
    EXPECT_EQ(connection.trouble, "");
    Link link(std::move(connection.socket));
    link.send(first_line);
    return link;
  }
  std::string hello(const std::string& rest) const { return "hello " + words_[0] + " " + rest; }
  int port() const { return port_; }

  // The lines until the other side closes or sends a line that starts with `begin`.
  static std::vector<std::string> lines_until(Link& link, const std::string& begin) {
    std::vector<std::string> lines;
    while (link.open()) {
      pollfd waiting{link.descriptor(), POLLIN, 0};
      ::poll(&waiting, 1, -1);
      for (std::string& line : link.receive()) {
        lines.push_back(std::move(line));
        if (lines.back().starts_with(begin)) return lines;
      }
    }
    return lines;
  }

  Link join(int index) const {
    Link link = call(hello(concat(index, " 4242 hostx")));
    EXPECT_EQ(lines_until(link, "welcome").size(), 1u);
    link.send("here");
    return link;
  }

 private:
  std::vector<std::string> words_;
  int port_ = 0;
};

TEST(Monitor, NamesAnInstanceThatIsSilent) {
  WatchedJob job(2);
  job.options.timeout = milliseconds(300);
  job.run([&](int index) {
    if (index == 0) {
      Monitor monitor(job.at(0), job.options);
      EXPECT_SAYS(job.cause(0), "instance 1 on hostx (pid 4242): silent: ");
      EXPECT_SAYS(job.cause(0), "0.3 s");
      return;
    }
    Link link = Caller(job.at(1)).join(1);
    // The silent instance is told too, since it may be back.
    EXPECT_SAYS(Caller::lines_until(link, "failed").back(), "instance 1 on hostx (pid 4242)");
  });
}

TEST(Monitor, NamesAnInstanceThatGoesWhileItWaitsForTheOthers) {
  WatchedJob job(2);
  job.run([&](int index) {
    if (index == 0) {
      Monitor monitor(job.at(0), job.options);
      EXPECT_SAYS(job.cause(0), ": died: ");
      EXPECT_SAYS(job.cause(0), "while it waited");
      return;
    }
    Caller(job.at(1)).join(1).send("bye");
  });
}

TEST(Monitor, HearsNoNonsenseFromAnInstance) {
  WatchedJob job(2);
  job.run([&](int index) {
    if (index == 0) {
      Monitor monitor(job.at(0), job.options);
      EXPECT_SAYS(job.cause(0), "instance 1 on hostx (pid 4242)");
      EXPECT_SAYS(job.cause(0), "same version");
      return;
    }
    Link link = Caller(job.at(1)).join(1);
    link.send("nonsense");
    Caller::lines_until(link, "failed");
  });
}

// Calls that must be refused, one by one, after instance 1 has joined.
void molest(const Caller& caller) {
  for (const std::string& line :
       {std::string("GET / HTTP/1.1"), std::string("hello"), std::string("here"),
        std::string("hello wrong 1 2 host"), std::string("failed instance 1: lies"),
        std::string(5000, 'x'), caller.hello("0 5 host"), caller.hello("3 5 host"),
        caller.hello("-1 5 host"), caller.hello("x 5 host"), caller.hello("1")}) {
    Link link = caller.call(line);
    EXPECT_TRUE(Caller::lines_until(link, "never").empty()) << line;
    EXPECT_FALSE(link.open());
  }
  Link twin = caller.call(caller.hello("1 5 host"));
  EXPECT_EQ(Caller::lines_until(twin, "welcome").size(), 1u);
  twin.send("here");
  Caller::lines_until(twin, "never");
  EXPECT_FALSE(twin.open());  // there is an instance 1 already
}

TEST(Monitor, StrangersAreNobody) {
  WatchedJob job(3);
  job.run([&](int index) {
    if (index != 1) {
      Monitor monitor(job.at(index), job.options);
      barrier(job.at(index));  // all have joined
      barrier(job.at(index));  // all bad callers were refused
      monitor.goodbye();
      return;
    }
    const Caller caller(job.at(1));
    Link own = caller.join(1);
    barrier(job.at(1));
    std::vector<Link> crowd;  // of which the last are turned away
    for (int i = 0; i < 100; ++i) crowd.push_back(caller.call("hel"));
    crowd.clear();
    molest(caller);
    const Link silent = caller.call("hello");
    barrier(job.at(1));
    own.send("bye");
    EXPECT_EQ(Caller::lines_until(own, "bye").back(), "bye");
  });
  EXPECT_TRUE(job.lines().empty());
}

TEST(Monitor, MissesAnInstanceThatDoesNotJoin) {
  WatchedJob job(3);
  job.options.start = milliseconds(200);
  const std::string cause =
      error_of<CommError>([&] { const Monitor monitor(job.at(0), job.options); });
  EXPECT_SAYS(cause, "instance 1: ");
  EXPECT_SAYS(cause, "0.2 s");
}

TEST(Monitor, MissesTheFirstInstance) {
  WatchedJob job(2);
  job.options.start = milliseconds(200);
  const std::string cause =
      error_of<CommError>([&] { const Monitor monitor(job.at(1), job.options); });
  EXPECT_SAYS(cause, "instance 1 on ");
  EXPECT_SAYS(cause, "instance 0");
  EXPECT_SAYS(cause, "0.2 s");
}

TEST(Monitor, SaysWhyTheFirstInstanceCannotBeReached) {
  for (const bool answers : {false, true}) {
    WatchedJob job(2);
    job.options.start = milliseconds(300);
    Listener listener = listen_anywhere();
    broadcast_text(job.at(0), concat("a b ", listener.port, " 50 60000 elsewhere 127.0.0.1 ::x"),
                   0);
    std::jthread other;
    if (answers) {
      other = std::jthread([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          pollfd waiting{listener.socket.descriptor(), POLLIN, 0};
          ::poll(&waiting, 1, 20);
          if (std::optional<Socket> caller = accept_one(listener)) {
            Link(std::move(*caller)).send("SSH-2.0 who are you");
          }
        }
      });
    } else {
      listener.socket.close();
    }
    const std::string cause =
        error_of<CommError>([&] { const Monitor monitor(job.at(1), job.options); });
    EXPECT_SAYS(cause, "instance 0");
    EXPECT_SAYS(cause, "127.0.0.1 port ");
    EXPECT_SAYS(cause, answers ? "another program" : "Connection refused");
    EXPECT_SAYS(cause, "::x port ");
  }
}

class MonitorEnvironment : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("PANDO_HEARTBEAT_PERIOD");
    unsetenv("PANDO_HEARTBEAT_TIMEOUT");
    unsetenv("PANDO_STALL_TIMEOUT");
  }
};

TEST_F(MonitorEnvironment, GivesTheTimes) {
  EXPECT_EQ(monitor_options_from_environment().period, milliseconds(5000));
  EXPECT_EQ(monitor_options_from_environment().timeout, milliseconds(20000));
  setenv("PANDO_HEARTBEAT_PERIOD", "0.5", 1);
  EXPECT_EQ(monitor_options_from_environment().period, milliseconds(500));
  EXPECT_EQ(monitor_options_from_environment().timeout, milliseconds(2000));
  setenv("PANDO_HEARTBEAT_TIMEOUT", "3", 1);
  EXPECT_EQ(monitor_options_from_environment().timeout, milliseconds(3000));
  EXPECT_EQ(monitor_options_from_environment().stall, milliseconds(0));
  setenv("PANDO_STALL_TIMEOUT", "600", 1);
  EXPECT_EQ(monitor_options_from_environment().stall, milliseconds(600000));
}

TEST_F(MonitorEnvironment, RefusesWhatMakesNoSense) {
  const auto refusal = [] { return error_of([] { monitor_options_from_environment(); }); };
  for (const char* bad : {"", "soon", "0", "-1", "nan", "1e9", "5 s"}) {
    setenv("PANDO_HEARTBEAT_TIMEOUT", bad, 1);
    EXPECT_SAYS(refusal(), "PANDO_HEARTBEAT_TIMEOUT");
    EXPECT_SAYS(refusal(), concat("'", bad, "'"));
  }
  setenv("PANDO_HEARTBEAT_TIMEOUT", "2", 1);
  setenv("PANDO_HEARTBEAT_PERIOD", "2", 1);
  for (const char* token : {"PANDO_HEARTBEAT_PERIOD", "PANDO_HEARTBEAT_TIMEOUT", "2000 ms"}) {
    EXPECT_SAYS(refusal(), token);
  }
  setenv("PANDO_HEARTBEAT_PERIOD", "1", 1);
  setenv("PANDO_STALL_TIMEOUT", "3", 1);
  for (const char* token : {"PANDO_STALL_TIMEOUT", "3000 ms", "1000 ms"}) {
    EXPECT_SAYS(refusal(), token);
  }
}

}  // namespace
}  // namespace pando::comm
