// What most tests include, precompiled once.
#include "tools/cmake/StandardPrecompiled.h"
#include <gtest/gtest.h>
