// Monitors of instances that are processes: killed, stopped, hanging. Without MPI: the few messages
// by which monitors find each other go through pipes.
// SPDX-License-Identifier: MIT
#include <array>
#include <csignal>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/comm/monitor.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::comm {
namespace {

using std::chrono::milliseconds;

// Short messages from instance 0 to the others.
class PipeMessages : public Messages {
 public:
  PipeMessages(const Communicator& owner, const std::vector<std::array<int, 2>>& pipes,
               std::vector<Outgoing> sent, std::vector<Incoming> received)
      : owner_(owner), pipes_(pipes), sent_(std::move(sent)), received_(std::move(received)) {}
  void start() override {
    for (const Outgoing& message : sent_) {
      const int pipe = pipes_[static_cast<size_t>(message.to)][1];
      PANDO_CHECK(::write(pipe, message.bytes.data(), message.bytes.size()) ==
                  static_cast<ssize_t>(message.bytes.size()));
    }
  }
  bool done() override {
    owner_.check();
    while (!received_.empty()) {
      std::span<std::byte>& bytes = received_.back().bytes;
      const int pipe = pipes_[static_cast<size_t>(owner_.rank())][0];
      const ssize_t count = ::read(pipe, bytes.data(), bytes.size());
      if (count < 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(count));
      if (bytes.empty()) received_.pop_back();
    }
    return true;
  }

 private:
  const Communicator& owner_;
  const std::vector<std::array<int, 2>>& pipes_;
  std::vector<Outgoing> sent_;
  std::vector<Incoming> received_;
};

class PipeInstance : public Communicator {
 public:
  PipeInstance(int rank, const std::vector<std::array<int, 2>>& pipes)
      : rank_(rank), pipes_(pipes) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(pipes_.size()); }
  std::unique_ptr<Messages> prepare(std::vector<Outgoing> sent,
                                    std::vector<Incoming> received) override {
    return std::make_unique<PipeMessages>(*this, pipes_, std::move(sent), std::move(received));
  }

 private:
  int rank_;
  const std::vector<std::array<int, 2>>& pipes_;
};

// What an instance does once it has joined; returns its exit code.
using Work = std::function<int(Communicator&, Monitor&)>;

int wait_for_failure(Communicator& communicator, Monitor&) {
  while (!communicator.failed()) std::this_thread::sleep_for(milliseconds(1));
  return 7;
}

MonitorOptions quick() {
  MonitorOptions options;
  options.period = milliseconds(100);
  options.timeout = milliseconds(1000);
  return options;
}

// The instances of one job. Each writes its standard error to a file of its own.
class Processes {
 public:
  Processes(int size, const MonitorOptions& options, const Work& work) {
    pipes_.resize(static_cast<size_t>(size));
    for (std::array<int, 2>& pipe : pipes_) {
      PANDO_CHECK(::pipe2(pipe.data(), O_NONBLOCK | O_CLOEXEC) == 0);
    }
    for (int index = 0; index < size; ++index) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(be(index, options, work));
      pids_.push_back(child);
    }
    for (int index = 0; index < size; ++index) {
      while (folder_.read(concat("joined", index)).empty()) {
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
  }
  ~Processes() {
    for (const std::array<int, 2>& pipe : pipes_) {
      ::close(pipe[0]);
      ::close(pipe[1]);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void send_signal(int index, int number) const {
    ::kill(pids_[static_cast<size_t>(index)], number);
  }
  // The exit code, or minus the signal.
  int end_of(int index) const {
    int status = 0;
    ::waitpid(pids_[static_cast<size_t>(index)], &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string errors_of(int index) const { return folder_.read(concat("errors", index)); }
  std::string name_end(int index) const {
    return concat(" (pid ", pids_[static_cast<size_t>(index)], "): ");
  }

 private:
  int be(int index, const MonitorOptions& options, const Work& work) const {
    const std::string log = folder_.path(concat("errors", index));
    ::dup2(::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600), STDERR_FILENO);
    PipeInstance communicator(index, pipes_);
    Monitor monitor(communicator, options);
    folder_.write_text(concat("joined", index), "1");
    return work(communicator, monitor);
  }

  testing_support::TempFolder folder_;
  std::vector<std::array<int, 2>> pipes_;
  std::vector<pid_t> pids_;
};

TEST(MonitorProcesses, NameOneThatIsKilled) {
  for (const int killed : {0, 2}) {
    MonitorOptions options = quick();
    options.timeout = milliseconds(60000);
    const Processes job(3, options, wait_for_failure);
    job.send_signal(killed, SIGKILL);
    EXPECT_EQ(job.end_of(killed), -SIGKILL);
    EXPECT_EQ(job.end_of(1), 7);
    EXPECT_EQ(job.end_of(2 - killed), 7);
    const std::string line = job.errors_of(killed == 0 ? 1 : 0);
    EXPECT_SAYS(line, concat("pando: instance ", killed, " on "));
    EXPECT_SAYS(line, job.name_end(killed) + "died: ");
    if (killed == 0) continue;
    EXPECT_EQ(job.errors_of(1), "");  // only the instance that notices prints the line
  }
}

TEST(MonitorProcesses, NameOneThatIsStopped) {
  for (const int stopped : {0, 1}) {
    const Processes job(3, quick(), wait_for_failure);
    job.send_signal(stopped, SIGSTOP);
    EXPECT_EQ(job.end_of(1 - stopped), 7);
    EXPECT_EQ(job.end_of(2), 7);
    const std::string line = job.errors_of(stopped == 0 ? 2 : 0);
    EXPECT_SAYS(line, concat("pando: instance ", stopped, " on "));
    EXPECT_SAYS(line, job.name_end(stopped) + "silent: ");
    // The instance learns this when it is continued, and does not accuse others.
    job.send_signal(stopped, SIGCONT);
    EXPECT_EQ(job.end_of(stopped), 7);
    EXPECT_EQ(job.errors_of(stopped).find("died"), std::string::npos);
  }
}

TEST(MonitorProcesses, ForgiveAShortStop) {
  MonitorOptions options = quick();
  options.timeout = milliseconds(30000);
  const Processes job(3, options, [](Communicator&, Monitor& monitor) {
    std::this_thread::sleep_for(milliseconds(800));
    monitor.goodbye();
    return 0;
  });
  for (const int index : {0, 1}) job.send_signal(index, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(500));
  for (const int index : {0, 1}) job.send_signal(index, SIGCONT);
  for (const int index : {0, 1, 2}) {
    EXPECT_EQ(job.end_of(index), 0);
    EXPECT_EQ(job.errors_of(index), "");
  }
}

TEST(MonitorProcesses, AreEndedWhenTheyHangAfterAFailure) {
  MonitorOptions options = quick();
  options.timeout = milliseconds(60000);
  options.grace = milliseconds(200);
  const Processes job(2, options, [](Communicator& communicator, Monitor& monitor) {
    if (communicator.rank() == 1) monitor.report_failure("the disk is full");
    while (true) ::pause();
    return 0;
  });
  for (const int index : {0, 1}) {
    EXPECT_EQ(job.end_of(index), 1);
    EXPECT_SAYS(job.errors_of(index), "pando: ended by force 0.2 s");
    EXPECT_SAYS(job.errors_of(index), job.name_end(1) + "the disk is full\n");
  }
}

TEST(MonitorProcesses, AreEndedWhenTheyHangAfterTheEnd) {
  const Processes job(2, quick(), [](Communicator&, Monitor& monitor) {
    monitor.goodbye();
    while (true) ::pause();
    return 0;
  });
  for (const int index : {0, 1}) {
    EXPECT_EQ(job.end_of(index), 1);
    EXPECT_SAYS(job.errors_of(index), concat("pando: ended by force: instance ", index, " on "));
    EXPECT_SAYS(job.errors_of(index), "still ran 1 s");
  }
}

}  // namespace
}  // namespace pando::comm
