# godwit_folder(<name> [LINK <items of target_link_libraries>])
#
# Makes the library godwit_<name> of src/<name>/**.cc, without tests and without what is part of
# another target (EXCLUDE), and the test program godwit_<name>_test of src/<name>/**_test.cc
# and of what its tests share, src/<name>/**/testing/*.cc.
# A new file needs no edit here: the globs are checked again at each build.
function(godwit_folder name)
  cmake_parse_arguments(ARG "" "" "LINK;EXCLUDE;TEST_LINK" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  set(directory ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${directory}/*.cc)
  foreach(excluded ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "^${directory}/${excluded}(/|$)")
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "(_test\\.cc$|/testing/)")
  list(FILTER sources EXCLUDE REGEX "(_test\\.cc$|/testing/)")

  if(sources)
    add_library(godwit_${target} STATIC ${sources})
    set(visibility PUBLIC)
  else()
    add_library(godwit_${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(godwit_${target} ${visibility} ${PROJECT_SOURCE_DIR}/src)
  if(sources)
    target_link_libraries(godwit_${target} PUBLIC Threads::Threads ${ARG_LINK})
    godwit_warnings(godwit_${target})
  else()
    string(REGEX REPLACE "PUBLIC|PRIVATE" "INTERFACE" links "${ARG_LINK}")
    target_link_libraries(godwit_${target} INTERFACE ${links})
  endif()

  if(GODWIT_TESTS AND tests)
    add_executable(godwit_${target}_test ${tests})
    target_link_libraries(godwit_${target}_test PRIVATE godwit_${target} ${ARG_TEST_LINK}
                                                        godwit_test_support
                                                        GTest::gtest GTest::gtest_main)
    godwit_warnings(godwit_${target}_test)
    gtest_discover_tests(godwit_${target}_test DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT 600)
  endif()
endfunction()

function(godwit_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow)
  if(GODWIT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
