// SPDX-License-Identifier: MIT
#include "pando/request/server_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::request {

ServerProcess::ServerProcess(const std::vector<std::string>& args) {
  std::vector<std::string> words = {"pando-serve"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe(ends) != 0) throw IoError("cannot start the server: ", std::strerror(errno));
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // it ends with us, however we end
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
  char c = 0;
  while (line_.find('\n') == std::string::npos && ::read(output_, &c, 1) == 1) line_ += c;
  if (line_.find(" ready after") == std::string::npos) {
    const std::string said = line_.empty() ? "it ended" : line_;
    stop();
    throw IoError("the server did not start: ", said);
  }
}

ServerProcess::~ServerProcess() { stop(); }

void ServerProcess::stop() {
  if (process_ > 0) {
    ::kill(process_, SIGTERM);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (output_ >= 0) ::close(output_);
  process_ = output_ = -1;
}

int ServerProcess::port(const std::string& scheme) const {
  const size_t place = line_.find(scheme + "://");
  const size_t colon =
      place == std::string::npos ? place : line_.find(':', place + scheme.size() + 3);
  return colon == std::string::npos ? 0 : std::atoi(line_.c_str() + colon + 1);
}

}  // namespace pando::request
