#include "pando/app/run/exchange_log.h"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

struct Logged {
  Logged() : directory({.path = folder.path / "run"}), log(directory, out, false) {}
  TestFolder folder;
  std::ostringstream out;
  RunDirectory directory;
  RunLog log;
};

TEST(ExchangeLog, TellsBytesAndWaitsPerUpdate) {
  Logged to;
  const auto callback = exchange_log(to.log);
  FitContext context{.updates = 100};
  for (int fit = 0; fit < 2; ++fit) {  // a second fit starts counting again
    context.updates = 100;
    callback->on_train_begin(context);
    for (int epoch = 0; epoch < 2; ++epoch) {
      callback->on_epoch_begin(context);
      for (int execution = 1; execution <= 2; ++execution) {
        context.updates += 5;
        context.seconds = 0.5 * execution;
        context.exchange = {.bytes_sent = 10240, .exposed_seconds = 0.05};
        callback->on_execution_end(context, {});
      }
    }
  }
  EXPECT_SAYS(to.folder.read("run/log.txt"), "2.0 KiB per weight update\n");
  EXPECT_EQ(to.out.str(), "");
  callback->on_train_end(context);
  EXPECT_SAYS(to.out.str(), "2.0 KiB per weight update", "10.00 ms per weight update", "10.0 %");
}

TEST(ExchangeLog, SaysNothingWhenNothingTravelled) {
  Logged to;
  const auto callback = exchange_log(to.log);
  FitContext context;
  callback->on_train_begin(context);
  callback->on_execution_end(context, {});
  callback->on_train_end(context);
  EXPECT_EQ(to.out.str(), "");
}

}  // namespace
}  // namespace pando::app
