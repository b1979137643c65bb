// SPDX-License-Identifier: MIT
#include "pando/board/address.h"

#include <algorithm>

#include <arpa/inet.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/http/message.h"

namespace pando::board {
namespace {

bool is_numeric(const std::string& host, int family) {
  in6_addr address = {};
  return ::inet_pton(family, host.c_str(), &address) == 1;
}

// Removes the port. Returns nothing for a host that could be read in two ways.
std::string host_name(std::string_view host) {
  const bool is_bracketed = host.starts_with('[');
  const size_t end = is_bracketed ? host.find(']') : host.find(':');
  const std::string_view name = host.substr(is_bracketed ? 1 : 0, end - (is_bracketed ? 1 : 0));
  const std::string_view rest = end == host.npos ? "" : host.substr(end + (is_bracketed ? 1 : 0));
  const bool is_port = rest.empty() || (rest.size() > 1 && rest[0] == ':' &&
                                        rest.find_first_not_of("0123456789", 1) == rest.npos);
  return is_port && !(is_bracketed && end == host.npos) ? to_lower(name) : "";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (query.empty()) return pairs;
  for (const std::string& part : split(query, '&')) {
    const size_t equals = part.find('=');
    std::pair<std::string, std::string> pair;
    const std::string_view text = part;
    const bool is_whole =
        http::percent_decode(text.substr(0, equals), pair.first) &&
        (equals == part.npos || http::percent_decode(text.substr(equals + 1), pair.second));
    if (!is_whole) throw InvalidArgument("query: expected % codes of two digits, got '", part, "'");
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

bool is_own_host(std::string_view host, const std::vector<std::string>& names) {
  const std::string name = host_name(host);
  if (name.empty()) return false;
  if (host.starts_with('[')) return is_numeric(name, AF_INET6);
  return name == "localhost" || is_numeric(name, AF_INET) ||
         std::ranges::any_of(names, [&](const auto& own) { return to_lower(own) == name; });
}

}  // namespace pando::board
