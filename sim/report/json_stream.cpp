#include "sim/report/json_stream.h"

#include <string>

namespace lockstep::report {

std::string JsonStream::text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void JsonStream::begin(std::string_view key) {
    out_ << (first_ ? "\n  " : ",\n  ") << text(std::string(key)) << ": ";
    first_ = false;
}

}  // namespace lockstep::report
