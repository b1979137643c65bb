// How a worker computes a batch and answers its requests.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <new>

#include "pando/base/error.h"
#include "pando/serve/batcher.h"
#include "pando/serve/job_impl.h"

namespace pando::serve {

bool Batcher::Scratch::reserve(size_t pieces, size_t input_count, size_t output_count) {
  parts.clear();
  try {
    parts.reserve(pieces);
    inputs.assign(pieces * input_count, nullptr);
    outputs.assign(pieces * output_count, nullptr);
    if (rows.size() < inputs.size()) rows.resize(inputs.size());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Writes where the samples of a piece are. False: they cannot be read, or another piece of the
// request failed.
bool Batcher::prepare(const LoadedModel& model, Piece& piece, size_t place, Scratch& scratch) {
  if (piece.job->has_failed()) return false;
  const size_t inputs = model.predictor().inputs().size();
  try {
    for (size_t i = 0; i < inputs; ++i) {
      scratch.inputs[place * inputs + i] =
          model.rows(piece.job->request, i, piece.range, scratch.rows[place * inputs + i]);
    }
    return true;
  } catch (const IoError& error) {
    piece.job->fail(told(Code::invalid_argument, error.what()));
  } catch (const Unsupported& error) {
    piece.job->fail(told(Code::invalid_argument, error.what()));
  } catch (const std::bad_alloc&) {
    piece.job->fail(out_of_memory());
  } catch (const std::exception&) {
    piece.job->fail(told(Code::internal, "the input could not be prepared"));
  }
  return false;
}

void Batcher::compute(const Batch& batch, const Scratch& scratch, int64_t samples) {
  try {
    if (samples > 0) batch.model->predictor().run(scratch.parts);
  } catch (const std::bad_alloc&) {
    for (const Piece& piece : batch.pieces) piece.job->fail(out_of_memory());
  } catch (const std::exception&) {
    for (const Piece& piece : batch.pieces) {
      piece.job->fail(told(Code::internal, "the answer could not be computed"));
    }
  }
}

void Batcher::run(Batch& batch, Scratch& scratch) {
  const LoadedModel& model = *batch.model;
  const Clock::time_point begin = Clock::now();
  for (const std::shared_ptr<Job>& job : batch.late) {
    answer(job, job->is_cancelled() ? told(Code::cancelled, "the client does not wait any more")
                                    : told(Code::deadline_exceeded,
                                           "the deadline passed while the request waited"));
  }
  const size_t inputs = model.predictor().inputs().size();
  const size_t outputs = model.predictor().outputs().size();
  if (!scratch.reserve(batch.pieces.size(), inputs, outputs)) {
    for (const Piece& piece : batch.pieces) piece.job->fail(out_of_memory());
  }
  int64_t samples = 0;
  for (size_t p = 0; p < batch.pieces.size(); ++p) {
    Piece& piece = batch.pieces[p];
    if (!prepare(model, piece, p, scratch)) continue;
    const Job& job = *piece.job;
    for (size_t i = 0; i < job.wanted.size(); ++i) {
      scratch.outputs[p * outputs + job.wanted[i]] =
          job.results.get() + job.offsets[i] +
          static_cast<size_t>(piece.range.first) * job.row_bytes(i);
    }
    scratch.parts.push_back({.inputs = {&scratch.inputs[p * inputs], inputs},
                             .outputs = {&scratch.outputs[p * outputs], outputs},
                             .samples = piece.range.count});
    samples += piece.range.count;
  }
  const Clock::time_point prepared = Clock::now();
  compute(batch, scratch, samples);
  const Clock::time_point computed = Clock::now();
  if (samples > 0) model.queue().metrics->computed(samples);
  for (const Piece& piece : batch.pieces) {
    {
      const std::lock_guard lock(piece.job->mutex);
      RequestTimes& times = piece.job->times;
      times.read = std::max(0.0, seconds_between(piece.job->request.received, piece.job->accepted));
      times.queue = std::max(times.queue, seconds_between(piece.job->accepted, begin));
      times.input = std::max(times.input, seconds_between(begin, prepared));
      times.compute = std::max(times.compute, seconds_between(prepared, computed));
    }
    finish(piece, samples);
  }
  tell_answered(batch);
  record(scratch, batch, "input", begin, prepared);
  record(scratch, batch, "compute", prepared, computed);
  record(scratch, batch, "answer", computed, Clock::now());
}

// One part of the work on a batch; its number is that of the samples.
void Batcher::record(const Scratch& scratch, const Batch& batch, const char* what,
                     Clock::time_point begin, Clock::time_point end) const {
  if (scratch.track == nullptr) return;
  const auto since = [&](Clock::time_point time) {
    return scratch.track->now() - std::chrono::nanoseconds(Clock::now() - time).count();
  };
  scratch.track->add({.begin = since(begin),
                      .end = since(end),
                      .name = trace_->name_id(concat(batch.model->name(), " ", what)),
                      .micro_batch = static_cast<int32_t>(batch.samples),
                      .kind = profile::EventKind::op});
}

Result<InferResponse> Batcher::response_of(const Job& job) try {
  InferResponse response{
      .servable = job.model, .times = job.times, .batch = job.batch, .owner = job.results};
  for (size_t i = 0; i < job.wanted.size(); ++i) {
    const TensorInfo& info = job.model->outputs()[job.wanted[i]];
    OutputTensor output{.name = info.name, .type = info.type, .shape = info.shape};
    output.shape[0] = job.samples;
    output.data = {job.results.get() + job.offsets[i],
                   static_cast<size_t>(job.samples) * job.row_bytes(i)};
    response.outputs.push_back(std::move(output));
  }
  return response;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

void Batcher::finish(const Piece& piece, int64_t batch) {
  const std::shared_ptr<Job>& job = piece.job;
  int64_t most = job->batch.load();
  while (batch > most && !job->batch.compare_exchange_weak(most, batch)) {
  }
  if (job->open.fetch_sub(piece.range.count) != piece.range.count) return;
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(job->mutex);
  if (!job->failure.ok()) {
    Status status = std::move(job->failure);
    lock.unlock();
    return answer(job, Result<InferResponse>(std::move(status)));
  }
  lock.unlock();  // no worker has samples of it any more
  Result<InferResponse> response = response_of(*job);
  if (response) response->times.output = seconds_between(begin, Clock::now());
  answer(job, std::move(response));
}

void Batcher::tell_answered(const Batch& batch) {
  // Protocols have few threads; a function that does not fit is called more than once.
  std::array<const std::function<void()>*, 16> told = {};
  size_t count = 0;
  const auto tell = [&](const Job& job) {
    const std::function<void()>* const function = job.request.after_answers.get();
    const auto end = told.begin() + static_cast<std::ptrdiff_t>(count);
    if (function == nullptr || std::find(told.begin(), end, function) != end) return;
    if (count < told.size()) told[count++] = function;
    (*function)();
  };
  for (const std::shared_ptr<Job>& job : batch.late) tell(*job);
  for (const Piece& piece : batch.pieces) tell(*piece.job);
}

void Batcher::answer(const std::shared_ptr<Job>& job, Result<InferResponse> result) {
  try {
    job->model->queue().metrics->answered(result.status(), job->samples,
                                          result ? result->times : RequestTimes{},
                                          seconds_between(job->accepted, Clock::now()));
  } catch (const std::bad_alloc&) {
    // An answer is worth more than a number about it.
  }
  --unanswered_;
  try {
    job->callback(std::move(result));
  } catch (const std::bad_alloc&) {
    // Protocols end the call without an answer.
  }
  if (--in_flight_ > 0) return;
  const std::lock_guard lock(mutex_);  // a waiting thread sees 0, or sleeps and is woken
  empty_.notify_all();
}

}  // namespace pando::serve
