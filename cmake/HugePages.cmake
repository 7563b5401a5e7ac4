# use_huge_pages(PROGRAM): its memory comes from jemalloc, in huge pages where the system grants them (sim/base/huge_pages.cpp).
# Debian's libjemalloc-dev ships no CMake package. Sanitizers bring an allocator of their own and keep it.
find_library(jemalloc_LIBRARY NAMES jemalloc REQUIRED)
mark_as_advanced(jemalloc_LIBRARY)

function(use_huge_pages program)
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    target_sources(${program} PRIVATE "${PROJECT_SOURCE_DIR}/sim/base/huge_pages.cpp")
    target_link_libraries(${program} PRIVATE "${jemalloc_LIBRARY}")
  endif()
endfunction()
