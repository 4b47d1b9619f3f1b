# What `make install` installs: the shell, both libraries, the header, files for pkg-config and CMake, man pages,
# completions. Components are packages: stele, libstele0, libstele-dev (tools/package-deb.sh).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The commit, for `stele --version`: git's, else what `git archive` wrote into cmake/commit.txt, else nothing.
# No dates: the same sources give the same text.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --short=9 HEAD OUTPUT_VARIABLE STELE_COMMIT
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT STELE_COMMIT)
  file(STRINGS ${CMAKE_SOURCE_DIR}/cmake/commit.txt STELE_COMMIT REGEX "^[0-9a-f]+$")
endif()
if(STELE_COMMIT)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/shell/main.c PROPERTIES COMPILE_DEFINITIONS STELE_COMMIT="${STELE_COMMIT}")
endif()

# One object of all, in which only stele.h's functions are global: a program that links it may define any other name,
# and link libpg_query or PostgreSQL's own code besides.
find_program(OBJCOPY NAMES ${CMAKE_OBJCOPY} objcopy REQUIRED)
set(STELE_STATIC ${CMAKE_BINARY_DIR}/libstele.a)
if(NOT STELE_SANITIZE)
  add_custom_command(OUTPUT ${STELE_STATIC}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o libstele.o $<TARGET_OBJECTS:stele_objects> $<TARGET_FILE:carquet>
            ${PG_QUERY_LIB}
    COMMAND ${OBJCOPY} --wildcard --keep-global-symbol=stele_* --keep-global-symbol=AdbcDriver* libstele.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${STELE_STATIC}
    COMMAND ${CMAKE_AR} rcsD ${STELE_STATIC} libstele.o
    COMMAND ${CMAKE_COMMAND} -E rm -f libstele.o
    DEPENDS $<TARGET_OBJECTS:stele_objects> carquet ${PG_QUERY_LIB} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(stele_static ALL DEPENDS ${STELE_STATIC})
endif()

set(STELE_PRIVATE_LIBS -lzstd -lz -llz4 -lbrotlidec -lpcre2-8 -lutf8proc -lpthread -ldl -lm)
list(JOIN STELE_PRIVATE_LIBS " " STELE_PRIVATE_LIBS_TEXT)
configure_file(cmake/stele.pc.in ${CMAKE_BINARY_DIR}/stele.pc @ONLY)
configure_package_config_file(cmake/stele-config.cmake.in ${CMAKE_BINARY_DIR}/stele-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/stele PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stele-config-version.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS stele RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT stele)
install(FILES docs/man/stele.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT stele)
install(FILES tools/completions/stele.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME stele COMPONENT stele)
install(FILES tools/completions/_stele DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT stele)
install(FILES tools/completions/stele.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT stele)
install(TARGETS stele_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libstele0 NAMELINK_COMPONENT libstele-dev)
install(FILES include/stele/stele.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stele COMPONENT libstele-dev)
if(NOT STELE_SANITIZE)
  install(FILES ${STELE_STATIC} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libstele-dev)
endif()
install(FILES ${CMAKE_BINARY_DIR}/stele.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libstele-dev)
install(FILES ${CMAKE_BINARY_DIR}/stele-config.cmake ${CMAKE_BINARY_DIR}/stele-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/stele COMPONENT libstele-dev)
install(FILES docs/man/libstele.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT libstele-dev)
