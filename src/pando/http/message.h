// Requests and answers of HTTP as handlers see them.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pando::http {

using Clock = std::chrono::steady_clock;

struct HeaderView {
  std::string_view name;
  std::string_view value;
};

// A complete request. The views are valid until its reply is sent or its stream ends.
struct Request {
  std::string_view method;  // "GET"
  std::string_view target;  // as it was sent: "/v1/models/x?y=1"
  std::string_view path;    // the target up to '?', still with % codes
  std::string_view query;   // what follows '?'
  std::span<const HeaderView> headers;
  std::string_view body;      // unpacked, if it came packed
  std::string_view peer;      // "127.0.0.1:43210", or "unix"
  Clock::time_point began;    // the first byte arrived
  Clock::time_point arrived;  // the last byte arrived

  // The value of a header, whose name is compared without case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct Header {
  std::string name;
  std::string value;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<Header> headers;  // further ones; the server adds length, date and connection
};

// An answer {"error": message}, which is what both protocols of model servers demand.
Response error_response(int status, std::string_view message);

// "Not Found" for 404.
std::string_view reason_of(int status);

// Replaces %41 by A. Returns false if a % is not followed by two digits, or for a zero byte.
bool percent_decode(std::string_view text, std::string& decoded);

// Writes `text` as a JSON string with its quotation marks. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// True if the strings are equal. Takes a time that depends only on the length of `given`, so that
// nobody can guess a secret byte by byte.
bool equal_in_constant_time(std::string_view given, std::string_view secret);
// Whether the value of a header Authorization is "Bearer TOKEN"; "bearer" in any case.
bool is_bearer_of(std::string_view token, std::string_view authorization);

}  // namespace pando::http
