#include "pando/fetch/download.h"

#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"

namespace pando::fetch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

class Downloads : public testing::Test {
 protected:
  Downloads() { server_.files().write_text("x", text_); }

  RemoteFile file(const std::vector<std::string>& manners) const {
    std::vector<std::string> addresses;
    for (const std::string& manner : manners) addresses.push_back(server_.address(manner) + "/x");
    return remote_file("x", text_, addresses);
  }
  void get(const RemoteFile& file, int retries = 2) {
    ProgressLine progress({.out = &out_});
    download(file, folder_.path(),
             {.retry = {.retries = retries, .first_wait = 0.01, .stall_seconds = 30},
              .stop = &stop_,
              .progress = &progress});
  }
  void expect_whole() const {
    EXPECT_EQ(folder_.read("x"), text_);
    EXPECT_EQ(folder_.entries(), 1);
  }
  using Requests = std::vector<std::string>;

  Server& server_ = fresh_server();
  std::string text_ = some_text(100'000);
  TempFolder folder_;
  std::ostringstream out_;
  std::atomic<bool> stop_{false};
};

TEST_F(Downloads, AFile) {
  get(file({"ok"}));
  expect_whole();
  EXPECT_SAYS(out_.str(), "x: 97.7 KiB in ");
}

TEST_F(Downloads, ReplacesAnotherFile) {
  folder_.write_text("x", "old");
  get(file({"ok"}));
  expect_whole();
}

TEST_F(Downloads, GoesOnWhereAnotherEnded) {
  folder_.write_text("x.part", text_.substr(0, 60'000));
  get(file({"ok"}));
  expect_whole();
  EXPECT_EQ(server_.requests(), Requests{"/ok/x bytes=60000-"});
}

TEST_F(Downloads, GoesOnAfterACut) {
  get(file({"cut-40000"}));
  expect_whole();
  EXPECT_EQ(server_.requests(), (Requests{"/cut-40000/x all", "/cut-40000/x bytes=40000-",
                                          "/cut-40000/x bytes=80000-"}));
  EXPECT_SAYS(out_.str(), "again in 0 s");
}

// Each round brings more than a megabyte, so it does not count as a retry.
TEST_F(Downloads, ARoundThatBringsMuchIsNoRetry) {
  text_ = some_text(6'000'000);
  server_.files().write_text("x", text_);
  get(file({"cut-1500000"}), 1);
  expect_whole();
}

TEST_F(Downloads, GivesUpWhenCutsBringNothingNew) {
  const std::string message = error_of<NotFetched>([&] { get(file({"cutwhole-40000"}), 2); });
  EXPECT_SAYS(message, "x: http://127.0.0.1:");
  EXPECT_EQ(server_.requests().size(), 3u);
  EXPECT_EQ(folder_.read("x.part").size(), 40'000u) << "the next fetch may resume";
}

TEST_F(Downloads, WholePartsNeedNoServer) {
  folder_.write_text("x.part", text_);
  get(file({"missing"}));
  expect_whole();
  EXPECT_EQ(server_.requests(), Requests{});
}

TEST_F(Downloads, TooLongPartsStartOver) {
  folder_.write_text("x.part", text_ + "x");
  get(file({"ok"}));
  expect_whole();
  EXPECT_EQ(server_.requests(), Requests{"/ok/x all"});
}

TEST_F(Downloads, StartsOverWhenTheServerIgnoresTheRange) {
  folder_.write_text("x.part", std::string(60'000, '?'));
  get(file({"whole"}));
  expect_whole();
}

TEST_F(Downloads, StartsOverWhenTheServerHasNoSuchRange) {
  folder_.write_text("x.part", text_.substr(0, 60'000));
  get(file({"badrange"}), 0);
  expect_whole();
  EXPECT_EQ(server_.requests(), (Requests{"/badrange/x bytes=60000-", "/badrange/x all"}));
}

// The part belongs to another version of the file.
TEST_F(Downloads, AMixtureStartsOver) {
  folder_.write_text("x.part", std::string(60'000, '?'));
  get(file({"ok"}), 0);
  expect_whole();
  EXPECT_EQ(server_.requests(), (Requests{"/ok/x bytes=60000-", "/ok/x all"}));
}

TEST_F(Downloads, AWholePartOfWrongBytesStartsOver) {
  folder_.write_text("x.part", std::string(text_.size(), '?'));
  get(file({"ok"}), 0);
  expect_whole();
}

TEST_F(Downloads, BusyServersAreAskedAgain) {
  get(file({"busy-2"}));
  expect_whole();
  EXPECT_EQ(server_.requests().size(), 3u);
}

TEST_F(Downloads, WaitsAsLongAsTheServerAsks) {
  get(file({"later-1"}));
  expect_whole();
  EXPECT_SAYS(out_.str(), "again in 1 s");
}

TEST_F(Downloads, MissingFilesAreNotAskedForAgain) {
  const std::string message = error_of<NotFetched>([&] { get(file({"missing"})); });
  EXPECT_SAYS(message, "HTTP status 404");
  EXPECT_EQ(server_.requests().size(), 1u);
  EXPECT_EQ(folder_.entries(), 0);
  EXPECT_SAYS(error_of<NotFetched>([&] { get(file({"never"})); }), "HTTP status 416");
}

// A port that nothing listens to, as without a network: one round is enough.
TEST_F(Downloads, WithoutANetworkThereIsOneRound) {
  RemoteFile unreachable = file({"ok"});
  unreachable.addresses = {"http://127.0.0.1:9/x", "http://no-such-host.invalid/x"};
  EXPECT_SAYS(error_of<NotFetched>([&] { get(unreachable, 1000000); }), "127.0.0.1:9",
              "no-such-host.invalid");
  EXPECT_EQ(out_.str().find("again"), std::string::npos) << out_.str();
}

TEST_F(Downloads, AnAddressThatAnsweredIsAskedAgain) {
  RemoteFile mixed = file({"cut-40000"});
  mixed.addresses.insert(mixed.addresses.begin(), "http://127.0.0.1:9/x");
  get(mixed);
  expect_whole();
  EXPECT_SAYS(out_.str(), "again in 0 s");
}

TEST_F(Downloads, TheNextAddressHasIt) {
  get(file({"missing", "longer", "wrong", "ok"}));
  expect_whole();
  EXPECT_EQ(server_.requests(),
            (Requests{"/missing/x all", "/longer/x all", "/wrong/x all", "/ok/x all"}));
}

TEST_F(Downloads, TheNextAddressGoesOn) {
  get(file({"cut-40000", "ok"}));
  expect_whole();
  EXPECT_EQ(server_.requests(), (Requests{"/cut-40000/x all", "/ok/x bytes=40000-"}));
}

TEST_F(Downloads, WrongBytesAreRemoved) {
  const RemoteFile wanted = file({"wrong"});
  const std::string message = error_of<NotFetched>([&] { get(wanted); });
  EXPECT_SAYS(message, "/wrong/x: ");
  EXPECT_SAYS(message, "sha256");
  EXPECT_SAYS(message, wanted.sha256);
  EXPECT_EQ(folder_.entries(), 0);
}

TEST_F(Downloads, ThePublishersChecksumCountsToo) {
  RemoteFile wanted = file({"ok"});
  wanted.md5 = std::string(32, '0');
  EXPECT_SAYS(error_of<NotFetched>([&] { get(wanted); }), "md5");
}

TEST_F(Downloads, StopsAndKeepsWhatCame) {
  std::thread stopper([&] {
    while (folder_.read("x.part").size() < 5000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    stop_ = true;
  });
  const std::string message = error_of<FetchStopped>([&] { get(file({"stall-5000"})); });
  stopper.join();
  EXPECT_SAYS(message, "x: stopped");
  EXPECT_SAYS(message, "5000 of 100000 bytes");
  EXPECT_SAYS(message, folder_.path("x.part"));
  EXPECT_EQ(folder_.read("x.part"), text_.substr(0, 5000));
  EXPECT_THROW(get(file({"busy-1"})), FetchStopped) << "while it waits";
}

TEST_F(Downloads, FindsFaults) {
  const RemoteFile wanted = file({});
  EXPECT_SAYS(find_fault(wanted, folder_.path("x")), "No such file");
  EXPECT_SAYS(find_fault(wanted, folder_.write_text("x", "short")), "5 bytes, expected 100000");
  EXPECT_EQ(find_fault(wanted, folder_.write_text("x", text_)), "");
}

}  // namespace
}  // namespace pando::fetch
