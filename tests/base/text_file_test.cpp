#include "sim/base/text_file.h"

#include <catch2/catch.hpp>
