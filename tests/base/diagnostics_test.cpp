#include "sim/base/diagnostics.h"

#include <catch2/catch.hpp>
