// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <new>

#include "pando/base/error.h"
#include "pando/grpc/call_impl.h"
#include "pando/http/inflate.h"

namespace pando::grpc {
namespace {

using serve::Code;
using serve::failure;
using serve::Status;

constexpr int64_t kMostHeldBytes = int64_t{1} << 30;  // of all requests that are not complete
// zlib packs nothing further than this, so only the size is limited.
constexpr double kAnyRatio = 2000;

// Messages may repeat what the client sent. nghttp2 sends no more than 64 KiB of trailers, and
// clients accept less.
constexpr size_t kMostStatusText = 1024;

Status too_large(const CallStart& start, int64_t length) {
  return failure(Code::resource_exhausted, "Received message larger than max (", length, " vs. ",
                 start.max_message_bytes, ")");
}

// The beginning of the text, cut between two characters of UTF-8.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kMostStatusText) return text;
  size_t length = kMostStatusText;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return text.substr(0, length);
}

http::CallPart last_part(const Status& status) {
  http::CallPart part{.is_last = true};
  part.trailers.push_back({"grpc-status", std::to_string(static_cast<int>(status.code))});
  if (!status.message.empty()) {
    part.trailers.push_back({"grpc-message", percent_encoded(shortened(status.message))});
  }
  if (status.retry_after_sec > 0) {  // what gRPC's own retries understand
    const auto wait = static_cast<int64_t>(std::ceil(status.retry_after_sec * 1e3));
    part.trailers.push_back({"grpc-retry-pushback-ms", std::to_string(wait)});
  }
  return part;
}

std::string framed(const google::protobuf::MessageLite& message) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw InvalidArgument("the answer has ", bytes, " bytes, more than a message can have");
  }
  std::string frame(kPrefixBytes + bytes, '\0');
  write_prefix(frame.data(), static_cast<uint32_t>(bytes));
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(frame.data() + kPrefixBytes));
  return frame;
}

}  // namespace

void refuse(http::CallSink& sink, const Status& status) { sink.send(last_part(status)); }

Status status_of(const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  if (own != nullptr && own->kind() == ErrorKind::invalid_argument) {
    return failure(Code::invalid_argument, error.what());
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return failure(
        Code::resource_exhausted,
        "the server has not enough memory for this request; send fewer samples, or try later");
  }
  return failure(Code::internal, "the request could not be answered");
}

Call::~Call() { shared().held_bytes -= counted_; }

bool Call::count_held() {
  const int64_t more = splitter_.held() - counted_;
  counted_ += more;
  return (shared().held_bytes += more) <= kMostHeldBytes || more <= 0;
}

void Call::on_data(std::string_view bytes) {
  using Found = MessageSplitter::Found;
  try {
    MessageSplitter::Message message;
    while (!has_ended_) {
      switch (splitter_.next(bytes, message)) {
        case Found::nothing:
          if (count_held()) return;
          return end(failure(Code::resource_exhausted,
                             "the server holds too many large requests at once; try again later"));
        case Found::message: take(message); break;
        case Found::too_large: return end(too_large(start_, splitter_.length()));
        case Found::broken: return end(failure(Code::internal, "expected a message of gRPC"));
      }
    }
  } catch (const std::exception& error) {
    end(status_of(error));
  }
}

void Call::take(const MessageSplitter::Message& message) {
  if (!message.is_packed) return on_message(message.bytes);
  if (start_.packing == Packing::none) {
    return end(failure(Code::internal, "the message is packed, but grpc-encoding says it is not"));
  }
  const int64_t most = start_.max_message_bytes;
  std::string unpacked;
  switch (http::inflate_body(message.bytes, {.bytes = most, .ratio = kAnyRatio}, unpacked)) {
    case http::InflateResult::done: return on_message(unpacked);
    case http::InflateResult::broken:
      return end(
          failure(Code::invalid_argument,
                  "expected a complete gzip or deflate stream, got a truncated or damaged one"));
    case http::InflateResult::too_large: return end(too_large(start_, most + 1));
  }
}

void Call::on_end() {
  if (has_ended_) return;
  try {
    if (splitter_.is_between()) return on_complete();
    end(failure(Code::internal, "the call ended within a message"));
  } catch (const std::exception& error) {
    end(status_of(error));
  }
}

void Call::on_late(http::Clock::time_point now) {
  if (now < start_.deadline) return;
  *cancelled_ = true;
  end(failure(Code::deadline_exceeded, "Deadline Exceeded"));
}

void Call::send(const google::protobuf::MessageLite& message) {
  if (!has_ended_) start_.sink->send({.data = framed(message)});
}

void Call::end(const Status& status, const google::protobuf::MessageLite* message) {
  http::CallPart part = last_part(status);
  if (status.ok() && message != nullptr) part.data = framed(*message);
  if (!has_ended_.exchange(true)) start_.sink->send(std::move(part));
}

bool Call::parse(std::string_view bytes, google::protobuf::MessageLite& message) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return true;
  end(failure(Code::invalid_argument, "expected a message of type ", message.GetTypeName()));
  return false;
}

void UnaryCall::on_message(std::string_view message) {
  if (has_message_) return end(failure(Code::invalid_argument, "expected one message, got two"));
  has_message_ = parse(message, request());
}

void UnaryCall::on_complete() {
  if (!has_message_) return end(failure(Code::invalid_argument, "expected a message, got none"));
  run();
}

void ModelCall::run() {
  auto request = prepare(memory_);
  if (!request) return end(request.status());
  request->deadline = start().deadline;
  request->received = began();
  request->cancelled = cancelled();
  request->after_answers = start().sink->waker();
  request->caller_helps = shared().helps;
  // The callback keeps this call, whose messages the request reads.
  auto self = std::static_pointer_cast<ModelCall>(shared_from_this());
  shared().models.submit(
      std::move(*request),
      [self](const serve::Result<serve::InferResponse>& result) { self->answer(result); });
}

void ModelCall::answer(const serve::Result<serve::InferResponse>& result) {
  if (!result) return end(result.status());
  try {
    end({}, &write(*result));
  } catch (const std::exception& error) {
    end(status_of(error));
  }
}

}  // namespace pando::grpc
