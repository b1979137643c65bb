# The warnings of our own code, as an interface target.
include_guard(GLOBAL)
add_library(pando_warnings INTERFACE)
target_compile_options(pando_warnings INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion
  -Wshadow -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 raises it wrongly inside std::string
  # GCC takes the sources that a unity build includes for headers.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
  -Werror)
