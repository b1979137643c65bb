// SPDX-License-Identifier: MIT
#include "pando/http/routes.h"

#include <algorithm>

#include "pando/base/strings.h"

namespace pando::http {

bool Routes::Route::matches(std::string_view wanted) const {
  return is_prefix ? wanted.starts_with(path) : wanted == path;
}

void Routes::add(std::string method, std::string path, HandlerFunction function) {
  const bool is_prefix = path.ends_with('*');
  if (is_prefix) path.pop_back();
  const auto later = std::ranges::find_if(
      routes_, [&](const Route& other) { return other.path.size() < path.size(); });
  routes_.insert(later, {std::move(method), std::move(path), is_prefix, std::move(function)});
}

void Routes::handle(const Request& request, Reply reply) {
  const std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  std::vector<std::string> allowed;
  for (const Route& route : routes_) {
    if (!route.matches(request.path)) continue;
    if (route.method == "*" || route.method == method) {
      return route.function(request, std::move(reply));
    }
    allowed.push_back(route.method);
  }
  if (allowed.empty()) return reply.send(error_response(404, "there is nothing at this address"));
  Response response = error_response(
      405, concat("this address expects ", join(allowed, " or "), ", got ", request.method));
  response.headers.push_back({"Allow", join(allowed, ", ")});
  reply.send(std::move(response));
}

}  // namespace pando::http
