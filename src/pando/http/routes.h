// Finds the handler of a request by method and path.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pando/http/reply.h"

namespace pando::http {

using HandlerFunction = std::function<void(const Request& request, Reply reply)>;

// Fill it before the server starts. No route for a path: 404. None for the method: 405 with Allow.
class Routes : public Handler {
 public:
  // `path` is matched as it was sent. If it ends in '*', it matches every path that begins so. The
  // longest match wins. `method` "*" matches every method. HEAD is a GET without its body.
  void add(std::string method, std::string path, HandlerFunction function);
  void handle(const Request& request, Reply reply) override;

 private:
  struct Route {
    std::string method;
    std::string path;  // without '*'
    bool is_prefix;
    HandlerFunction function;
    bool matches(std::string_view wanted) const;
  };
  std::vector<Route> routes_;  // longer paths first
};

}  // namespace pando::http
