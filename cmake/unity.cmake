# SPDX-License-Identifier: BSD-3-Clause
# -DTAILRACE_UNITY=ON compiles a few files of a library as one, for who changes headers often: what
# they share is read and instantiated once. Files whose own names (in unnamed namespaces) are also
# another's stand in SKIP; files with compile options of their own are left out by CMake. Without
# tailrace_io, of whose archive libraries before MPI take single objects.

# tailrace_unity(target SKIP file ...)
function(tailrace_unity target)
  cmake_parse_arguments(ARG "" "" "SKIP" ${ARGN})
  if(NOT TARGET ${target})
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  # In a file of files, what has a member of an unnamed namespace's type is taken for a header.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  foreach(name ${ARG_SKIP})
    foreach(source ${sources})
      if(source MATCHES "(^|/)${name}\\.cpp$")
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
        set_source_files_properties(
          ${source}
          TARGET_DIRECTORY ${target}
          PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
        )
      endif()
    endforeach()
  endforeach()
endfunction()

tailrace_unity(tailrace_move)
tailrace_unity(
  tailrace_servers
  SKIP
    roles
    shmem
    weighted
    chunk_codec
    hdf5
    shard_writer
    server
    table
)
tailrace_unity(tailrace_krylov SKIP gmres pipelined_bicgstab solver)
tailrace_unity(tailrace_c)
tailrace_unity(tailrace_app SKIP read_keys summary_text)
tailrace_unity(tailrace_turbulence SKIP field_output)
tailrace_unity(tailrace_groundwater SKIP flow)
tailrace_unity(tailrace_helium)
