// SPDX-License-Identifier: BSD-3-Clause
#include "core/bytes.hpp"
#include "core/same_on_all.hpp"
#include "store/file_index.hpp"

namespace tailrace::store {

template <class Bytes>
static void travel(Bytes& bytes, FileIndex::Part& part) {
  bytes(part.box, part.file, part.dataset);
}

template <class Bytes>
static void travel(Bytes& bytes, FileIndex::Entry& entry) {
  bytes(entry.name, entry.type, entry.extents, entry.offset, entry.chunk, entry.scale, entry.values,
        entry.missing, entry.parts, entry.pieces, entry.boxes);
}

template <class Bytes>
static void travel(Bytes& bytes, FileIndex::Refused& refused) {
  bytes(refused.name, refused.why, refused.damaged);
}

void share_index(const Comm& comm, FileIndex& index) {
  ByteWriter to;
  if (comm.rank() == 0) to(index.entries, index.refused, index.attributes);
  const auto own = to.take();
  const auto text = broadcast_text(
      comm.raw(), std::string(reinterpret_cast<const char*>(own.data()), own.size()));
  if (comm.rank() == 0) return;
  ByteReader from(std::as_bytes(std::span(text)));
  from(index.entries, index.refused, index.attributes);
}

}  // namespace tailrace::store
