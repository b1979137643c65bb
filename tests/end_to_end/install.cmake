# cmake -DBUILD=DIR -DPREFIX=DIR -P install.cmake: makes a fresh installation. Removes the old one
# first: otherwise files that are no longer installed would remain, and nobody would notice.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "cmake --install failed: ${result}")
endif()
