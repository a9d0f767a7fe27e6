// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/meeting.hpp"
#include "move/device_copies.hpp"
#include "server/policy/overflow.hpp"
#include "server/series_steps.hpp"
#include "store/contents_check.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/output.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

/// The compute side of an output, whoever writes: a write is one meeting, in which the ranks agree
/// on arguments, earlier failures and room, then one copy. How a step gets to those who write it,
/// and what is heard of it, differs: see the derived classes.
class Output::State {
 public:
  /// `meeting`, of the ranks of `comm`, begins every collective call. Neither is owned; `comm` is
  /// not used once the stream is closed. An output without a session has no name. Throws
  /// `Errc::invalid_input` for options that contradict each other. Local.
  State(std::string name, OutputOptions options, Meeting& meeting, const Comm& comm);
  virtual ~State() = default;
  WriteResult write(const std::string& path, const FileContents& given);
  void progress();
  void finish();
  OutputStatistics statistics() const;
  /// The session ends: nothing more can be written. Local.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }
  const std::string& name() const { return name_; }
  /// In errors: "output NAME".
  std::string who() const { return name_.empty() ? "output" : "output " + name_; }
  /// Who writes, and why.
  void set_description(std::string text) { description_ = std::move(text); }
  const std::string& description() const { return description_; }
  const std::string& last_complete() const { return last_complete_; }
  /// Steps that this rank does not know to have ended. Local.
  std::size_t num_under_way() const { return under_way_.size(); }
  /// True if all that this rank knows to be written has been. Local.
  bool all_ended() const { return first_heard() == none; }
  /// Ends what cannot be left to servers. Collective, blocking.
  virtual void leave() noexcept {}
  /// As `finish`, for a program that forgot it: prints errors. Collective, blocking.
  void finish_or_say() noexcept;

 protected:
  /// What each rank brings to a write: the smallest of all ranks counts.
  struct Vote {
    enum Place : std::size_t {
      right,   ///< own number if the arguments are wrong
      digest,  ///< of path and variables
      minus_digest,
      failed,  ///< the oldest failure known, and to whom
      room,
      room_lowered,
      can_spill,
      minus_run_ns,
      minus_seen_ns,
      unchanged,         ///< the shapes are those of the last write
      ended,             ///< steps known to have ended
      minus_num_failed,  ///< and to have failed
      plan,              ///< of those who write
      minus_device,      ///< -1 if arrays lie in device memory
      num_votes
    };
  };
  using Votes = std::array<std::int64_t, Vote::num_votes>;
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  /// What room has been found for.
  enum class Reserved { nothing, step, lowered_step };
  /// A step that has been taken.
  struct Handed {
    std::int64_t number = 0, step = 0;
    std::string path;
    double handed_s = 0;
    bool hears = true;
  };
  /// What became of a step.
  struct Ended {
    std::int64_t number = 0;
    std::optional<Error> failure = {};
    double write_s = 0;
    double cpu_s = 0;
    double seconds = 0;  ///< from its handing over to its end
    std::int64_t written_bytes = 0;
  };

  // What derived classes do.
  /// Makes ready to take a step. Local.
  virtual void prepare(const std::string& path, const FileContents& contents) = 0;
  /// Finds room for the step at hand, as it is or `lowered`; true if there is. Local.
  virtual bool reserve(bool lowered) = 0;
  virtual void unreserve() = 0;
  /// Why the step at hand can never be taken. Local.
  virtual std::optional<Error> never_fits() { return std::nullopt; }
  /// Adds what these classes vote on. Local.
  virtual void vote_more(const std::string&, const FileContents&, Votes&) {}
  /// Reads what all have voted on. Collective, blocking.
  virtual void hear_votes(const Votes&) {}
  /// All ranks know that the steps before this one have ended. Local.
  virtual void note_all_ended(std::int64_t) {}
  /// The shapes are not, on all ranks, those of the last write. Collective, blocking.
  virtual void take_shapes(const FileContents& contents) = 0;
  /// Takes the step for which there is room. Collective, blocking.
  virtual void hand_over(const std::string& path, const FileContents& contents, bool lowered) = 0;
  /// Whether the disk for spilled steps has room; puts a step there. Collective, blocking.
  virtual bool can_spill_now() const = 0;
  virtual void spill(const std::string& path, const FileContents& contents) = 0;
  /// Moves data on, and tells `end_step` what it hears. Never waits. Local.
  virtual void advance() = 0;
  /// Sleeps until something may have happened, at most `limit_s`. Local.
  virtual void wait(double limit_s) = 0;
  /// Why nothing can be written any more.
  virtual std::optional<Error> gone() const { return std::nullopt; }
  /// Nothing can be written any more, because of `error`.
  virtual void fail(const Error&) {}
  /// Whether steps are written before `hand_over` returns.
  virtual bool writes_in_call() const { return false; }
  /// Whether steps wait on disk that are brought back when the ranks meet.
  virtual bool has_spilled() const { return false; }

  /// The step `ended.number` has ended, as this rank hears for the first time or again. Local.
  void end_step(Ended ended);
  /// The newest step is under way, and this rank `hears` when it has ended, or others do, and tell
  /// it when they meet. Local.
  void note_handed(const std::string& path, std::int64_t step, bool hears);
  void set_hears(std::int64_t number, bool hears);
  std::int64_t num_handed() const { return num_handed_; }
  /// Waits until all steps have ended, and all ranks know of it. Throws on all ranks what has
  /// failed, or has not ended in time. Collective, blocking.
  void wait_for_all(double& waited_s);
  /// The ranks tell each other what has ended. Collective, blocking.
  void exchange_news();
  /// Any rank has given arrays in device memory, which `device_` copies. False once they are on the
  /// host.
  bool any_on_device() const { return any_on_device_; }
  /// Throws on all ranks if the copies of any rank have failed, with the path and the step.
  /// Collective if `any_on_device`, blocking.
  void agree_on_copies(const std::string& path, std::int64_t step, std::optional<Error> failure);
  /// `contents` with all arrays on the host. Throws as `agree_on_copies`, and is as collective.
  const FileContents& on_host(const std::string& path, const FileContents& contents);
  DeviceCopies device_;
  std::string name_, description_;
  OutputOptions options_;
  const Comm& comm_;
  Trace* trace_;
  OutputStatistics statistics_;
  bool closed_ = false;

 private:
  /// What this rank is to do: "write", or "finish" with no path and nothing.
  struct Asked {
    const char* call;
    const std::string& path;
    const FileContents& contents;
    std::uint64_t start = 0;  ///< see `start_of_path`
  };
  Votes vote(const Asked& asked, const std::optional<Error>& problem, bool fits);
  void meet(const char* what, std::span<std::int64_t> votes = {});
  void reduce(Votes& votes);
  server::Situation hear(const Votes& votes, const Asked& asked,
                         const std::optional<Error>& problem);
  void settle(const Votes& votes);
  std::int64_t first_heard() const;
  void try_reserve();
  void give_room_back();
  void wait_for_room(const server::Overflow::Choice& choice);
  void find_device_arrays(const FileContents& contents);
  void copy_to_host(const FileContents& contents);
  WriteResult carry_out(server::Overflow::Action action, const std::string& path,
                        const FileContents& contents);
  void continue_series(const std::string& path, const FileContents& contents);
  [[noreturn]] void throw_failure(const Votes& votes);

  Meeting& meeting_;
  store::WithDefaults with_defaults_;
  std::optional<server::SeriesSteps> series_;
  server::Overflow overflow_;
  double opened_s_;
  Reserved room_for_ = Reserved::nothing;
  /// Copies of arrays in device memory, for what the processor reads in more ways than one:
  /// exchanges between ranks, and items that become shorter. Their memory is kept.
  FileContents copied_;
  std::vector<Buffer> host_memory_;
  std::vector<const void*> given_arrays_;
  bool any_on_device_ = false;
  bool shapes_changed_ = false;
  std::deque<Handed> under_way_;
  struct Failure {
    Handed handed;
    Error error;
  };
  std::deque<Failure> failures_;  // not yet thrown
  std::int64_t told_ = -1;        // failures up to this step have been thrown
  std::int64_t num_handed_ = 0;
  std::string last_complete_;
};

}  // namespace tailrace
