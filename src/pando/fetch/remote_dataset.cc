// SPDX-License-Identifier: MIT
#include "pando/fetch/remote_dataset.h"

namespace pando::fetch {

int64_t download_bytes(const RemoteDataset& dataset) {
  int64_t bytes = 0;
  for (const RemoteFile& file : dataset.files) bytes += file.bytes;
  return bytes;
}

}  // namespace pando::fetch
