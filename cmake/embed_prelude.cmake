# Writes OUT, a C file that holds kernel C as text: HEADERS in order, their own includes left out. NAME is the array,
# DECLARED the header that declares it. LINES: compilers are told of the headers' names and lines (#line).
# cmake -DOUT=file.c "-DHEADERS=a.h;b.h" -DNAME=name -DDECLARED=header.h [-DLINES=1] -P embed_prelude.cmake
set(text "")
foreach(header ${HEADERS})
  file(READ ${header} part)
  if(LINES)
    get_filename_component(file ${header} NAME)
    string(REGEX REPLACE "#include \"codegen/prelude/[^\n]*\n" "\n" part "${part}")
    string(APPEND text "#line 1 \"${file}\"\n")
  else()
    string(REGEX REPLACE "#include \"codegen/prelude/[^\n]*\n" "" part "${part}")
  endif()
  string(APPEND text "${part}")
endforeach()
string(HEX "${text}" hex)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUT} "/* Made by cmake/embed_prelude.cmake from src/codegen/prelude. */
#include \"${DECLARED}\"
const char ${NAME}[] = {
${hex}0};
")
