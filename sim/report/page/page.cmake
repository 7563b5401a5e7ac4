# The page that `lockstep explain --html` writes is built into the program. Its scripts run in this order, in one scope.
set(page "${CMAKE_CURRENT_LIST_DIR}")
set(scripts model.js places.js layout.js stage.js matrix.js formula.js player.js page.js)
list(TRANSFORM scripts PREPEND "${page}/")
set(embedded "${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp")
add_custom_command(
  OUTPUT "${embedded}"
  COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${embedded}" "-DHTML=${page}/page.html" "-DSTYLE=${page}/page.css"
          "-DSCRIPTS=${scripts}" -P "${page}/embed.cmake"
  DEPENDS "${page}/embed.cmake" "${page}/page.html" "${page}/page.css" ${scripts}
  COMMENT "Embedding the page of lockstep explain"
  VERBATIM)
target_sources(lockstep-report PRIVATE "${embedded}")
