# What `cmake --install` puts where: the runtime with its CMake package
# `DistRuntime` (component runtime), and the tools with `Dist` (component compiler).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake)

# The static library needs its parts, which are installed beside it.
function(dist_collect_parts target out)
  get_target_property(links ${target} LINK_LIBRARIES)
  foreach(link ${links})
    if(TARGET ${link} AND NOT link IN_LIST ${out})
      get_target_property(imported ${link} IMPORTED)
      get_target_property(type ${link} TYPE)
      if(NOT imported AND type STREQUAL "STATIC_LIBRARY")
        list(APPEND ${out} ${link})
        dist_collect_parts(${link} ${out})
      endif()
    endif()
  endforeach()
  set(${out} ${${out}} PARENT_SCOPE)
endfunction()
# Where oneDNN lies. Named, since CMake leaves link paths inside the build tree out
# of installed files, and setup puts oneDNN just there.
get_target_property(onednn_library DNNL::dnnl LOCATION)
get_filename_component(onednn_folder "${onednn_library}" DIRECTORY)

set(runtime_parts)
dist_collect_parts(DistRuntimeStatic runtime_parts)
foreach(target DistRuntime DistRuntimeStatic ${runtime_parts})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN;${onednn_folder}"
    INSTALL_RPATH_USE_LINK_PATH ON)
endforeach()
install(TARGETS DistRuntime DistRuntimeStatic ${runtime_parts} EXPORT DistRuntimeTargets
  COMPONENT runtime
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/dist DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT runtime FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# dist_install_package(NAME COMPONENT): its targets, configuration and version.
function(dist_install_package name component)
  install(EXPORT ${name}Targets NAMESPACE dist:: DESTINATION ${package_dir}/${name} COMPONENT ${component})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/${name}Config.cmake.in
    ${PROJECT_BINARY_DIR}/${name}Config.cmake INSTALL_DESTINATION ${package_dir}/${name})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/${name}Config.cmake ${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
    DESTINATION ${package_dir}/${name} COMPONENT ${component})
endfunction()
dist_install_package(DistRuntime runtime)

set(tools)
foreach(tool dist-opt dist-run)
  if(TARGET ${tool})
    list(APPEND tools ${tool})
  endif()
endforeach()
if(tools)
  set_target_properties(${tools} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${onednn_folder}"
    INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${tools} EXPORT DistTargets COMPONENT compiler
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
  dist_install_package(Dist compiler)
endif()
