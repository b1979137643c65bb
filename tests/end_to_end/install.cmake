# cmake -DBUILD=DIR -DPREFIX=DIR -P install.cmake: a fresh installation; without the removal, files
# that are no longer installed would stay and hide their absence.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "cmake --install failed: ${result}")
endif()
