// The program pando-serve, which `pando serve` and `pando request` start.
// SPDX-License-Identifier: MIT
#include <csignal>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "pando/request/request.h"
#include "pando/server/serve.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is an error of its connection
  std::signal(SIGXFSZ, SIG_IGN);  // a log over the limit is an error of its writer
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (!args.empty() && args[0] == "request") {
    return pando::request::run_request(std::span(args).subspan(1), std::cout, std::cerr);
  }
  return pando::server::run_serve(args, std::cout, std::cerr);
}
