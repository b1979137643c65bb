// A variable of the environment that a test changes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace pando::testing_support {

// Gives the variable back its value, or removes it again, at the end of a scope.
class KeptEnvironment {
 public:
  explicit KeptEnvironment(std::string name) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
  }
  KeptEnvironment(std::string name, const char* value) : KeptEnvironment(std::move(name)) {
    setenv(name_.c_str(), value, 1);
  }
  ~KeptEnvironment() {
    if (before_) {
      setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }
  KeptEnvironment(const KeptEnvironment&) = delete;
  KeptEnvironment& operator=(const KeptEnvironment&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace pando::testing_support
