#include "sim/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace lockstep {

void for_each_in_parallel(std::size_t count, std::size_t threads,
                          const std::function<void(std::size_t number, std::size_t thread)>& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> has_failed{false};
    // All numbers below one that failed have been begun, so the lowest failure is the same however threads take turns.
    std::vector<std::exception_ptr> failures(count);
    const auto serve = [&](std::size_t thread) {
        while (!has_failed) {
            const std::size_t number = next++;
            if (number >= count) {
                return;
            }
            try {
                work(number, thread);
            } catch (...) {
                failures[number] = std::current_exception();
                has_failed = true;
            }
        }
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t thread = 1; thread < std::min(threads, count); ++thread) {
            others.emplace_back(serve, thread);
        }
        serve(0);
    }
    for (const std::exception_ptr& failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
}

std::size_t machine_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace lockstep
