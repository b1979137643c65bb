// The only user of libcurl.
// SPDX-License-Identifier: MIT
#include "pando/fetch/transfer.h"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include <curl/curl.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::fetch {

namespace {

constexpr int64_t kSlowest = 1000;  // bytes per second

// State that the callbacks of one transfer share.
struct Session {
  const TransferRequest& request;
  Receiver& receiver;
  CURL* curl = nullptr;
  int64_t range_start = -1;  // from Content-Range, as is the size of the whole file
  int64_t range_total = -1;
  bool begun = false;
  int64_t position = 0;
  std::string refusal;
  std::exception_ptr error;
};

int64_t status_of(CURL* curl) {
  long status = 0;  // NOLINT(google-runtime-int): libcurl's
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

// "bytes 100-199/200"
void read_content_range(std::string_view value, Session& session) {
  value = trim(value);
  if (!value.starts_with("bytes ")) return;
  value.remove_prefix(6);
  const size_t dash = value.find('-');
  const size_t slash = value.find('/');
  if (dash == value.npos || slash == value.npos) return;
  session.range_start = parse_int(value.substr(0, dash)).value_or(-1);
  session.range_total = parse_int(value.substr(slash + 1)).value_or(-1);  // "*" is not known
}

void read_header(std::string_view line, Session& session) {
  constexpr std::string_view kName = "content-range:";
  if (line.starts_with("HTTP/")) {  // the next answer, after a redirection
    session.range_start = -1;
    session.range_total = -1;
  } else if (to_lower(line.substr(0, kName.size())) == kName) {
    read_content_range(line.substr(kName.size()), session);
  }
}

// Exceptions must not pass through the C code of libcurl: they are kept in the session. Returning
// `aborts` ends the transfer.
template <typename Result, typename Work>
Result guarded(Session& session, Result aborts, const Work& work) {
  try {
    return work();
  } catch (...) {
    session.error = std::current_exception();
    return aborts;
  }
}

size_t take_header(char* data, size_t, size_t count, void* user) {
  Session& session = *static_cast<Session*>(user);
  return guarded(session, size_t{0}, [&] {
    read_header({data, count}, session);
    return count;
  });
}

// Finds the position of the bytes that now arrive, or a reason to refuse them.
void begin_body(Session& session) {
  const TransferRequest& request = session.request;
  const int64_t status = status_of(session.curl);
  int64_t start = 0;
  if (status == 206) start = session.range_start;
  if (status == 0) start = request.offset;  // a file: address sends what is requested
  if (start < 0) {
    session.refusal =
        concat("sent a part of the file without a Content-Range, expected bytes from ",
               request.offset, " on");
    return;
  }
  if (start != 0 && start != request.offset) {
    session.refusal =
        concat("sent bytes from ", start, " on, expected bytes from ", request.offset, " on");
    return;
  }
  curl_off_t length = -1;
  curl_easy_getinfo(session.curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  int64_t total = length < 0 ? request.total : start + length;
  if (session.range_total >= 0) total = session.range_total;
  if (total != request.total) {
    session.refusal = concat("has ", total, " bytes, expected ", request.total);
    return;
  }
  session.position = start;
  session.receiver.begin(start);
}

// Returning less than `count` aborts the transfer.
size_t take_body(char* data, size_t, size_t count, void* user) {
  Session& session = *static_cast<Session*>(user);
  return guarded(session, size_t{0}, [&]() -> size_t {
    if (!session.begun) begin_body(session);
    session.begun = true;
    if (!session.refusal.empty()) return 0;
    if (session.position + static_cast<int64_t>(count) > session.request.total) {
      session.refusal = concat("sent more than the expected ", session.request.total, " bytes");
      return 0;
    }
    session.receiver.receive(std::as_bytes(std::span(data, count)));
    session.position += static_cast<int64_t>(count);
    return count;
  });
}

int take_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  Session& session = *static_cast<Session*>(user);
  return guarded(session, 1, [&] { return session.receiver.wants_stop() ? 1 : 0; });
}

void set_up(CURL* curl, Session& session) {
  const TransferRequest& request = session.request;
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "pando");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, request.connect_seconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowest);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request.stall_seconds);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &session);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &session);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, take_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &session);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (request.offset > 0) {
    // Does not use CURLOPT_RESUME_FROM, which treats a complete answer (200) as an error.
    curl_easy_setopt(curl, CURLOPT_RANGE, concat(request.offset, "-").c_str());
  }
}

TransferResult http_failure(CURL* curl) {
  const int64_t status = status_of(curl);
  TransferResult result{.outcome = Outcome::refused, .reason = concat("HTTP status ", status)};
  if (status == 416) result.outcome = Outcome::bad_range;
  if (status == 408 || status == 429 || status >= 500) {
    curl_off_t wait = 0;
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
    result.outcome = Outcome::broken;
    result.wait_seconds = wait;
  }
  return result;
}

// Whether the server was never reached. A connection that opened has taken some time.
bool is_unreachable(CURLcode code, CURL* curl) {
  constexpr std::array kNeverReached = {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
                                        CURLE_COULDNT_CONNECT};
  if (std::ranges::find(kNeverReached, code) != kNeverReached.end()) return true;
  curl_off_t connected = 0;
  curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connected);
  return code == CURLE_OPERATION_TIMEDOUT && connected == 0;
}

bool may_pass(CURLcode code) {
  constexpr std::array kPassing = {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
                                   CURLE_COULDNT_CONNECT,      CURLE_OPERATION_TIMEDOUT,
                                   CURLE_PARTIAL_FILE,         CURLE_GOT_NOTHING,
                                   CURLE_SEND_ERROR,           CURLE_RECV_ERROR,
                                   CURLE_SSL_CONNECT_ERROR,    CURLE_HTTP2,
                                   CURLE_HTTP2_STREAM};
  return std::ranges::find(kPassing, code) != kPassing.end();
}

TransferResult judge(CURLcode code, const Session& session, const char* detail) {
  if (session.error) std::rethrow_exception(session.error);
  if (!session.refusal.empty()) return {.outcome = Outcome::refused, .reason = session.refusal};
  if (code == CURLE_ABORTED_BY_CALLBACK) return {.outcome = Outcome::stopped, .reason = "stopped"};
  if (code == CURLE_HTTP_RETURNED_ERROR) return http_failure(session.curl);
  if (code != CURLE_OK) {
    const Outcome passing =
        is_unreachable(code, session.curl) ? Outcome::unreachable : Outcome::broken;
    return {.outcome = may_pass(code) ? passing : Outcome::refused,
            .reason = *detail == '\0' ? curl_easy_strerror(code) : detail};
  }
  if (session.begun && session.position == session.request.total) return {};
  return {
      .outcome = Outcome::broken,
      .reason = concat("ended after ", session.position, " of ", session.request.total, " bytes")};
}

}  // namespace

TransferResult transfer(const TransferRequest& request, Receiver& receiver) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  PANDO_CHECK(ready == CURLE_OK);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  PANDO_CHECK(curl != nullptr);
  Session session{.request = request, .receiver = receiver, .curl = curl.get()};
  std::array<char, CURL_ERROR_SIZE> detail = {};
  set_up(curl.get(), session);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail.data());
  const CURLcode code = curl_easy_perform(curl.get());
  return judge(code, session, detail.data());
}

bool is_address(const std::string& url) {
  const std::string lower = to_lower(url);
  return lower.starts_with("http://") || lower.starts_with("https://") ||
         lower.starts_with("file:///");
}

}  // namespace pando::fetch
