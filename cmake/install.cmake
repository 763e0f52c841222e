# What `cmake --install` and CPack put where; PREFIX and DESTDIR are honoured. docs/packaging.md says
# how to use it.
include(GNUInstallDirs)
option(GODWIT_SYSTEMD_UNIT "Install a systemd unit that serves a model" OFF)

# The manual page and the completion scripts come from the program's own command line.
set(godwit_generated ${PROJECT_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${godwit_generated}/godwit.1 ${godwit_generated}/godwit.bash ${godwit_generated}/_godwit
         ${godwit_generated}/godwit.fish
  COMMAND godwit man > ${godwit_generated}/godwit.1
  COMMAND godwit completion bash > ${godwit_generated}/godwit.bash
  COMMAND godwit completion zsh > ${godwit_generated}/_godwit
  COMMAND godwit completion fish > ${godwit_generated}/godwit.fish
  DEPENDS godwit VERBATIM)
add_custom_target(godwit_shell_files ALL DEPENDS ${godwit_generated}/godwit.1)

# Only what is installed is built before: no tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
install(TARGETS godwit RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${godwit_generated}/godwit.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${godwit_generated}/godwit.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME godwit)
install(FILES ${godwit_generated}/_godwit
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${godwit_generated}/godwit.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# Libraries whose headers are compiled in: their notices, as Debian collects them. (Boost's licence
# asks for none in a program.)
set(godwit_notices ${godwit_generated}/THIRD_PARTY_NOTICES)
file(WRITE ${godwit_notices} "Compiled into godwit:\n")
foreach(package nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev prometheus-cpp-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright notice)
    file(APPEND ${godwit_notices} "\n==== ${package}\n\n${notice}")
  endif()
endforeach()
install(FILES ${godwit_notices} DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(GODWIT_SYSTEMD_UNIT)
  configure_file(cmake/godwit.service.in ${godwit_generated}/godwit.service @ONLY)
  install(FILES ${godwit_generated}/godwit.service DESTINATION lib/systemd/system)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME godwit)
set(CPACK_PACKAGE_VENDOR godwit)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "server for large language models with the OpenAI API")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# dpkg asks for a maintainer; the project has no address to give, so none is invented.
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "godwit developers")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
