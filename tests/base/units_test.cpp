#include "sim/base/units.h"

#include <catch2/catch.hpp>
