// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/session.hpp"

#include "output.hpp"
#include "tailrace/c/session.h"

namespace tailrace::c {

namespace {

struct SessionObject {
  std::vector<std::shared_ptr<Trace>> traces;  ///< they must outlive the session
  Session session;
};

}  // namespace

TAILRACE_BEHIND(tailrace_session, SessionObject)

namespace {

void session_create(MPI_Comm world, const tailrace_output_options& wanted,
                    tailrace_session** session) {
  require_communicator(world);
  const Comm ranks(world);
  GivenOptions given;
  prepare_together(ranks, [&] {
    require_address(session, "session");
    given = given_options(wanted);
  });
  put(session, std::make_shared<SessionObject>(
                   SessionObject{{given.trace}, Session(world, std::move(given.options))}));
}

/// Throws where this rank does not compute.
const Comm& compute_of(const SessionObject& made) {
  require(made.session.computes(), "this rank serves: only ranks that compute may call it");
  return made.session.compute();
}

void session_create_fortran(tailrace_fint world, const tailrace_output_options& wanted,
                            tailrace_session** session) {
  session_create(comm_of_fortran(world), wanted, session);
}

bool session_computes(Ref<tailrace_session> session) { return session->session.computes(); }

Made<tailrace_comm> session_comm(Ref<tailrace_session> made) {
  return std::make_shared<Comm>(compute_of(*made).raw());
}

int session_serve(Ref<tailrace_session> made) {
  require(!made->session.computes(), "this rank computes: only ranks that serve may call it");
  return made->session.serve();
}

int session_num_servers(Ref<tailrace_session> session) { return session->session.num_servers(); }

std::string session_transport(Ref<tailrace_session> session) {
  return session->session.transport();
}

std::string session_describe(Ref<tailrace_session> session) { return session->session.describe(); }

void session_close(Ref<tailrace_session> made) {
  compute_of(*made);
  made->session.close();
}

int serve_as_process(int num_words, const char* const* words, int num_functions,
                     const tailrace_function* functions) {
  return tailrace::serve_as_process(list_of(words, num_words, "words"),
                                    functions_of(functions, num_functions));
}

void session_open_output(Ref<tailrace_session> made, const char* name,
                         const tailrace_output_options& wanted, tailrace_output** output) {
  GivenOptions given;
  prepare_together(compute_of(*made), [&] {
    require_address(output, "output");
    require_address(name, "name");
    given = given_options(wanted);
  });
  made->traces.push_back(given.trace);
  put(output, std::make_shared<OutputObject>(OutputObject{
                  std::move(given.trace), made->session.open(name, std::move(given.options))}));
}

}  // namespace

}  // namespace tailrace::c

#include "calls/session.inc"
