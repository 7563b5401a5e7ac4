#pragma once

#include <cstddef>
#include <functional>

namespace lockstep {

/// Does `work` for each number below `count`, on as many threads, this one included. Numbers are handed out in
/// ascending order; what they come to must not depend on who does which. work: gets a number, and which of the threads
/// it is on: 0 is the caller's. Throws: what the lowest number threw whose work threw anything; numbers not begun by
/// then are left out.
void for_each_in_parallel(std::size_t count, std::size_t threads,
                          const std::function<void(std::size_t number, std::size_t thread)>& work);

/// How many threads the machine runs at once, at least 1.
std::size_t machine_threads();

}  // namespace lockstep
