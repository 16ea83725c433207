# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How this project declares its libraries, passes and dialects.

string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
if(NOT REMAT_ENABLE_ASSERTIONS)
  add_compile_definitions(NDEBUG)
endif()
string(REPLACE "-g" "-g1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
# Libraries have no undefined symbols: what is missing shows here and not in the program that loads them.
set(REMAT_NO_UNDEFINED -Wl,-z,defs)
if(REMAT_SANITIZE)
  # Stacks name lines in any type of build: test/Fuzz/fuzz.py tells our failures from upstream's by them.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr,function -fno-omit-frame-pointer -gline-tables-only)
  add_link_options(-fsanitize=address,undefined)
  # Only the program has the sanitizers' functions.
  string(REPLACE "-Wl,-z,defs" "" CMAKE_SHARED_LINKER_FLAGS "${CMAKE_SHARED_LINKER_FLAGS}")
  set(REMAT_NO_UNDEFINED)
endif()
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The precompiled header (lib/PCH.h) is part of the key by content, hence -fno-pch-timestamp. CMake's own options would name
  # files by whole paths, and no two checkouts would share what is in the cache.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -Xclang -emit-pch -Xclang -include -Xclang PCH.h -x c++-header)
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

# remat_dialect_tablegen(NAME NAMESPACE): everything that is generated from NAMEOps.td of this folder.
macro(remat_dialect_tablegen dialect namespace)
  set(LLVM_TARGET_DEFINITIONS ${dialect}Ops.td)
  mlir_tablegen(${dialect}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${dialect}Ops.cpp.inc -gen-op-defs)
  mlir_tablegen(${dialect}Dialect.h.inc -gen-dialect-decls -dialect=${namespace})
  mlir_tablegen(${dialect}Dialect.cpp.inc -gen-dialect-defs -dialect=${namespace})
  mlir_tablegen(${dialect}Types.h.inc -gen-typedef-decls -typedefs-dialect=${namespace})
  mlir_tablegen(${dialect}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${namespace})
  mlir_tablegen(${dialect}Attributes.h.inc -gen-attrdef-decls -attrdefs-dialect=${namespace})
  mlir_tablegen(${dialect}Attributes.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${namespace})
  mlir_tablegen(${dialect}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${dialect}Enums.cpp.inc -gen-enum-defs)
  # Interfaces are generated from the file that defines them only.
  set(LLVM_TARGET_DEFINITIONS ${dialect}Attributes.td)
  mlir_tablegen(${dialect}AttrInterfaces.h.inc -gen-attr-interface-decls)
  mlir_tablegen(${dialect}AttrInterfaces.cpp.inc -gen-attr-interface-defs)
  add_public_tablegen_target(Remat${dialect}IncGen)
  add_dependencies(remat-headers Remat${dialect}IncGen)
  set_property(GLOBAL APPEND PROPERTY REMAT_DOCS
    "${CMAKE_CURRENT_SOURCE_DIR}/${dialect}Ops.td|-gen-dialect-doc -dialect=${namespace}|${dialect}Dialect.md")
endmacro()

# remat_passes(GROUP): Passes.td of this folder -> Passes.h.inc, with documentation.
macro(remat_passes group)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name=${group})
  add_public_tablegen_target(Remat${group}PassesIncGen)
  add_dependencies(remat-headers Remat${group}PassesIncGen)
  set_property(GLOBAL APPEND PROPERTY REMAT_DOCS
    "${CMAKE_CURRENT_SOURCE_DIR}/Passes.td|-gen-pass-doc|${group}Passes.md")
endmacro()

# remat_interface(NAME): NAME.td with one or more op interfaces -> NAME.{h,cpp}.inc.
macro(remat_interface name)
  set(LLVM_TARGET_DEFINITIONS ${name}.td)
  mlir_tablegen(${name}.h.inc -gen-op-interface-decls)
  mlir_tablegen(${name}.cpp.inc -gen-op-interface-defs)
  add_public_tablegen_target(Remat${name}IncGen)
  add_dependencies(remat-headers Remat${name}IncGen)
endmacro()

# remat_library(NAME SOURCES... [LINK LIBS...]): a static library of compiler code, with the libraries of this project
# that it calls. All of them share one precompiled header (a translation unit takes 2 s instead of 12) and depend on
# every generated header.
function(remat_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} remat-headers)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  target_precompile_headers(${name} REUSE_FROM RematPCH)
  set_property(GLOBAL APPEND PROPERTY REMAT_LIBRARIES ${name})
endfunction()
