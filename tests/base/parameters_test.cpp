#include "sim/base/parameters.h"

#include <catch2/catch.hpp>
