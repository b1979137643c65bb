// Starts and stops the server of serve.py.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/base/strings.h"
#include "pando/fetch/digest.h"
#include "pando/fetch/remote_dataset.h"
#include "tests/support/temp_folder.h"

namespace pando::fetch {

class Server {
 public:
  Server() {
    ::setenv("no_proxy", "*", 1);  // ignores the proxies of the user who runs the tests
    int input[2];
    int output[2];
    if (::pipe(input) != 0 || ::pipe(output) != 0) throw std::runtime_error("pipe");
    const std::string script = PANDO_SOURCE_DIR "/tests/fetch/serve.py";
    const std::string folder = files_.path();
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(input[0], STDIN_FILENO);
      ::dup2(output[1], STDOUT_FILENO);
      for (const int descriptor : {input[0], input[1], output[0], output[1]}) ::close(descriptor);
      ::execl(PANDO_PYTHON, PANDO_PYTHON, script.c_str(), folder.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    FILE* lines = ::fdopen(output[0], "r");
    if (std::fscanf(lines, "%d", &port_) != 1) throw std::runtime_error("serve.py gave no port");
    std::fclose(lines);
  }
  ~Server() {
    ::close(input_);
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Removes all files and requests.
  void clear() {
    for (const auto& item : std::filesystem::directory_iterator(files_.path())) {
      std::filesystem::remove(item.path());
    }
  }
  // The folder that it serves.
  const testing_support::TempFolder& files() const { return files_; }
  std::string address(const std::string& manner) const {
    return concat("http://127.0.0.1:", port_, "/", manner);
  }
  // "/ok/x.bin all", "/ok/x.bin bytes=100-"
  std::vector<std::string> requests() const {
    std::vector<std::string> lines = split(files_.read("requests.log"), '\n');
    if (!lines.empty()) lines.pop_back();
    return lines;
  }

 private:
  testing_support::TempFolder files_;
  pid_t child_ = 0;
  int input_ = -1;
  int port_ = 0;
};

// The one server of all tests, without files and requests: starting a new one takes long.
inline Server& fresh_server() {
  static Server server;
  server.clear();
  return server;
}

inline std::string digest_of(const std::string& text, DigestKind kind = DigestKind::sha256) {
  Digest digest(kind);
  digest.update(std::as_bytes(std::span(text)));
  return digest.finish();
}

inline std::string some_text(int64_t bytes) {
  std::string text;
  while (static_cast<int64_t>(text.size()) < bytes) text += std::to_string(text.size()) + " ";
  text.resize(static_cast<size_t>(bytes));
  return text;
}

// A file with the content `text` at `addresses`.
inline RemoteFile remote_file(const std::string& name, const std::string& text,
                              const std::vector<std::string>& addresses = {}) {
  return {.name = name,
          .addresses = addresses,
          .bytes = static_cast<int64_t>(text.size()),
          .sha256 = digest_of(text),
          .md5 = digest_of(text, DigestKind::md5)};
}

}  // namespace pando::fetch
