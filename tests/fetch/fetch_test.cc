#include "pando/fetch/fetch.h"

#include <filesystem>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "pando/fetch/folders.h"
#include "tests/fetch/archives.h"
#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"

namespace pando::fetch {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;
using testing_support::TempFolder;

class Fetching : public testing::Test {
 protected:
  Fetching() {
    for (const char* name : {"a.gz", "b.gz"}) {
      const std::string text = some_text(5000) + name;
      server_.files().write_text(name, text);
      plain_.files.push_back(remote_file(name, text, {server_.address("ok") + "/" + name}));
    }
    make_tar(server_.files().path("p.tar.gz"), {"in/", "in/x.bin=3000", "in/readme=10", "in/y=1"});
    packed_.files = {remote_file("p.tar.gz", server_.files().read("p.tar.gz"),
                                 {server_.address("ok") + "/p.tar.gz"})};
    packed_.files[0].contents = {{.path = "in/x.bin", .bytes = 3000},
                                 {.path = "in/readme", .bytes = 99, .optional = true}};
  }

  std::string get(const RemoteDataset& entry, FetchOptions options = {}) {
    out_.str("");
    options.folder = folder_.path();
    options.out = &out_;
    options.retry.first_wait = 0.01;
    return fetch_dataset(entry, options);
  }
  FetchOptions from(const std::string& manner) const {
    return {.mirror = server_.address(manner), .retry = {.retries = 1}};
  }

  Server& server_ = fresh_server();
  RemoteDataset plain_ = {.name = "plain", .homepage = "https://home"};
  RemoteDataset packed_ = {.name = "packed", .subfolder = "in"};
  TempFolder folder_;
  std::ostringstream out_;
};

TEST_F(Fetching, PlainFiles) {
  EXPECT_EQ(find_fetched(plain_, folder_.path()), std::nullopt);
  EXPECT_EQ(get(plain_), folder_.path("plain"));
  EXPECT_EQ(find_fetched(plain_, folder_.path()), folder_.path("plain"));
  EXPECT_EQ(folder_.read("plain/a.gz"), server_.files().read("a.gz"));
  EXPECT_EQ(folder_.read("plain/b.gz"), server_.files().read("b.gz"));
  EXPECT_SAYS(out_.str(), "plain is now in " + folder_.path("plain"));
}

TEST_F(Fetching, AnArchive) {
  EXPECT_EQ(get(packed_), folder_.path("packed/in"));
  EXPECT_EQ(find_fetched(packed_, folder_.path()), folder_.path("packed/in"));
  EXPECT_EQ(folder_.read("packed/in/x.bin"), std::string(3000, 'a'));
  EXPECT_EQ(folder_.read("packed/in/SHA256SUMS"), digest_of(std::string(3000, 'a')) + "  x.bin\n" +
                                                      digest_of(std::string(10, 'a')) +
                                                      "  readme\n");
  EXPECT_FALSE(fs::exists(folder_.path("packed/in/y")));
  const fs::directory_iterator all(folder_.path("packed"));
  EXPECT_EQ(std::distance(begin(all), end(all)), 1) << "no archive, lock or working folder stays";
}

TEST_F(Fetching, WhatIsThereIsNotFetchedAgain) {
  for (const RemoteDataset* entry : {&plain_, &packed_}) {
    get(*entry);
    const size_t requests = server_.requests().size();
    get(*entry, from("missing"));
    EXPECT_EQ(out_.str(), entry->name + " is in " + *find_fetched(*entry, folder_.path()) + "\n");
    EXPECT_EQ(server_.requests().size(), requests);
    get(*entry, {.force = true});
    EXPECT_EQ(server_.requests().size(), requests + entry->files.size());
  }
}

TEST_F(Fetching, OnlyDamagedFilesAreFetchedAgain) {
  get(plain_);
  std::string text = folder_.read("plain/b.gz");
  text[100] ^= 1;
  folder_.write_text("plain/b.gz", text);
  get(plain_);
  EXPECT_SAYS(out_.str(), "b.gz: its sha256");
  EXPECT_EQ(folder_.read("plain/b.gz"), server_.files().read("b.gz"));
  EXPECT_EQ(server_.requests().size(), 3u);
}

TEST_F(Fetching, DamagedUnpackedFilesAreFetchedAgain) {
  get(packed_);
  folder_.write_text("packed/in/x.bin", std::string(3000, 'b'));
  get(packed_);
  EXPECT_SAYS(out_.str(), "x.bin");
  EXPECT_EQ(folder_.read("packed/in/x.bin"), std::string(3000, 'a'));
  fs::remove(folder_.path("packed/in/readme"));
  get(packed_);
  EXPECT_SAYS(out_.str(), "readme");
  EXPECT_TRUE(fs::exists(folder_.path("packed/in/readme")));
}

// Unpacked by hand: sizes are all that is known.
TEST_F(Fetching, TakesFilesWithoutChecksumsByTheirSizes) {
  fs::create_directories(folder_.path("packed/in"));
  folder_.write_text("packed/in/x.bin", std::string(3000, 'c'));
  EXPECT_EQ(get(packed_, from("missing")), folder_.path("packed/in"));
}

TEST_F(Fetching, TakesAnArchiveThatSomebodyPutThere) {
  fs::create_directories(folder_.path("packed"));
  folder_.write_text("packed/p.tar.gz", server_.files().read("p.tar.gz"));
  EXPECT_EQ(get(packed_, from("missing")), folder_.path("packed/in"));
  EXPECT_TRUE(fs::exists(folder_.path("packed/p.tar.gz")))
      << "only archives that were fetched are removed";
}

TEST_F(Fetching, RemovesWhatAKilledFetchLeft) {
  fs::create_directories(folder_.path("packed/.unpacking-abc/in"));
  get(packed_);
  EXPECT_FALSE(fs::exists(folder_.path("packed/.unpacking-abc")));
}

TEST_F(Fetching, FromAMirror) {
  for (RemoteFile& file : plain_.files) file.addresses = {"http://127.0.0.1:0/x"};
  get(plain_, from("redirect"));
  EXPECT_EQ(folder_.read("plain/a.gz"), server_.files().read("a.gz"));
  get(plain_, {.mirror = "file://" + server_.files().path() + "/", .force = true});
  EXPECT_EQ(folder_.read("plain/a.gz"), server_.files().read("a.gz"));
}

TEST_F(Fetching, AMirrorMustBeAnAddress) {
  const std::string message = error_of([&] { get(plain_, {.mirror = "/srv/data"}); });
  EXPECT_SAYS(message, "mirror");
  EXPECT_SAYS(message, "'/srv/data'");
  EXPECT_SAYS(message, "http://");
}

TEST_F(Fetching, ChecksumsHoldForMirrorsToo) {
  const std::string message = error_of<NotFetched>([&] { get(plain_, from("wrong")); });
  EXPECT_SAYS(message, "plain: ");
  EXPECT_SAYS(message, "a.gz: ");
  EXPECT_SAYS(message, plain_.files[0].sha256);
  EXPECT_FALSE(fs::exists(folder_.path("plain/a.gz")));
}

TEST_F(Fetching, SaysWhatToDoWithoutANetwork) {
  plain_.files[0].addresses = {"http://127.0.0.1:0/a.gz"};
  const std::string message = error_of<NotFetched>([&] { get(plain_, {.retry = {.retries = 0}}); });
  EXPECT_SAYS(message, "http://127.0.0.1:0/a.gz: ");
  EXPECT_SAYS(message, "a.gz, b.gz");
  EXPECT_SAYS(message, "https://home");
  EXPECT_SAYS(message, folder_.path("plain"));
  EXPECT_SAYS(message, "--dataset-path");
  EXPECT_SAYS(message, "--mirror");
}

TEST_F(Fetching, GoesOnAndForceStartsOver) {
  const std::string text = server_.files().read("a.gz");
  fs::create_directories(folder_.path("plain"));
  folder_.write_text("plain/a.gz.part", text.substr(0, 4000));
  get(plain_);
  EXPECT_EQ(server_.requests()[0], "/ok/a.gz bytes=4000-");
  folder_.write_text("plain/a.gz.part", text.substr(0, 4000));
  get(plain_, {.force = true});
  EXPECT_EQ(server_.requests()[2], "/ok/a.gz all");
}

TEST_F(Fetching, AsksForRoomFirst) {
  plain_.files[0].bytes = int64_t{1} << 60;
  const std::string message = error_of<IoError>([&] { get(plain_); });
  EXPECT_SAYS(message, "'" + folder_.path("plain") + "'");
  EXPECT_SAYS(message, "--folder");
  EXPECT_EQ(server_.requests().size(), 0u);
}

TEST_F(Fetching, NamesAFolderThatCannotBeMade) {
  const std::string file = folder_.write_text("file", "");
  FetchOptions options{.folder = file};
  const std::string message = error_of<IoError>([&] { fetch_dataset(plain_, options); });
  EXPECT_SAYS(message, "'" + file + "/plain'");
  EXPECT_SAYS(message, "Not a directory", "--folder");
}

TEST_F(Fetching, ABadArchiveLeavesNothing) {
  packed_.files[0].contents[0].bytes = 3001;
  EXPECT_SAYS(error_of<IoError>([&] { get(packed_); }), "3000 bytes instead of 3001");
  EXPECT_FALSE(fs::exists(folder_.path("packed/in")));
}

TEST_F(Fetching, SaysWhenTheFolderCannotBePutInPlace) {
  make_tar(server_.files().path("p.tar.gz"), {"no/in/x.bin=3000"});
  packed_.files[0] = remote_file("p.tar.gz", server_.files().read("p.tar.gz"),
                                 {server_.address("ok") + "/p.tar.gz"});
  packed_.files[0].contents = {{.path = "no/in/x.bin", .bytes = 3000}};
  packed_.subfolder = "no/in";
  const std::string message = error_of<IoError>([&] { get(packed_); });
  EXPECT_SAYS(message, "'" + folder_.path("packed/no/in") + "'");
  EXPECT_SAYS(message, "No such file");
}

TEST_F(Fetching, TwoAtOnceFetchOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { fetch_dataset(packed_, {.folder = folder_.path()}); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_.requests().size(), 1u);
  EXPECT_TRUE(find_fetched(packed_, folder_.path()));
}

TEST_F(Fetching, StopsWhileItWaitsForAnother) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    error_of<FetchStopped>([&] {
      fetch_dataset(
          packed_,
          {.folder = folder_.path(), .mirror = server_.address("stall-10"), .stop = &stop});
    });
  });
  while (server_.requests().empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::atomic<bool> now{true};
  EXPECT_SAYS(error_of<FetchStopped>([&] { get(packed_, {.stop = &now}); }), "packed: stopped");
  stop = true;
  other.join();
}

}  // namespace
}  // namespace pando::fetch
