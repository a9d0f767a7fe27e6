# SPDX-License-Identifier: BSD-3-Clause
# cmake -D build=... -D source=... -D work=... ... -P use_installed.cmake: see CMakeLists.txt.
set(prefix ${work}/prefix)
set(fields ${work}/fields)

function(must_run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Configures and builds the project in `folder` with nothing of ours but the prefix.
function(build_with_prefix folder name)
  must_run(
    ${CMAKE_COMMAND} -S ${folder} -B ${work}/${name} -G ${generator} -D
    CMAKE_MAKE_PROGRAM=${make_program} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_PREFIX_PATH=${prefix}
  )
  execute_process(
    COMMAND ${CMAKE_COMMAND} --build ${work}/${name} --parallel 2
    OUTPUT_VARIABLE compiler_lines
    ERROR_VARIABLE compiler_lines
    ECHO_OUTPUT_VARIABLE
    ECHO_ERROR_VARIABLE
    COMMAND_ECHO STDOUT
    COMMAND_ERROR_IS_FATAL ANY
  )
  set(compiler_lines "${compiler_lines}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${fields})
must_run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})

file(GLOB_RECURSE package ${prefix}/tailrace*.cmake)
foreach(file ${package})
  file(READ ${file} text)
  foreach(folder ${build} ${source})
    string(FIND "${text}" "${folder}/" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}, which others do not have")
    endif()
  endforeach()
endforeach()

build_with_prefix(${source}/examples examples)
build_with_prefix(${source}/tests/install/headers headers)

# A program of 0.1 compiles and runs. Its lines that end with "// warns: TEXT", and no others, give
# warnings, which say what to write instead.
set(ENV{LC_ALL} C)
set(program ${source}/tests/install/names_of_0.1)
build_with_prefix(${program} names_of_0.1)
file(READ ${program}/program.cpp text)
string(REGEX REPLACE "[][;]" "" text "${text}") # of which lists of CMake consist
string(REGEX MATCHALL "[^\n]*\n" lines "${text}")
set(number 0)
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  string(REGEX MATCH "program\\.cpp:${number}:[0-9]+: warning: [^\n]*" warning "${compiler_lines}")
  string(REGEX MATCH "// warns: [^\n]*" wanted "${line}")
  string(REPLACE "// warns: " "deprecated: " wanted "${wanted}")
  string(FIND "${warning}" "${wanted}" place)
  if(place EQUAL -1 OR (warning AND NOT wanted))
    message(FATAL_ERROR "program.cpp:${number}: wanted \"${wanted}\", got \"${warning}\"")
  endif()
endforeach()
if(
  number LESS 100
  OR compiler_lines MATCHES "tailrace/[a-z_/]*\\.hpp:[0-9]+:[0-9]+: warning: [^\n]*"
)
  message(FATAL_ERROR "${number} lines; a header gives the warning ${CMAKE_MATCH_0}")
endif()
file(MAKE_DIRECTORY ${fields}/names_of_0.1)
must_run(${mpiexec} ${numproc_flag} 2 ${work}/names_of_0.1/program ${fields}/names_of_0.1)

# A component alone links nothing of the others, nor what they link.
build_with_prefix(${source}/tests/install/components move)
must_run(${mpiexec} ${numproc_flag} 3 ${work}/move/transpose 30)
execute_process(
  COMMAND ldd ${work}/move/transpose
  OUTPUT_VARIABLE libraries
  COMMAND_ERROR_IS_FATAL ANY
)
if(NOT libraries MATCHES "libmpi")
  message(FATAL_ERROR "ldd does not name the MPI library: ${libraries}")
endif()
if(libraries MATCHES "lib(hdf5|fftw|uring|zstd|zfp|bz2|tailrace_(fft|io|servers))[^ ]*")
  message(FATAL_ERROR "a program that links tailrace::move needs ${CMAKE_MATCH_0}")
endif()
# What is missing is named.
function(must_be_refused components option text)
  # A cache would keep the MPI library of the call before.
  file(REMOVE_RECURSE ${work}/refused)
  execute_process(
    COMMAND
      ${CMAKE_COMMAND} -S ${source}/tests/install/components -B ${work}/refused -G ${generator} -D
      CMAKE_MAKE_PROGRAM=${make_program} -D CMAKE_CXX_COMPILER=${compiler} -D
      CMAKE_PREFIX_PATH=${prefix} -D "COMPONENTS=${components}" -D ${option}
    RESULT_VARIABLE status
    ERROR_VARIABLE error
    OUTPUT_QUIET
  )
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  string(FIND "${error}" "${text}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${components}: wanted \"${text}\", got ${status}: ${error}")
  endif()
endfunction()
must_be_refused("fft;boats" A=1 "boats is no component; there are move, fft, io, servers")
# So is another MPI library than the one that this one was built with.
foreach(name mpicxx.mpich mpicxx.openmpi)
  find_program(mpicxx_${name} ${name} NO_CACHE)
endforeach()
file(READ ${prefix}/${libdir}/cmake/tailrace/tailraceConfig.cmake text)
string(REGEX MATCH "set\\(tailrace_mpi_CXX \"(/[^\"]+)\"\\)" found "${text}")
if(NOT found OR NOT EXISTS "${CMAKE_MATCH_1}")
  message(FATAL_ERROR "tailraceConfig.cmake does not name the MPI compiler with its full path")
endif()
if(mpicxx_mpicxx.mpich AND mpicxx_mpicxx.openmpi)
  set(other ${mpicxx_mpicxx.mpich})
  if(text MATCHES "EQUAL \"12\"") # of libmpich.so.12
    set(other ${mpicxx_mpicxx.openmpi})
  endif()
  must_be_refused(move MPI_CXX_COMPILER=${other} "was built with another MPI library")
endif()
must_be_refused(c A=1 "c needs a project with the language C")
if(EXISTS ${prefix}/${libdir}/cmake/tailrace/tailrace_dense.cmake)
  must_be_refused(
    dense
    CMAKE_DISABLE_FIND_PACKAGE_LAPACK=ON
    "dense needs LAPACK, which is not found"
  )
endif()

# Kernels that are chosen by their times differ in the last digits of what they compute.
set(ENV{TAILRACE_REPRODUCIBLE} 1)
must_run(${mpiexec} ${numproc_flag} 2 ${work}/examples/heat 32 ${fields})
if(NOT EXISTS ${fields}/heat_40.h5)
  message(FATAL_ERROR "heat wrote no ${fields}/heat_40.h5")
endif()
# The C program by pkg-config alone writes the same bytes as the C++ program.
file(MAKE_DIRECTORY ${fields}/c)
set(ENV{PKG_CONFIG_PATH} "${prefix}/${libdir}/pkgconfig:$ENV{PKG_CONFIG_PATH}")
execute_process(
  COMMAND pkg-config --cflags --libs tailrace
  OUTPUT_VARIABLE flags
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY
)
separate_arguments(flags UNIX_COMMAND "${flags}")
must_run(
  mpicc -std=c11 ${source}/examples/heat.c -o ${work}/heat_c ${flags} -lm
)
must_run(${mpiexec} ${numproc_flag} 2 ${work}/heat_c 32 ${fields}/c)
must_run(${CMAKE_COMMAND} -E compare_files ${fields}/heat_40.h5 ${fields}/c/heat_40.h5)
# Writes the first block of a language in a page of docs to a file.
function(write_block page language file)
  file(READ ${source}/docs/${page} text)
  string(FIND "${text}" "```${language}\n" begin)
  string(LENGTH "```${language}\n" head)
  math(EXPR begin "${begin} + ${head}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE ${file} "${text}")
endfunction()
# Builds and runs the program mine/, which is that of a page and writes a file.
function(run_mine page written)
  build_with_prefix(${work}/mine mine_built)
  execute_process(
    COMMAND ${mpiexec} ${numproc_flag} 2 ${work}/mine_built/mine
    WORKING_DIRECTORY ${fields}
    COMMAND_ERROR_IS_FATAL ANY
  )
  if(NOT EXISTS ${fields}/${written})
    message(FATAL_ERROR "what ${page} says wrote no ${written}")
  endif()
  file(REMOVE ${fields}/${written})
endfunction()
# The program of docs/start.md, built as it says.
write_block(start.md cpp ${work}/mine/mine.cpp)
write_block(start.md cmake ${work}/mine/CMakeLists.txt)
run_mine(docs/start.md u.h5)
write_block(tutorials/first_output.md cpp ${work}/mine/mine.cpp)
run_mine(docs/tutorials/first_output.md first_2.h5)
# The lines of README.md, between MPI_Init and MPI_Finalize.
write_block(../README.md cpp ${work}/mine/mine.cpp)
file(READ ${work}/mine/mine.cpp text)
set(before "int main(int argc, char** argv) {\n  MPI_Init(&argc, &argv);\n  {\n")
string(REPLACE "const tailrace::Comm" "${before}const tailrace::Comm" text "${text}")
file(WRITE ${work}/mine/mine.cpp "${text}  }\n  MPI_Finalize();\n}\n")
run_mine(README.md u.h5)
# The example of a page in a language.
function(
  run_example
  page
  language
  file
  compiler
  library
  written
)
  write_block(${page} ${language} ${work}/${file})
  execute_process(
    COMMAND pkg-config --cflags --libs ${library}
    OUTPUT_VARIABLE flags
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY
  )
  separate_arguments(flags UNIX_COMMAND "${flags}")
  must_run(${compiler} ${work}/${file} -o ${work}/${file}.run ${flags})
  execute_process(
    COMMAND ${mpiexec} ${numproc_flag} 3 ${work}/${file}.run
    WORKING_DIRECTORY ${fields}
    COMMAND_ERROR_IS_FATAL ANY
  )
  if(NOT EXISTS ${fields}/${written})
    message(FATAL_ERROR "${file} of docs/${page} wrote no ${written}")
  endif()
  file(REMOVE ${fields}/${written})
endfunction()
run_example(bindings.md c rows.c mpicc tailrace u.h5)
if(EXISTS ${prefix}/${libdir}/pkgconfig/tailrace-fortran.pc)
  run_example(bindings.md fortran waves.f90 mpif90 tailrace-fortran u.h5)
  run_example(
    tutorials/first_output.md fortran first.f90 mpif90 tailrace-fortran first_2.h5
  )
  file(MAKE_DIRECTORY ${fields}/fortran)
  must_run(${mpiexec} ${numproc_flag} 2 ${work}/examples/heat_fortran 32 ${fields}/fortran)
  must_run(
    ${CMAKE_COMMAND} -E compare_files ${fields}/heat_40.h5 ${fields}/fortran/heat_40.h5
  )
  # Again with the module compiled from its sources, as for another compiler.
  file(
    GLOB module_sources
    ${prefix}/share/tailrace/fortran/*.c
    ${prefix}/share/tailrace/fortran/*.f90
  )
  file(MAKE_DIRECTORY ${work}/module ${fields}/module)
  must_run(
    mpif90 -ffp-contract=off -fno-tree-vectorize -J${work}/module -I${prefix}/include
    ${module_sources} ${source}/examples/heat.f90 -o ${work}/module/heat -L${prefix}/${libdir}
    -ltailrace -Wl,-rpath,${prefix}/${libdir}
  )
  must_run(${mpiexec} ${numproc_flag} 2 ${work}/module/heat 32 ${fields}/module)
  must_run(
    ${CMAKE_COMMAND} -E compare_files ${fields}/heat_40.h5 ${fields}/module/heat_40.h5
  )
endif()
unset(ENV{TAILRACE_REPRODUCIBLE})
must_run(${mpiexec} ${numproc_flag} 3 ${work}/examples/transpose 30)
# A run on 3 ranks, the end of it again on 2, from a file of the first.
file(MAKE_DIRECTORY ${fields}/again)
must_run(${mpiexec} ${numproc_flag} 3 ${work}/examples/own_blocks ${fields} 20)
must_run(
  ${mpiexec} ${numproc_flag} 2 ${work}/examples/own_blocks ${fields}/again 20 ${fields}/u_10.h5 10
)
must_run(${CMAKE_COMMAND} -E compare_files ${fields}/u_20.h5 ${fields}/again/u_20.h5)
foreach(servers none thread process 1)
  must_run(${mpiexec} ${numproc_flag} 3 ${work}/examples/servers ${servers} ${fields})
  if(NOT EXISTS ${fields}/plate_200.h5 OR NOT EXISTS ${fields}/plate_200_coarse.h5)
    message(FATAL_ERROR "servers (${servers}) wrote no ${fields}/plate_200.h5 or its coarse field")
  endif()
  file(GLOB made ${fields}/plate_* ${fields}/means.csv)
  file(REMOVE ${made})
endforeach()
if(EXISTS ${prefix}/bin/tailrace-list)
  must_run(${prefix}/bin/tailrace-list)
endif()
