// SPDX-License-Identifier: BSD-3-Clause
// The bodies of the wrappers, the same for C's names, with int and with large counts, and for
// Fortran's. `pass` makes the call that the program made by the next definition, which may be that
// of the library that sleeps (waiting.hpp); it returns MPI's code.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <exception>

#include "collectives/program_comm.hpp"
#include "collectives/types.hpp"
#include "collectives/ways.hpp"
#include "common/fortran.hpp"
#include "common/mpi_start.hpp"
#include "tailrace/log.hpp"

namespace tailrace::plugins {

// As MPI would: the communicator's handler is called.
inline int fail(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

template <class Pass>
int pass_on(Pass pass) {
  const Inside inside;
  return pass();
}

// Makes `call(theirs)`, which returns why the call goes to MPI; or passes it on.
template <class Body, class Pass>
int take_or_pass(MPI_Comm comm, Pass pass, Body body) {
  if (Inside::any()) return pass();
  try {
    ProgramComm* theirs = program_comm_of(comm);
    int code = MPI_SUCCESS;
    if (theirs != nullptr && body(*theirs, code))
      return code == MPI_SUCCESS ? code : fail(comm, code);
  } catch (const std::exception& error) {
    say(LogLevel::warning, error.what());
    return fail(comm, MPI_ERR_INTERN);
  }
  return pass_on(pass);
}

template <class Pass>
int barrier(MPI_Comm comm, Pass pass) {
  return take_or_pass(comm, pass, [](ProgramComm& theirs, int& /*code*/) {
    if (!theirs.wants(Call::barrier, 0)) return false;
    const Inside inside;
    theirs.engine().reduction->barrier();
    theirs.took(Call::barrier, 0);
    return true;
  });
}

template <class Pass>
int allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, Pass pass) {
  return take_or_pass(comm, pass, [&](ProgramComm& theirs, int& /*code*/) {
    const auto sum = sum_of(type, op);
    if (!sum) return theirs.refuse(Call::allreduce, Reason::op);
    const std::int64_t bytes = count * sum->size;
    if (!theirs.wants(Call::allreduce, bytes)) return false;
    const Inside inside;
    allreduce(theirs.engine(), *sum, in == MPI_IN_PLACE ? out : in, out, count);
    theirs.took(Call::allreduce, bytes);
    return true;
  });
}

template <class Pass>
int reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, Pass pass) {
  return take_or_pass(comm, pass, [&](ProgramComm& theirs, int& /*code*/) {
    const auto sum = sum_of(type, op);
    if (!sum || root < 0 || root >= theirs.num_ranks()) {
      return theirs.refuse(Call::reduce, Reason::op);
    }
    const std::int64_t bytes = count * sum->size;
    if (!theirs.wants(Call::reduce, bytes)) return false;
    const Inside inside;
    reduce(theirs.engine(), *sum, in == MPI_IN_PLACE ? out : in, out, count, root);
    theirs.took(Call::reduce, bytes);
    return true;
  });
}

template <class Pass>
int bcast(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, Pass pass) {
  return take_or_pass(comm, pass, [&](ProgramComm& theirs, int& code) {
    if (!theirs.meets(Call::bcast)) return false;
    const TypeFacts facts = facts_of(type);
    const Reason own = facts.plain && count >= 0 ? Reason::none : Reason::type;
    const bool shows = theirs.may_take(Call::bcast);
    const Inside inside;
    const Outcome done =
        bcast(theirs.engine(), data, count * facts.size, root, own, shows,
              [&](std::int64_t bytes) { return theirs.agrees(Call::bcast, bytes, shows); });
    theirs.met(Call::bcast, done.bytes, done.reason);
    if (done.truncated) code = MPI_ERR_TRUNCATE;
    return done.reason == Reason::none;
  });
}

template <class Pass>
int allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
              MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, Pass pass) {
  return take_or_pass(comm, pass, [&](ProgramComm& theirs, int& /*code*/) {
    const TypeFacts facts = facts_of(out_type);
    const std::int64_t bytes = out_count * facts.size;
    if (!theirs.wants(Call::allgather, bytes)) return false;
    bool plain = facts.plain;
    const void* own = in;
    if (in == MPI_IN_PLACE) {
      own = at(out, theirs.rank() * bytes);
    } else {
      const TypeFacts sent = facts_of(in_type);
      plain = plain && sent.plain && in_count * sent.size == bytes;
    }
    const Inside inside;
    const Reason reason = allgather(
        theirs.engine(), own, bytes,
        [&](int rank) {
          return Block{at(out, rank * bytes), bytes};
        },
        plain ? Reason::none : Reason::type);
    theirs.met(Call::allgather, bytes, reason);
    return reason == Reason::none;
  });
}

template <class Count, class Displ, class Pass>
int allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
               const Count* counts, const Displ* displs, MPI_Datatype out_type, MPI_Comm comm,
               Pass pass) {
  return take_or_pass(comm, pass, [&](ProgramComm& theirs, int& /*code*/) {
    const TypeFacts facts = facts_of(out_type);
    std::int64_t bytes = 0;
    for (int rank = 0; rank < theirs.num_ranks(); ++rank) bytes += counts[rank] * facts.size;
    if (!theirs.wants(Call::allgatherv, bytes)) return false;
    const auto block = [&](int rank) {
      return Block{at(out, displs[rank] * facts.size), counts[rank] * facts.size};
    };
    const Block mine = block(theirs.rank());
    bool plain = facts.plain;
    const void* own = in;
    if (in == MPI_IN_PLACE) {
      own = mine.start;
    } else {
      const TypeFacts sent = facts_of(in_type);
      plain = plain && sent.plain && in_count * sent.size == mine.bytes;
      if (in_count == 0 && mine.bytes == 0) plain = facts.plain;
    }
    const Inside inside;
    const Reason reason =
        allgather(theirs.engine(), own, bytes, block, plain ? Reason::none : Reason::type);
    theirs.met(Call::allgatherv, bytes, reason);
    return reason == Reason::none;
  });
}

template <class Pass>
int alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
             MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, Pass pass) {
  return take_or_pass(comm, pass, [&](ProgramComm& theirs, int& /*code*/) {
    const TypeFacts facts = facts_of(out_type);
    const std::int64_t bytes = out_count * facts.size;
    if (!theirs.wants(Call::alltoall, bytes)) return false;
    bool plain = facts.plain;
    if (in != MPI_IN_PLACE) {
      const TypeFacts sent = facts_of(in_type);
      plain = plain && sent.plain && in_count * sent.size == bytes;
    }
    const Inside inside;
    const Reason reason = alltoall(theirs.engine(), in == MPI_IN_PLACE ? out : in, out, bytes,
                                   plain ? Reason::none : Reason::type);
    theirs.met(Call::alltoall, bytes, reason);
    return reason == Reason::none;
  });
}

template <class Count, class Displ, class Pass>
int alltoallv(const void* in, const Count* in_counts, const Displ* in_displs, MPI_Datatype in_type,
              void* out, const Count* out_counts, const Displ* out_displs, MPI_Datatype out_type,
              MPI_Comm comm, Pass pass) {
  return take_or_pass(comm, pass, [&](ProgramComm& theirs, int& code) {
    if (!theirs.meets(Call::alltoallv)) return false;
    const bool in_place = in == MPI_IN_PLACE;
    const TypeFacts to = facts_of(out_type);
    const TypeFacts from = in_place ? to : facts_of(in_type);
    const Reason own = to.plain && from.plain ? Reason::none : Reason::type;
    const bool shows = theirs.may_take(Call::alltoallv);
    const auto received = [&](int rank) {
      return Block{at(out, out_displs[rank] * to.size), out_counts[rank] * to.size};
    };
    const auto sent = [&](int rank) {
      struct Sent {
        const std::byte* start;
        std::int64_t bytes;
      };
      if (in_place) return Sent{received(rank).start, received(rank).bytes};
      return Sent{at(in, in_displs[rank] * from.size), in_counts[rank] * from.size};
    };
    const Inside inside;
    const Outcome done =
        alltoallv(theirs.engine(), sent, received, own, shows,
                  [&](std::int64_t bytes) { return theirs.agrees(Call::alltoallv, bytes, shows); });
    theirs.met(Call::alltoallv, done.bytes, done.reason);
    if (done.truncated) code = MPI_ERR_TRUNCATE;
    return done.reason == Reason::none;
  });
}

}  // namespace tailrace::plugins
