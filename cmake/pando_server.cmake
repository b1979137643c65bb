# The modules of the server, and the library `pando_server` of them, which its program and tests link.
# The target `serve` builds the program, the target `serving_tests` its tests.
include_guard(GLOBAL)
add_subdirectory(grpc)
add_subdirectory(rest)
add_subdirectory(request)
add_subdirectory(server)

get_property(server_modules GLOBAL PROPERTY PANDO_SERVER_MODULES)
get_property(server_foreign GLOBAL PROPERTY PANDO_SERVER_FOREIGN)
list(REMOVE_DUPLICATES server_foreign)
add_library(pando_server STATIC EXCLUDE_FROM_ALL)
foreach(module IN LISTS server_modules)
  target_sources(pando_server PRIVATE $<TARGET_OBJECTS:${module}>)
endforeach()
target_link_libraries(pando_server PUBLIC pando_serve pando)
pando_foreign_linked(server_linked ${server_foreign})
foreach(library IN LISTS server_linked)
  target_link_libraries(pando_server PUBLIC pando_foreign::${library})
endforeach()

add_executable(pando_serve_program EXCLUDE_FROM_ALL server/main.cc)
set_target_properties(pando_serve_program PROPERTIES OUTPUT_NAME pando-serve
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
target_link_libraries(pando_serve_program PRIVATE pando_server pando_warnings)
# Beside the program, as a component and a package of its own.
include(GNUInstallDirs)
install(PROGRAMS $<TARGET_FILE:pando_serve_program> DESTINATION ${CMAKE_INSTALL_BINDIR}
        COMPONENT serve EXCLUDE_FROM_ALL)
add_custom_target(serve DEPENDS pando_serve_program)
