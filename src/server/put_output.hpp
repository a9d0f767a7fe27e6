// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/group.hpp"
#include "server/output_state.hpp"
#include "server/policy/spill.hpp"
#include "server/put_file.hpp"
#include "server/step_loop.hpp"
#include "store/route.hpp"
#include "store/staging.hpp"
#include "store/write_plan.hpp"

namespace tailrace::server {

/// A stream whose ranks copy their items straight into the order of the file, in the memory of the
/// ranks that write (`put`): in threads of theirs, or inside `write`. All ranks know the layouts,
/// so any strategy of files can be had.
class PutOutput final : public Output::State {
 public:
  struct Setting {
    bool in_background = true;  ///< else inside `write`
    int threads = 1;            ///< for products and compression
    StageFunctions functions = {};
  };
  /// Throws `Errc::invalid_input` on all ranks for options out of range. Collective over `comm`,
  /// blocking.
  PutOutput(std::string name, OutputOptions options, Meeting& meeting, const Comm& comm,
            Setting setting);
  ~PutOutput() override;

 private:
  /// The ranks that write by some plans.
  struct Writers {
    bool has_me = false;
    std::unique_ptr<MpiRelay> relay;
    std::unique_ptr<Group> products, files;
  };
  struct Job;
  /// Staging memory for a step, on all ranks that write, and the file that is written from it.
  struct Slot {
    store::FileTask task;
    std::int64_t number = -1;  ///< of its step
    std::string path = {};     ///< of it, absolute
    bool busy = false;         ///< this rank writes that, and it has not ended
  };
  /// A step that waits on disk, without its items.
  struct Spilled {
    std::int64_t number = 0;
    std::string path;
    std::list<Layout> layouts;
    FileContents contents;
  };

  void prepare(const std::string& path, const FileContents& contents) override;
  bool reserve(bool lowered) override;
  void unreserve() override {}
  void vote_more(const std::string& path, const FileContents& contents, Votes& votes) override;
  void hear_votes(const Votes& votes) override;
  void take_shapes(const FileContents& contents) override;
  void hand_over(const std::string& path, const FileContents& contents, bool lowered) override;
  bool can_spill_now() const override { return spill_.has_room(given_bytes_); }
  void spill(const std::string& path, const FileContents& contents) override;
  bool has_spilled() const override { return !spilled_.empty(); }
  void advance() override;
  void wait(double limit_s) override;
  bool writes_in_call() const override { return !setting_.in_background; }
  void note_all_ended(std::int64_t number) override { all_ended_to_ = number; }
  void leave() noexcept override { finish_or_say(); }

  int num_slots(bool lowered) const;
  std::int64_t make_plan(const std::string& path, bool rows);
  Writers& writers_of(const store::WritePlan& plan);
  bool is_plain(const std::string& path, const FileContents& contents) const;
  bool wants_rows(const std::string& path, const FileContents& contents) const;
  bool throws_at_once() const;
  void agree_on_routes(const FileContents& contents);
  std::shared_ptr<store::Route> route_for(const std::string& path, const FileContents& contents,
                                          bool unchanged);
  std::shared_ptr<store::Route> make_route(const FileContents& contents, std::int64_t plan);
  std::ptrdiff_t num_busy() const;
  template <class Ready>
  void wait_until_all_know(Ready&& ready);
  void tell_holes(const FileContents& contents);
  void put(const std::string& path, const FileContents& given, std::int64_t number, bool lowered,
           const std::shared_ptr<store::Route>& route);
  bool lay_out(PutFile& file, const std::string& whole_path, const FileContents& contents);
  Step step_in_slot(const std::string& path, const FileContents& contents, std::int64_t number,
                    const store::Route& route, int place) const;
  void start_job(Slot& slot, Writers& writers, const PutFile::Setting& setting, bool plain,
                 std::unique_ptr<PutFile> file, std::int64_t step, double handed_s);
  void bring_back();

  Setting setting_;
  store::Staging staging_;
  store::WritePlans plans_;
  std::map<std::vector<int>, Writers> writers_;
  std::vector<std::shared_ptr<store::Route>> routes_;
  std::vector<bool> fit_;  ///< routes that fit the step at hand on all ranks
  std::shared_ptr<store::Route> last_route_;
  bool unchanged_ = false;     ///< the step at hand has the shapes of `last_route_` on all ranks
  bool shapes_known_ = false;  ///< `fit_` is about the step at hand
  std::int64_t plan_ = -1;     ///< of the step at hand, as all ranks know; -1: to be made
  std::int64_t all_ended_to_ = 0;   ///< steps before this one have ended, as all ranks know
  std::ptrdiff_t given_bytes_ = 0;  ///< by this rank, of the step at hand
  std::vector<Slot> slots_;
  std::set<std::string> told_holes_;  // names of variables
  Spill spill_;
  std::deque<Spilled> spilled_;
  std::vector<std::byte> packed_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::shared_ptr<Job>> ended_;  // guarded by mutex_
  StepLoop loop_;                            // ends before what it uses
};

}  // namespace tailrace::server
