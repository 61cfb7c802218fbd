# libzip::zip. Debian's own CMake package of libzip refuses where the library's command
# line tools, which are another package, are not installed.
find_path(Libzip_INCLUDE_DIR zip.h)
find_library(Libzip_LIBRARY zip)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS Libzip_LIBRARY Libzip_INCLUDE_DIR)
if(Libzip_FOUND AND NOT TARGET libzip::zip)
  add_library(libzip::zip UNKNOWN IMPORTED)
  set_target_properties(libzip::zip PROPERTIES IMPORTED_LOCATION "${Libzip_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Libzip_INCLUDE_DIR}")
endif()
mark_as_advanced(Libzip_INCLUDE_DIR Libzip_LIBRARY)
