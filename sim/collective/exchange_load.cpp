#include "sim/collective/exchange_load.h"

#include <algorithm>

namespace lockstep::collective {

Bytes busiest_port(const SizeMatrix& sizes) {
    Bytes most;
    for (std::uint32_t rank = 0; rank < sizes.ranks; ++rank) {
        Bytes sent;
        Bytes received;
        for (std::uint32_t other = 0; other < sizes.ranks; ++other) {
            if (other != rank) {
                sent += sizes.at(id_at<RankId>(rank), id_at<RankId>(other));
                received += sizes.at(id_at<RankId>(other), id_at<RankId>(rank));
            }
        }
        most = std::max({most, sent, received});
    }
    return most;
}

bool is_even(const SizeMatrix& sizes) {
    for (std::uint32_t from = 0; from < sizes.ranks; ++from) {
        for (std::uint32_t to = 0; to < sizes.ranks; ++to) {
            if (from != to && sizes.at(id_at<RankId>(from), id_at<RankId>(to)) != sizes.bytes[1]) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace lockstep::collective
