# Puts chat_page.html into the program, so that it needs no files at run time.
set(godwit_chat_page_html ${PROJECT_SOURCE_DIR}/src/server/chat_page.html)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${godwit_chat_page_html})
file(READ ${godwit_chat_page_html} GODWIT_CHAT_PAGE)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/chat_page.cc @ONLY CONTENT
"#include \"server/chat_page.h\"

namespace godwit {

std::string_view chat_page() {
  return R\"html(@GODWIT_CHAT_PAGE@)html\";
}

}  // namespace godwit
")
target_sources(godwit_server PRIVATE ${PROJECT_BINARY_DIR}/generated/chat_page.cc)
