// SPDX-License-Identifier: MIT
#include "pando/comm/job.h"

#include <utility>

#include "pando/comm/session.h"

namespace pando::comm {

namespace {

thread_local const Job* scoped = nullptr;

}  // namespace

const Job& current_job() { return scoped != nullptr ? *scoped : process_session().job(); }

JobScope::JobScope(Job job) : job_(std::move(job)), previous_(scoped) { scoped = &job_; }

JobScope::~JobScope() { scoped = previous_; }

}  // namespace pando::comm
