// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/desk.hpp"

#include <xxhash.h>

#include "server/transports/desk_receiver.hpp"
#include "server/transports/desk_sender.hpp"

namespace tailrace::server::one_sided {

std::uint64_t Desk::check_of(const Entry& entry) {
  return XXH3_64bits(&entry, offsetof(Entry, check));
}

std::uint64_t Desk::check_of(const Note& note) {
  return XXH3_64bits_withSeed(&note.notice, sizeof note.notice, note.number);
}

std::unique_ptr<Sender> make_sender(const Way& way, const Team& team,
                                    const TransportSettings& settings) {
  return std::make_unique<DeskSender>(Sides(way.name, team, settings), way.make_memory);
}

std::unique_ptr<Receiver> make_receiver(const Way& way, const Team& team,
                                        const TransportSettings& settings) {
  return std::make_unique<DeskReceiver>(Sides(way.name, team, settings), way.make_memory);
}

}  // namespace tailrace::server::one_sided
