# Coarray Fortran of the same MPI (OpenCoarrays): OFF, ON, or auto (if found). Compiled by a command of
# its own: as a language of CMake, Fortran would be asked of every project that uses the library.
set(
  TAILRACE_CAF
  OFF
  CACHE STRING
  "Exchange method caf: OFF, ON, or auto (if OpenCoarrays is found)"
)
set_property(CACHE TAILRACE_CAF PROPERTY STRINGS auto ON OFF)
if(TAILRACE_CAF STREQUAL OFF)
  return()
endif()
if(TAILRACE_CAF STREQUAL auto AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  message(STATUS "OpenCoarrays: not with sanitizers")
  return()
endif()

find_program(TAILRACE_GFORTRAN gfortran)
if(MPI_CXX_LIBRARY_VERSION_STRING MATCHES "Open MPI")
  find_library(TAILRACE_CAF_LIBRARY NAMES caf_openmpi caf_mpi)
elseif(MPI_CXX_LIBRARY_VERSION_STRING MATCHES "MPICH")
  find_library(TAILRACE_CAF_LIBRARY NAMES caf_mpich caf_mpi)
endif()
mark_as_advanced(TAILRACE_GFORTRAN TAILRACE_CAF_LIBRARY)

set(found FALSE)
if(TAILRACE_GFORTRAN AND TAILRACE_CAF_LIBRARY)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/caf.f90)
  set(folder ${CMAKE_CURRENT_BINARY_DIR})
  set(
    compile
    ${TAILRACE_GFORTRAN}
    -std=f2018
    -fcoarray=lib
    -O2
    -fPIC
    -Wall
    -J
    ${folder}
    -c
    ${source}
  )
  execute_process(
    COMMAND ${TAILRACE_GFORTRAN} -print-file-name=libgfortran.so
    OUTPUT_VARIABLE gfortran_library
    OUTPUT_STRIP_TRAILING_WHITESPACE
  )
  # Compilers and OpenCoarrays must fit together: tried once, by linking.
  execute_process(
    COMMAND ${compile} -o ${folder}/caf_tried.o
    RESULT_VARIABLE failed
    OUTPUT_QUIET
    ERROR_QUIET
  )
  if(failed EQUAL 0)
    include(CheckCXXSourceCompiles)
    set(
      CMAKE_REQUIRED_LIBRARIES
      ${folder}/caf_tried.o
      ${TAILRACE_CAF_LIBRARY}
      ${gfortran_library}
      MPI::MPI_CXX
    )
    set(CMAKE_REQUIRED_QUIET TRUE)
    check_cxx_source_compiles(
      "extern \"C\" void tailrace_caf_release_part();
       extern \"C\" void _gfortran_caf_init(int*, char***);
       int main() { _gfortran_caf_init(nullptr, nullptr); tailrace_caf_release_part(); }"
      TAILRACE_CAF_LINKS
    )
    set(found ${TAILRACE_CAF_LINKS})
    unset(CMAKE_REQUIRED_LIBRARIES)
    unset(CMAKE_REQUIRED_QUIET)
  endif()
endif()

if(found)
  add_custom_command(
    OUTPUT ${folder}/caf.o
    COMMAND ${compile} -o ${folder}/caf.o
    DEPENDS ${source}
    COMMENT "Building Fortran object src/move/blocks/caf.o"
    VERBATIM
  )
  add_custom_target(tailrace_caf_object DEPENDS ${folder}/caf.o)
  add_dependencies(tailrace_move tailrace_caf_object)
  target_sources(tailrace_move PRIVATE ${folder}/caf.o)
  set_source_files_properties(
    ${folder}/caf.o
    TARGET_DIRECTORY tailrace_move
    PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE
  )
  target_link_libraries(tailrace_move PRIVATE ${TAILRACE_CAF_LIBRARY} ${gfortran_library})
  set_source_files_properties(
    ${CMAKE_CURRENT_SOURCE_DIR}/caf.cpp
    TARGET_DIRECTORY tailrace_move
    PROPERTIES COMPILE_DEFINITIONS TAILRACE_HAVE_CAF=1
  )
  message(STATUS "OpenCoarrays: ${TAILRACE_CAF_LIBRARY}")
elseif(NOT TAILRACE_CAF STREQUAL auto)
  message(
    FATAL_ERROR
    "TAILRACE_CAF is ON, but there is no OpenCoarrays of this MPI, or no gfortran"
  )
else()
  message(STATUS "OpenCoarrays: not found for this MPI; exchange method caf says so")
endif()
