// Downloads one file from the first of several addresses that has it, resumes what an earlier try
// left, and verifies the complete file.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "pando/base/error.h"
#include "pando/fetch/progress_line.h"
#include "pando/fetch/remote_dataset.h"

namespace pando::fetch {

// The stop flag was set; the bytes received so far are kept for the next fetch.
class FetchStopped : public IoError {
 public:
  using IoError::IoError;
};

// No address has the file, or none can be reached.
class NotFetched : public IoError {
 public:
  using IoError::IoError;
};

struct RetryLimits {
  int retries = 4;           // rounds over all addresses after the first one
  double first_wait = 1;     // seconds before the second round; doubled for each further one
  double longest_wait = 60;  // seconds, also when a server asks for more
  int64_t connect_seconds = 10;
  int64_t stall_seconds = 30;
};

struct DownloadContext {
  RetryLimits retry;
  const std::atomic<bool>* stop = nullptr;
  ProgressLine* progress = nullptr;  // required
};

// Writes folder/file.name and replaces a file of that name. Bytes are first written to
// folder/file.name.part. Temporary failures of a server (connection, stall, status 408, 429, 5xx)
// are tried again in the next round; an address that refuses or has a file of another size or
// checksum is not. If no address can be reached at all, the first round is the last. A round that
// brought much does not count as a retry. Throws NotFetched with the reason of each address,
// FetchStopped, and IoError when the disk fails.
void download(const RemoteFile& file, const std::string& folder, const DownloadContext& context);

// Empty if size and checksums are right, else what was found and expected.
std::string find_fault(const RemoteFile& file, const std::string& path);

}  // namespace pando::fetch
