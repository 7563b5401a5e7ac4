#include "sim/fabric/catalogue.h"

#include "tests/fabric/scratch_data.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

std::string error_of(std::string_view devices) { return ScratchData(devices).catalogue_error(); }

}  // namespace

TEST_CASE("catalogue: every shipped device has a source and a basis", "[fabric]") {
    const Catalogue catalogue(DataFiles(LOCKSTEP_SOURCE_DIR));
    CHECK(catalogue.entries().size() > 60);
    for (const DeviceEntry& entry : catalogue.entries()) {
        CAPTURE(entry.kind, entry.name);
        CHECK_FALSE(entry.summary.empty());
        CHECK_FALSE(entry.source.empty());
        CHECK_FALSE(entry.basis.empty());
    }
    CHECK(catalogue.entries().front().kind == "gpu");
    CHECK(catalogue.entries().back().kind == "link");
}

TEST_CASE("catalogue: what a device lacks is told at its place", "[fabric][error]") {
    CHECK(error_of(R"(gpus:
  A: {fp16_peak: 1 TFLOP/s, basis: datasheet}
)") == "d.yaml:2:6: gpus.A: missing key `source`");
    CHECK(error_of(R"(gpus:
  A: {fp16_peak: 1 TFLOP/s, source: here}
)") == "d.yaml:2:6: gpus.A: missing key `basis`");
    CHECK(error_of(R"(gpus:
  A: {fp16_peak: 1 TFLOP/s, source: here, basis: guessed}
)") == "d.yaml:2:50: gpus.A.basis: expected one of datasheet, measured, reported, recalled, assumed, got `guessed`");
    CHECK(error_of(R"(links:
  A: {bandwidth: 1 GB/s, efficiency: 1, latency: 1 us, source: here, basis: datasheet}
)") == "d.yaml:2:6: links.A: missing key `kind`");
    CHECK(error_of(R"(nics:
  A: {rate: 1 GB/s, source: here, basis: datasheet}
)") == "d.yaml:2:6: nics.A: missing key `latency`");
}

TEST_CASE("catalogue: a basis by field covers the given fields and no others", "[fabric][error]") {
    CHECK(error_of(R"(nics:
  A: {rate: 1 GB/s, latency: 1 us, source: here, basis: {rate: datasheet}}
)") == "d.yaml:2:57: nics.A.basis: missing key `latency`");
    CHECK(error_of(R"(hosts:
  A: {latency: 1 us, source: here, basis: {latency: datasheet, rate: datasheet}}
)") == "d.yaml:2:64: unknown key `rate`; known: latency");
}

TEST_CASE("catalogue: a field of another kind of device is unknown, and names are taken once", "[fabric][error]") {
    CHECK(error_of(R"(gpus:
  A: {fp16_peak: 1 TFLOP/s, ports: 64, source: here, basis: datasheet}
)") == "d.yaml:2:29: unknown key `ports`; known: fp16_peak, fp8_peak, fp32_peak, memory, memory_bandwidth, source, "
       "basis");
    CHECK(error_of("swiches: {}\n") == "d.yaml:1:1: unknown key `swiches` — did you mean `switches`?");
}
