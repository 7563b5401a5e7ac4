#include "sim/base/yaml.h"

#include <catch2/catch.hpp>
