# Writes OUTPUT, which defines what page_files.h declares: HTML, STYLE and SCRIPTS (one behind the other) as string literals, in pieces
# that no compiler finds too long.
function(literal name result)
  set(text "")
  foreach(file ${ARGN})
    file(READ "${file}" part HEX)
    string(APPEND text "${part}")
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${text}")
  # 64 bytes a line
  string(REPEAT "...." 64 piece)
  string(REGEX REPLACE "(${piece})" "\\1\"\n    \"" text "${text}")
  set(${result} "const std::string_view ${name} =\n    \"${text}\";\n" PARENT_SCOPE)
endfunction()

literal(html html_text "${HTML}")
literal(style style_text "${STYLE}")
literal(script script_text ${SCRIPTS})
file(WRITE "${OUTPUT}" "#include \"sim/report/page/page_files.h\"\n\nnamespace lockstep::report::page {\n\n\
${html_text}\n${style_text}\n${script_text}\n}  // namespace lockstep::report::page\n")
