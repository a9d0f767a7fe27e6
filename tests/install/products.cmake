# SPDX-License-Identifier: BSD-3-Clause
# cmake -D source=... -D work=... -D generator=... -D make_program=... -D compiler=... -D product=...
# -D folders=A,B,... -D options=A,B,... -D target=... -P products.cmake: a product configures, and its target builds, in a
# tree that holds only these folders; then the tree is asked for a product that it does not hold.
string(REPLACE "," ";" folders "${folders}")
string(REPLACE "," ";" options "${options}")
file(REMOVE_RECURSE ${work})
file(COPY ${source}/CMakeLists.txt ${source}/cmake DESTINATION ${work}/tree)
foreach(folder ${folders})
  file(COPY ${source}/${folder} DESTINATION ${work}/tree)
endforeach()

set(
  configure
  ${CMAKE_COMMAND}
  -S
  ${work}/tree
  -B
  ${work}/build
  -G
  ${generator}
  -D
  CMAKE_MAKE_PROGRAM=${make_program}
  -D
  CMAKE_CXX_COMPILER=${compiler}
  -D
  CMAKE_BUILD_TYPE=Debug
  -D
  TAILRACE_NATIVE=OFF
  ${options}
)
execute_process(COMMAND ${configure} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${CMAKE_COMMAND} --build ${work}/build --parallel 2 --target ${target}
  COMMAND_ERROR_IS_FATAL ANY
)
if(target STREQUAL all)
  execute_process(
    COMMAND ${CMAKE_COMMAND} --install ${work}/build --prefix ${work}/prefix
    OUTPUT_QUIET
    COMMAND_ERROR_IS_FATAL ANY
  )
  file(GLOB_RECURSE headers RELATIVE ${work}/prefix/include ${work}/prefix/include/*.h*)
  if(NOT headers)
    message(FATAL_ERROR "no header was installed")
  endif()
  set(own output.hpp)
  set(other sparse.hpp)
  if(product STREQUAL kernels)
    set(own sparse.hpp)
    set(other output.hpp)
  endif()
  if(NOT tailrace/${own} IN_LIST headers OR tailrace/${other} IN_LIST headers)
    message(FATAL_ERROR "${product} alone must install ${own}, and not ${other}: ${headers}")
  endif()
endif()

# must_be_refused(products text): configuring for these products ends with this error.
function(must_be_refused products text)
  execute_process(
    COMMAND ${configure} -D TAILRACE_PRODUCTS=${products}
    RESULT_VARIABLE status
    ERROR_VARIABLE error
    OUTPUT_QUIET
  )
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  string(FIND "${error}" "${text}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${products}: wanted \"${text}\", got ${status}: ${error}")
  endif()
endfunction()
must_be_refused(apps "names apps, whose folder is not in this tree")
must_be_refused(boats "names \"boats\"; the products are library, kernels, plugins, command, apps")
