// SPDX-License-Identifier: BSD-3-Clause
#include "storage.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

namespace scale {

namespace s4u = simgrid::s4u;

namespace {

constexpr unsigned int depth = 8;  // requests of a rank in flight
constexpr double unlimited = 1e15;

Storage*& instance() {
  static Storage* storage = nullptr;  // lives as long as the simulation
  return storage;
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "TAILRACE_STORAGE: %s\n", why.c_str());
  std::exit(2);
}

/// Seconds for `bytes`; a rate may be infinite.
void take_time(double bytes, double bytes_per_s) {
  const double seconds = bytes / bytes_per_s;
  if (seconds > 0) s4u::this_actor::sleep_for(seconds);
}

}  // namespace

StorageSettings::StorageSettings(const std::string& text) {
  for (std::size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = text.find(',', start);
    const std::string word = text.substr(start, end == std::string::npos ? end : end - start);
    const auto equals = word.find('=');
    if (equals == std::string::npos) refuse("expected key=value, found `" + word + "`");
    auto& values = values_[word.substr(0, equals)];
    const char* at = word.c_str() + equals + 1;
    while (*at != '\0') {
      char* after = nullptr;
      values.push_back(std::strtod(at, &after));
      if (after == at || (*after != '\0' && *after != ':')) refuse("no numbers: `" + word + "`");
      at = *after == ':' ? after + 1 : after;
    }
  }
}

const std::vector<double>& StorageSettings::list(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) refuse("`" + key + "` is missing");
  return found->second;
}

struct Storage::StoredFile {
  StripeLayout layout;
  std::int64_t size = 0;
  std::size_t first_target = 0;
  bool placed = false;                ///< its objects have targets
  std::vector<const Station*> locks;  ///< the node that holds the lock of each object; or null
  std::vector<Extent> written;
  std::vector<char> contents;
};

/// A rank as the file system sees it.
struct Storage::Client {
  Station* node = nullptr;
  s4u::SemaphorePtr free_slots = s4u::Semaphore::create(depth);
};

struct Storage::OpenFile {
  std::shared_ptr<StoredFile> file;
  int rank = 0;
  int access = O_RDONLY;
};

struct Storage::Request {
  std::shared_ptr<StoredFile> file;
  Client* client = nullptr;
  Station* target = nullptr;
  std::size_t object = 0;
  std::int64_t bytes = 0;
  bool writing = true;
};

/// Serves requests one after another, in the order of arrival, by an actor.
class Storage::Station {
 public:
  using Serve = std::function<void(Request&)>;
  using Forward = std::function<void(std::unique_ptr<Request>)>;
  Station(s4u::Host* host, Serve serve, Forward forward)
      : host_(host), serve_(std::move(serve)), forward_(std::move(forward)) {}
  /// Not in the constructor: SimGrid continues with other ranks while it makes the actor, and they
  /// must find this station.
  void start() {
    s4u::Actor::create("storage " + host_->get_name(), host_, [this] {
      while (true) {
        arrived_->acquire();
        auto request = std::move(waiting_.front());
        waiting_.pop_front();
        serve_(*request);
        forward_(std::move(request));
      }
    })->daemonize();
  }
  void add(std::unique_ptr<Request> request) {
    waiting_.push_back(std::move(request));
    arrived_->release();
  }
  s4u::Host* host() const { return host_; }

 private:
  s4u::Host* host_;
  Serve serve_;
  Forward forward_;
  std::deque<std::unique_ptr<Request>> waiting_;
  s4u::SemaphorePtr arrived_ = s4u::Semaphore::create(0);
};

void Storage::attach(const std::string& settings_text, s4u::NetZone* world, s4u::NetZone* machine,
                     unsigned long nodes) {
  const StorageSettings settings(settings_text);
  const auto count = static_cast<std::size_t>(settings.number("targets.count"));
  const auto routers = static_cast<std::size_t>(settings.number("network.routers"));
  const auto& load = settings.list("load");
  if (!load.empty() && load.size() != count) refuse("load: expected a share for each target");
  const std::size_t groups = std::clamp<std::size_t>(routers, 1, count);
  const double bandwidth = std::min(settings.number("targets.bytes_per_s"), unlimited);
  std::vector<s4u::Host*> targets(count);
  for (std::size_t group = 0; group < groups; ++group) {
    const std::string number = std::to_string(group);
    s4u::NetZone* zone = s4u::create_star_zone("storage" + number);
    zone->set_parent(world);
    auto* router = zone->create_router("router" + number);
    s4u::Link* cable = zone->create_link("storage_cable" + number, unlimited)->seal();
    for (std::size_t t = group; t < count; t += groups) {
      s4u::Host* host = zone->create_host("target" + std::to_string(t), 1e10);
      const double free_share = load.empty() ? 1 : 1 - load[t];
      host->create_disk("disk" + std::to_string(t), bandwidth * free_share, bandwidth * free_share)
          ->seal();
      host->seal();
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(cable)},
                      true);
      targets[t] = host;
    }
    zone->seal();
    if (routers == 0) continue;
    s4u::Link* link =
        world
            ->create_link("router_link" + number,
                          std::min(settings.number("network.router_bytes_per_s"), unlimited))
            ->seal();
    const auto* gateway = s4u::Host::by_name("n" + std::to_string(group * nodes / groups));
    world->add_route(machine->get_netpoint(), zone->get_netpoint(), gateway->get_netpoint(), router,
                     {s4u::LinkInRoute(link)}, true);
  }
  instance() = new Storage(settings_text, std::move(targets));
}

Storage& Storage::get() {
  if (instance() == nullptr) refuse("not set: the machine has no simulated storage");
  return *instance();
}

Storage::Storage(const std::string& settings, std::vector<s4u::Host*> targets)
    : settings_(settings), target_hosts_(std::move(targets)), targets_(target_hosts_.size()) {
  const char* payload = std::getenv("TAILRACE_PAYLOAD");
  keeps_contents_ = payload == nullptr || std::strcmp(payload, "folded") != 0;
}

Storage::~Storage() = default;

// One request after the other: a rank that asks takes the next turn.
void Storage::ask_metadata(double calls_per_s) {
  metadata_free_s_ = std::max(metadata_free_s_, s4u::Engine::get_clock()) + 1 / calls_per_s;
  s4u::this_actor::sleep_until(metadata_free_s_);
}

Storage::Client& Storage::client(int rank) {
  auto& found = clients_[rank];
  if (!found) {
    found = std::make_unique<Client>();
    found->node = &node(s4u::this_actor::get_host());
  }
  return *found;
}

Storage::Station& Storage::node(s4u::Host* host) {
  auto& found = nodes_[host];
  if (!found) {
    found = std::make_unique<Station>(
        host, [this](Request& request) { cross_network(request); },
        [](std::unique_ptr<Request> request) {
          Station* target = request->target;
          if (request->writing) return target->add(std::move(request));
          request->client->free_slots->release();
        });
    found->start();
  }
  return *found;
}

Storage::Station& Storage::target(std::size_t number) {
  auto& found = targets_[number];
  if (!found) {
    s4u::Host* host = target_hosts_[number];
    s4u::Disk* disk = host->get_disks().front();
    found = std::make_unique<Station>(
        host, [this, disk](Request& request) { use_disk(request, disk); },
        [](std::unique_ptr<Request> request) {
          Client* client = request->client;
          if (!request->writing) return client->node->add(std::move(request));
          client->free_slots->release();
        });
    found->start();
  }
  return *found;
}

void Storage::cross_network(Request& request) {
  const double rate = settings_.number("clients.node_bytes_per_s");
  const auto bytes = static_cast<double>(request.bytes);
  if (settings_.number("network.routers") == 0) return take_time(bytes, rate);
  s4u::Host* from = request.client->node->host();
  s4u::Host* to = request.target->host();
  if (!request.writing) std::swap(from, to);
  const double start_s = s4u::Engine::get_clock();
  s4u::Comm::sendto(from, to, static_cast<std::uint64_t>(request.bytes));
  s4u::this_actor::sleep_until(start_s +
                               bytes / rate);  // SimGrid 3.32 forgets the rate of a message
}

// The time of a request and of a lock keeps the disk busy, as that many bytes would.
void Storage::use_disk(Request& request, s4u::Disk* disk) {
  const double bandwidth = disk->get_write_bandwidth();
  const double full = std::min(settings_.number("targets.bytes_per_s"), unlimited);
  double bytes = static_cast<double>(request.bytes) + settings_.number("targets.request_s") * full;
  const Station*& holder = request.file->locks[request.object];
  if (holder != nullptr && holder != request.client->node) {
    bytes += settings_.number("locks.transfer_s") * bandwidth;
    ++counts_.lock_transfers;
    holder = nullptr;
  }
  if (request.writing) holder = request.client->node;
  ++counts_.requests;
  const auto size = static_cast<sg_size_t>(std::llround(bytes));
  request.writing ? disk->write(size) : disk->read(size);
}

void Storage::drain(Client& client) {
  for (unsigned int i = 0; i < depth; ++i) client.free_slots->acquire();
  for (unsigned int i = 0; i < depth; ++i) client.free_slots->release();
}

void Storage::transfer(OpenFile& open, std::int64_t offset, std::int64_t bytes, bool writing) {
  StoredFile& file = *open.file;
  const auto stripes = static_cast<std::size_t>(file.layout.stripes);
  if (!std::exchange(file.placed, true)) {
    file.first_target = std::exchange(next_target_, (next_target_ + stripes) % targets_.size());
    file.locks.assign(stripes, nullptr);
  }
  const std::int64_t stripe = file.layout.stripe_bytes;
  const auto most = static_cast<std::int64_t>(settings_.number("targets.request_bytes"));
  const double rate = settings_.number("clients.process_bytes_per_s");
  const std::int64_t end = offset + bytes;
  for (std::int64_t at = offset; at < end;) {
    const std::int64_t in_stripe = at % stripe;
    const std::int64_t stop =
        std::min({end, at - in_stripe + stripe, at - in_stripe + (in_stripe / most + 1) * most});
    auto request = std::make_unique<Request>();
    request->file = open.file;
    request->client = &client(open.rank);
    request->object = static_cast<std::size_t>(at / stripe) % stripes;
    request->target = &target((file.first_target + request->object) % targets_.size());
    request->bytes = stop - at;
    request->writing = writing;
    request->client->free_slots->acquire();
    take_time(static_cast<double>(request->bytes), rate);
    Station* first = writing ? request->client->node : request->target;
    first->add(std::move(request));
    at = stop;
  }
}

Storage::OpenFile* Storage::find(int descriptor) {
  const auto place = static_cast<std::size_t>(descriptor - first_descriptor);
  return descriptor < first_descriptor || place >= opened_.size() ? nullptr : opened_[place].get();
}

int Storage::open(const std::string& path, int flags, int rank) {
  auto found = files_.find(path);
  if (found == files_.end()) {
    if ((flags & O_CREAT) == 0) {
      ask_metadata(settings_.number("metadata.opens_per_s"));
      return -ENOENT;
    }
    auto made = std::make_shared<StoredFile>();
    made->layout = layout(path);
    found = files_.emplace(path, made).first;
    ++counts_.creates;
    ask_metadata(settings_.number("metadata.creates_per_s"));
  } else {
    if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return -EEXIST;
    if ((flags & O_TRUNC) != 0) {
      const StripeLayout kept = found->second->layout;
      *found->second = StoredFile{};
      found->second->layout = kept;
    }
    ++counts_.opens;
    ask_metadata(settings_.number("metadata.opens_per_s"));
    take_time(found->second->layout.stripes, 1 / settings_.number("metadata.object_s"));
  }
  opened_.push_back(std::make_unique<OpenFile>(OpenFile{found->second, rank, flags & O_ACCMODE}));
  return first_descriptor + static_cast<int>(opened_.size()) - 1;
}

int Storage::close(int descriptor) {
  OpenFile* open = find(descriptor);
  if (open == nullptr) return -EBADF;
  drain(client(open->rank));
  opened_[static_cast<std::size_t>(descriptor - first_descriptor)].reset();
  return 0;
}

std::int64_t Storage::write(int descriptor, std::span<const iovec> pieces, std::int64_t offset) {
  OpenFile* open = find(descriptor);
  if (open == nullptr || open->access == O_RDONLY) return -EBADF;
  StoredFile& file = *open->file;
  std::int64_t end = offset;
  for (const iovec& piece : pieces) {
    const auto bytes = static_cast<std::int64_t>(piece.iov_len);
    if (keeps_contents_) {
      const auto needed = static_cast<std::size_t>(end + bytes);
      if (file.contents.size() < needed) file.contents.resize(needed);
      std::memcpy(file.contents.data() + end, piece.iov_base, piece.iov_len);
    }
    end += bytes;
  }
  file.size = std::max(file.size, end);
  auto& written = file.written;
  if (!written.empty() && written.back().rank == open->rank && written.back().end() == offset) {
    written.back().bytes += end - offset;
  } else if (end > offset) {
    written.push_back({offset, end - offset, open->rank});
  }
  counts_.bytes_written += end - offset;
  transfer(*open, offset, end - offset, true);
  return end - offset;
}

std::int64_t Storage::read(int descriptor, std::span<const iovec> pieces, std::int64_t offset) {
  OpenFile* open = find(descriptor);
  if (open == nullptr || open->access == O_WRONLY) return -EBADF;
  const StoredFile& file = *open->file;
  std::int64_t end = offset;
  for (const iovec& piece : pieces) {
    const auto bytes = std::min(static_cast<std::int64_t>(piece.iov_len),
                                std::max(std::int64_t{0}, file.size - end));
    const auto stored =
        std::clamp(static_cast<std::int64_t>(file.contents.size()) - end, std::int64_t{0}, bytes);
    if (keeps_contents_) {  // holes are zeros
      std::memset(piece.iov_base, 0, static_cast<std::size_t>(bytes));
      if (stored > 0) {
        std::memcpy(piece.iov_base, file.contents.data() + end, static_cast<std::size_t>(stored));
      }
    }
    end += bytes;
  }
  counts_.bytes_read += end - offset;
  transfer(*open, offset, end - offset, false);
  drain(client(open->rank));
  return end - offset;
}

std::int64_t Storage::size(int descriptor) {
  OpenFile* open = find(descriptor);
  if (open == nullptr) return -EBADF;
  ++counts_.stats;
  ask_metadata(settings_.number("metadata.stats_per_s"));
  return open->file->size;
}

int Storage::resize(int descriptor, std::int64_t bytes) {
  OpenFile* open = find(descriptor);
  if (open == nullptr) return -EBADF;
  StoredFile& file = *open->file;
  file.size = bytes;
  if (keeps_contents_) file.contents.resize(static_cast<std::size_t>(bytes));
  std::erase_if(file.written, [&](const Extent& extent) { return extent.offset >= bytes; });
  for (Extent& extent : file.written) extent.bytes = std::min(extent.bytes, bytes - extent.offset);
  return 0;
}

int Storage::flush(int descriptor) {
  OpenFile* open = find(descriptor);
  if (open == nullptr) return -EBADF;
  drain(client(open->rank));
  return 0;
}

bool Storage::exists(const std::string& path) {
  ++counts_.stats;
  ask_metadata(settings_.number("metadata.stats_per_s"));
  return files_.contains(path);
}

StripeLayout Storage::layout(const std::string& path) const {
  const auto found = files_.find(path);
  if (found != files_.end()) return found->second->layout;
  const double widest =
      std::min(settings_.number("targets.count"), settings_.number("targets.most_stripes"));
  return {static_cast<std::int64_t>(settings_.number("targets.stripe_bytes")),
          static_cast<int>(widest)};
}

int Storage::set_layout(const std::string& path, StripeLayout layout) {
  const auto found = files_.find(path);
  if (found == files_.end()) return -ENOENT;
  StoredFile& file = *found->second;
  if (file.placed) return -EEXIST;
  if (layout.stripe_bytes > 0) file.layout.stripe_bytes = layout.stripe_bytes;
  if (layout.stripes > 0) {
    file.layout.stripes = std::min(layout.stripes, static_cast<int>(targets_.size()));
  }
  return 0;
}

void Storage::provide(const std::string& path, std::int64_t bytes) {
  auto made = std::make_shared<StoredFile>();
  made->layout = layout(path);
  made->size = bytes;
  files_[path] = std::move(made);
}

const std::vector<Extent>& Storage::written(const std::string& path) const {
  static const std::vector<Extent> none;
  const auto found = files_.find(path);
  return found == files_.end() ? none : found->second->written;
}

Coverage coverage(std::vector<Extent> extents, std::int64_t file_bytes, std::int64_t stripe_bytes) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.offset, a.end()) < std::pair(b.offset, b.end());
  });
  Coverage found;
  std::set<int> ranks;
  std::int64_t covered = 0;  // up to here
  std::int64_t last_stripe = -1, last_shared = -1;
  int last_rank = -1;
  const auto positive = [](std::int64_t bytes) { return std::max(std::int64_t{0}, bytes); };
  for (const Extent& extent : extents) {
    ranks.insert(extent.rank);
    found.missing += positive(std::min(extent.offset, file_bytes) - covered);
    found.twice += positive(std::min(covered, extent.end()) - extent.offset);
    covered = std::max(covered, extent.end());
    const std::int64_t stripe = extent.offset / stripe_bytes;
    if (stripe == last_stripe && extent.rank != last_rank && stripe != last_shared) {
      ++found.shared_stripes;
      last_shared = stripe;
    }
    last_stripe = (extent.end() - 1) / stripe_bytes;
    last_rank = extent.rank;
  }
  found.missing += positive(file_bytes - covered);
  found.beyond = positive(covered - file_bytes);
  found.writers = static_cast<int>(ranks.size());
  return found;
}

}  // namespace scale
