#include "sim/base/data_files.h"

#include <catch2/catch.hpp>
