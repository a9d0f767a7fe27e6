// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tailrace {

/// Something that was started and moves on only in calls of this rank, on which peers may depend:
/// they wait for what it passes on, posts next or reads. So whoever waits or looks advances all of
/// its thread's: a rank that waits in one operation does not hold up those that look at another.
///
/// The list is a thread's own, as ranks may exchange in several threads. What another thread ends
/// leaves the list of the thread that started it, which may not be in a call meanwhile. Simulated
/// ranks (SMPI) are coroutines of one thread: they have no list, and must end operations in one
/// order.
class UnderWay {
 public:
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  /// True if this thread has any. Local.
  static bool any();
  /// Advances all of this thread once. Does not wait.
  static void advance_all();

 protected:
  UnderWay() = default;
  ~UnderWay() { leave(); }
  /// From now on it is advanced with the others; until it leaves. Both may be called twice.
  void enter();
  void leave();
  /// Moves on without waiting; may leave.
  virtual void advance() = 0;

 private:
  struct List;
  static List& own_list();
  List* list_ = nullptr;  // that it is in
};

}  // namespace tailrace
