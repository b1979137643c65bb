// A temporary folder for the running test, removed at its end.
// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace pando::app {

struct TestFolder {
  std::filesystem::path path;

  TestFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path =
        std::filesystem::path(testing::TempDir()) /
        ("pando-" + std::to_string(getpid()) + "-" + test->test_suite_name() + "-" + test->name());
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
};

// Limits the size of files during its lifetime: a write stops in the middle, as on a full disk.
struct FileLimit {
  rlimit old{};
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    const rlimit now{.rlim_cur = bytes, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &old); }
};

// The message of the error that `action` throws, or "" if it throws none of this kind.
template <typename ErrorType, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "";
}

}  // namespace pando::app
