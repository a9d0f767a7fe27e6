// SPDX-License-Identifier: BSD-3-Clause
#include "server/mpi_peers.hpp"

#include "core/bytes.hpp"

namespace tailrace::server {
namespace {

std::vector<std::byte> to_bytes(const PeerMessage& message) {
  ByteWriter writer;
  writer.put(message.kind);
  writer.put(message.stream);
  writer.put(message.file);
  writer.put(message.number);
  writer.put(message.code);
  writer.put(message.sys_errno);
  writer.put(message.text);
  writer.put_all(message.values);
  return writer.take();
}

PeerMessage to_message(std::span<const std::byte> bytes, int from) {
  ByteReader reader(bytes);
  PeerMessage message;
  message.from = from;
  message.kind = reader.get<PeerMessage::Kind>();
  message.stream = reader.get<std::int32_t>();
  message.file = reader.get<std::int32_t>();
  message.number = reader.get<std::int64_t>();
  message.code = reader.get<std::int32_t>();
  message.sys_errno = reader.get<std::int32_t>();
  message.text = reader.get_text();
  message.values = reader.get_all<std::int64_t>();
  return message;
}

}  // namespace

void LonePeers::send(int, const PeerMessage& message) { messages_.push_back(message); }

bool LonePeers::take(PeerMessage& message) {
  if (messages_.empty()) return false;
  message = std::move(messages_.front());
  messages_.pop_front();
  return true;
}

MpiPeers::~MpiPeers() {
  for (auto& sent : sent_) MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
}

void MpiPeers::send(int server, const PeerMessage& message) {
  if (server == rank()) {
    own_.send(0, message);
    return;
  }
  auto& sent = sent_.emplace_back();
  sent.bytes = to_bytes(message);
  check_mpi(MPI_Isend(sent.bytes.data(), to_int(static_cast<std::ptrdiff_t>(sent.bytes.size())),
                      MPI_BYTE, server, 0, comm_.raw(), &sent.request));
}

bool MpiPeers::take(PeerMessage& message) {
  std::erase_if(sent_, [](Sent& sent) {
    int done = 0;
    check_mpi(MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  });
  if (own_.take(message)) {
    message.from = rank();
    return true;
  }
  int found = 0;
  MPI_Message matched = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, 0, comm_.raw(), &found, &matched, &status));
  if (found == 0) return false;
  int count = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &count));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  check_mpi(MPI_Mrecv(bytes.data(), count, MPI_BYTE, &matched, MPI_STATUS_IGNORE));
  message = to_message(bytes, status.MPI_SOURCE);
  return true;
}

}  // namespace tailrace::server
