#include "pando/launch/signal_inbox.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace pando::launch {
namespace {

TEST(SignalInbox, KeepsSignals) {
  SignalInbox inbox;
  EXPECT_EQ(inbox.next(), std::nullopt);
  raise(SIGTERM);
  pollfd end{inbox.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 0), 1);
  EXPECT_EQ(inbox.next(), SIGTERM);
  EXPECT_EQ(inbox.next(), std::nullopt);
  raise(SIGPIPE);
}

TEST(SignalInbox, LeavesIgnoredOnesAlone) {
  struct sigaction ignore = {};
  struct sigaction former = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignore, &former);
  {
    SignalInbox inbox;
    raise(SIGHUP);
    EXPECT_EQ(inbox.next(), std::nullopt);
  }
  sigaction(SIGHUP, &former, nullptr);
}

TEST(SignalInbox, RestoresWhatWas) {
  sigset_t before;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  {
    SignalInbox inbox;
    raise(SIGUSR1);  // never read: it must not end the process later
  }
  sigset_t after;
  sigprocmask(SIG_BLOCK, nullptr, &after);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) {
    EXPECT_EQ(sigismember(&after, number), sigismember(&before, number)) << number;
  }
}

}  // namespace
}  // namespace pando::launch
