# Saves half of the compiling of a clean build. Half of the time of a small source goes into headers (vector, string, algorithm and fmt
# alone take gcc 12 a second; Catch2, nlohmann/json and CLI11 more), and the functions of headers are compiled again for each source.
#
#   OFF    every source by itself, as users build it: the daily build. It alone notices an include that is missing in a test.
#   TESTS  the tests' headers are precompiled, their own sources less optimised, and those that go together are compiled as one.
#   ALL    the headers of sim/ are precompiled as well. The release build of scripts/test does without: it notices what is missing in sim/.
set(LOCKSTEP_FAST_BUILD OFF CACHE STRING "What to compile with precompiled headers and together: OFF, TESTS or ALL")
set_property(CACHE LOCKSTEP_FAST_BUILD PROPERTY STRINGS OFF TESTS ALL)
if(NOT LOCKSTEP_FAST_BUILD MATCHES "^(OFF|TESTS|ALL)$")
  message(FATAL_ERROR "LOCKSTEP_FAST_BUILD is ${LOCKSTEP_FAST_BUILD}; expected OFF, TESTS or ALL")
endif()

set(precompiled_headers <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <deque> <filesystem> <fstream> <functional> <limits> <map>
    <memory> <numeric> <optional> <random> <set> <span> <sstream> <stdexcept> <string> <string_view> <tuple> <unordered_map> <utility>
    <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# A target that owns precompiled headers, for others to use: gcc takes 4 to 5 s and 100 MB for a set, so there are two and not twenty.
function(precompiled_headers_owner name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LIBRARIES")
  file(CONFIGURE OUTPUT "${name}.cpp" CONTENT "// A library has to have a source.\n" @ONLY)
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# Every target of these folders uses the headers of the owner. Their macros have to be the same, for instance fmt's.
function(use_precompiled_headers owner)
  foreach(folder ${ARGN})
    get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target ${targets})
      get_target_property(type ${target} TYPE)
      if(type MATCHES "EXECUTABLE|STATIC_LIBRARY")
        target_precompile_headers(${target} REUSE_FROM ${owner})
      endif()
    endforeach()
  endforeach()
endfunction()

# Compiles sources of a target together, eight at a time. All names that they keep to themselves must differ.
function(compile_together target)
  get_target_property(sources ${target} SOURCES)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  foreach(source ${sources})
    if(NOT source IN_LIST ARGN)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
