# SPDX-License-Identifier: BSD-3-Clause
# tailrace_mpi_number(variable LIBRARIES): the number of the binary interface of MPI, which libraries
# that fit each other share: 40 of libmpi.so.40.30 (Open MPI), 12 of libmpich.so.12.2 (MPICH and its
# relatives); "" where it is not seen.
function(tailrace_mpi_number variable libraries)
  set(number "")
  foreach(library ${libraries})
    get_filename_component(file "${library}" REALPATH)
    if(file MATCHES "/libmpi[^/]*[.]so[.]([0-9]+)[^/]*$")
      set(number ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(${variable} "${number}" PARENT_SCOPE)
endfunction()
