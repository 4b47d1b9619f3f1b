# Writes OUT, a C file that holds the kernel C prelude as text: HEADERS in order, their own includes left out.
# cmake -DOUT=file.c "-DHEADERS=a.h;b.h" -P embed_prelude.cmake
set(text "")
foreach(header ${HEADERS})
  file(READ ${header} part)
  string(REGEX REPLACE "#include \"codegen/prelude/[^\n]*\n" "" part "${part}")
  string(APPEND text "${part}")
endforeach()
string(HEX "${text}" hex)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUT} "/* Made by cmake/embed_prelude.cmake from src/codegen/prelude. */
#include \"codegen/prelude.h\"
const char kernel_prelude_text[] = {
${hex}0};
")
