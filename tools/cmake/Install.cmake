# What `cmake --install` puts where: the runtime with its CMake package
# `DistRuntime` (component runtime), and the tools with `Dist` (component compiler).
# An installed file names no folder of the build: oneDNN goes along.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake)
# What only we use: oneDNN, and the parts of the static library.
set(private_dir ${CMAKE_INSTALL_LIBDIR}/dist-mlir)

# The static library needs its parts, which are installed with it.
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

# Sets `out` to `folder` unless the dynamic linker finds libraries there anyway.
function(dist_own_folder folder out)
  get_filename_component(folder "${folder}" REALPATH)
  set(system ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
  list(TRANSFORM system REPLACE "^/lib" "/usr/lib")
  if(folder IN_LIST system)
    set(folder)
  endif()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

# oneDNN is shipped unless the system has it. Its licence asks to go with it: one
# that came without stays where it is.
get_target_property(onednn_library DNNL::dnnl LOCATION)
get_target_property(onednn_type DNNL::dnnl TYPE)
get_filename_component(onednn_folder "${onednn_library}" DIRECTORY)
dist_own_folder("${onednn_folder}" onednn_folder)
set(onednn_licences)
foreach(name onednn oneDNN dnnl)
  file(GLOB found ${onednn_folder}/../share/doc/${name}/LICENSE*
    ${onednn_folder}/../share/doc/${name}/THIRD-PARTY-PROGRAMS*)
  list(APPEND onednn_licences ${found})
endforeach()
set(ship_onednn OFF)
if(onednn_folder AND onednn_type STREQUAL "SHARED_LIBRARY")
  if(onednn_licences)
    set(ship_onednn ON)
  else()
    message(WARNING "oneDNN (${onednn_library}) has no licence beside it (../share/doc/dnnl): "
      "it is not installed along, and installed files will look for it where it is now")
  endif()
endif()
get_target_property(onednn_soname DNNL::dnnl IMPORTED_SONAME_RELEASE)
if(NOT onednn_soname)
  get_filename_component(onednn_soname "${onednn_library}" NAME)
endif()
# Where the installed CMake package looks for it, if it is not shipped.
set(onednn_hint "${dnnl_DIR}")
set(rpath_from_lib "$ORIGIN/dist-mlir")
set(rpath_from_bin "$ORIGIN/../${private_dir}")
if(ship_onednn)
  set(onednn_hint)
  install(FILES ${onednn_library} DESTINATION ${private_dir} RENAME ${onednn_soname} COMPONENT runtime)
  install(FILES ${onednn_licences} DESTINATION ${CMAKE_INSTALL_DOCDIR}/onednn COMPONENT runtime)
elseif(onednn_folder AND onednn_type STREQUAL "SHARED_LIBRARY")
  set(rpath_from_lib "${onednn_folder}")
  set(rpath_from_bin "${onednn_folder}")
else()
  set(rpath_from_lib)
  set(rpath_from_bin)
endif()

set(runtime_parts)
dist_collect_parts(DistRuntimeStatic runtime_parts)
set_target_properties(DistRuntime PROPERTIES INSTALL_RPATH "${rpath_from_lib}")
install(TARGETS DistRuntime EXPORT DistRuntimeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime)
install(TARGETS DistRuntimeStatic EXPORT DistRuntimeStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS ${runtime_parts} EXPORT DistRuntimeStaticTargets
  ARCHIVE DESTINATION ${private_dir} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/dist DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT runtime FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/tools/cmake/copyright
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# dist_install_package(NAME COMPONENT EXPORTS...): its targets, configuration and version.
function(dist_install_package name component)
  foreach(export ${ARGN})
    install(EXPORT ${export} NAMESPACE dist:: DESTINATION ${package_dir}/${name} COMPONENT ${component})
  endforeach()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/${name}Config.cmake.in
    ${PROJECT_BINARY_DIR}/${name}Config.cmake INSTALL_DESTINATION ${package_dir}/${name})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/${name}Config.cmake ${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
    DESTINATION ${package_dir}/${name} COMPONENT ${component})
endfunction()
if(TARGET DistRuntimeCluster)
  set_target_properties(DistRuntimeCluster PROPERTIES INSTALL_RPATH "${rpath_from_lib}")
  install(TARGETS DistRuntimeCluster EXPORT DistRuntimeClusterTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cluster NAMELINK_COMPONENT cluster)
  install(EXPORT DistRuntimeClusterTargets NAMESPACE dist:: DESTINATION ${package_dir}/DistRuntime COMPONENT cluster)
endif()
dist_install_package(DistRuntime runtime DistRuntimeTargets DistRuntimeStaticTargets)

set(tools)
foreach(tool dist-opt dist-run dist-run-cluster)
  if(TARGET ${tool})
    list(APPEND tools ${tool})
  endif()
endforeach()
if(tools)
  # MLIR's package keeps its libraries in a folder of their own.
  set(llvm_folder)
  if(LLVM_LIBRARY_DIR)
    dist_own_folder("${LLVM_LIBRARY_DIR}" llvm_folder)
  endif()
  set_target_properties(${tools} PROPERTIES INSTALL_RPATH "${rpath_from_bin}")
  if(TARGET dist-opt)
    set_property(TARGET dist-opt APPEND PROPERTY INSTALL_RPATH ${llvm_folder})
  endif()
  install(TARGETS ${tools} EXPORT DistTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
  dist_install_package(Dist compiler DistTargets)
endif()
include(Packages)
