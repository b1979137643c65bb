// SPDX-License-Identifier: MIT
#include "pando/serve/status.h"

namespace pando::serve {

namespace {

struct CodeRecord {
  std::string_view name;
  int http = 500;
};

CodeRecord record_of(Code code) {
  switch (code) {
    case Code::ok: return {"OK", 200};
    case Code::cancelled: return {"CANCELLED", 499};
    case Code::unknown: return {"UNKNOWN", 500};
    case Code::invalid_argument: return {"INVALID_ARGUMENT", 400};
    case Code::deadline_exceeded: return {"DEADLINE_EXCEEDED", 504};
    case Code::not_found: return {"NOT_FOUND", 404};
    case Code::already_exists: return {"ALREADY_EXISTS", 409};
    case Code::permission_denied: return {"PERMISSION_DENIED", 403};
    case Code::resource_exhausted: return {"RESOURCE_EXHAUSTED", 429};
    case Code::failed_precondition: return {"FAILED_PRECONDITION", 400};
    case Code::aborted: return {"ABORTED", 409};
    case Code::out_of_range: return {"OUT_OF_RANGE", 400};
    case Code::unimplemented: return {"UNIMPLEMENTED", 501};
    case Code::internal: return {"INTERNAL", 500};
    case Code::unavailable: return {"UNAVAILABLE", 503};
    case Code::data_loss: return {"DATA_LOSS", 500};
    case Code::unauthenticated: return {"UNAUTHENTICATED", 401};
  }
  return {"UNKNOWN", 500};
}

}  // namespace

std::string_view to_string(Code code) { return record_of(code).name; }
int http_status(Code code) { return record_of(code).http; }

}  // namespace pando::serve
