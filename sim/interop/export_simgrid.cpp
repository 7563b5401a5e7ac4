#include "sim/interop/export_simgrid.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/base/diagnostics.h"
#include "sim/fabric/route.h"

namespace lockstep::interop {

using fabric::Fabric;
using fabric::Route;
using fabric::RouteShare;

namespace {

constexpr int most_copies = 64;  ///< of a link in one route
constexpr double equal_shares = 1e-9;
constexpr FlopRate speed_unless_known{1e12};

/// How a direction of a link is written: with its bandwidth divided by `unit`, and listed share / unit times.
struct LinkForm {
    std::vector<double> shares = {};  ///< of the routes that cross it, each once
    double unit = 1.0;
    bool keeps_latency = true;  ///< all flows cross it as a whole

    bool used() const { return !shares.empty(); }
    int copies(double share) const { return static_cast<int>(std::lround(share / unit)); }
    bool like(const LinkForm& other) const {
        return used() == other.used() && std::abs(unit - other.unit) < equal_shares * unit &&
               keeps_latency == other.keeps_latency;
    }
};

/// The largest number of which all shares are whole multiples, at most `most_copies` times it.
std::optional<double> unit_of(const std::vector<double>& shares) {
    const double least = *std::ranges::min_element(shares);
    for (int parts = 1; parts <= most_copies; ++parts) {
        const double unit = least / parts;
        const bool fits = std::ranges::all_of(shares, [&](double share) {
            const double copies = std::round(share / unit);
            return copies <= most_copies && std::abs(share / unit - copies) < equal_shares * copies;
        });
        if (fits) {
            return unit;
        }
    }
    return std::nullopt;
}

class PlatformWriter {
  public:
    PlatformWriter(std::ostream& out, const Fabric& fabric, std::span<const VertexId> hosts)
        : out_(&out),
          fabric_(&fabric),
          hosts_(hosts),
          router_(fabric, fabric::RoutingPolicy::static_, 1),
          forms_(fabric.link_count()),
          ids_(fabric.link_count()) {}

    void write() {
        find_forms();
        begin();
        write_hosts();
        write_links();
        write_routes();
        *out_ << "  </zone>\n</platform>\n";
    }

  private:
    /// Calls `visit` with both hosts and the route of every ordered pair.
    template <class Visit>
    void for_each_route(Visit visit) {
        for (const VertexId from : hosts_) {
            for (const VertexId to : hosts_) {
                if (from != to) {
                    visit(from, to, router_.route(from, to, 0, {}));
                }
            }
        }
    }

    void find_forms() {
        for_each_route([&](VertexId, VertexId, const Route& route) {
            for (const RouteShare& crossing : route.links) {
                std::vector<double>& shares = forms_[index(crossing.link)].shares;
                const bool known = std::ranges::any_of(shares, [&](double share) {
                    return std::abs(share - crossing.share) < equal_shares * crossing.share;
                });
                if (!known) {
                    shares.push_back(crossing.share);
                }
            }
        });
        for (std::size_t at = 0; at < forms_.size(); ++at) {
            LinkForm& form = forms_[at];
            if (!form.used()) {
                continue;
            }
            const auto unit = unit_of(form.shares);
            if (!unit) {
                const auto link = id_at<LinkId>(at);
                throw InputError(fmt::format(
                    "topology {}: flows cross the link from {} to {} with shares that have no common denominator up to "
                    "{}, and SimGrid's routes know no shares",
                    excerpt(fabric_->name()), excerpt(name(fabric_->from(link))), excerpt(name(fabric_->to(link))),
                    most_copies));
            }
            form.unit = *unit;
            form.keeps_latency =
                std::ranges::all_of(form.shares, [](double share) { return std::abs(share - 1.0) < equal_shares; });
        }
        for_each_route([&](VertexId, VertexId, const Route& route) {
            if (const Seconds rest = latency_left(route); rest.value > 0) {
                latencies_.emplace(rest.value, "");
            }
        });
    }

    /// What the links of the route leave of its latency.
    Seconds latency_left(const Route& route) const {
        Seconds rest = route.latency;
        bool complete = true;
        for (const RouteShare& crossing : route.links) {
            if (forms_[index(crossing.link)].keeps_latency) {
                rest -= fabric_->link(crossing.link).latency;
            } else {
                complete = false;
            }
        }
        // Latencies of fractions of a nanosecond are rounding, of which no two routes need have the same.
        return complete || rest < Seconds{1e-15} ? Seconds{0} : Seconds{std::round(rest.value * 1e15) / 1e15};
    }

    const std::string& name(VertexId vertex) const { return fabric_->vertex(vertex).name; }

    void print(const pugi::xml_document& document, unsigned int depth) const {
        for (const pugi::xml_node node : document.children()) {
            node.print(*out_, "  ", pugi::format_indent, pugi::encoding_utf8, depth);
        }
    }

    void begin() const {
        pugi::xml_document document;
        pugi::xml_node declaration = document.append_child(pugi::node_declaration);
        declaration.append_attribute("version") = "1.0";
        document.append_child(pugi::node_doctype).set_value(R"(platform SYSTEM "https://simgrid.org/simgrid.dtd")");
        document.append_child(pugi::node_comment)
            .set_value(fmt::format(
                           "\n"
                           "  {}, written by Lockstep: {} GPUs in the order of their ranks, {} routes.\n"
                           "  Routes are those of static routing. Where a flow is striped over several links, these "
                           "have their bandwidth\n"
                           "  multiplied by the number of stripes, as a flow of SimGrid crosses each link as a whole.\n"
                           "  Switches do not appear, nor what they can reduce or multicast.\n"
                           "  Latencies and bandwidths are meant as they stand:\n"
                           "    network/model:CM02 network/bandwidth-factor:1 network/latency-factor:1 "
                           "network/TCP-gamma:0 network/crosstraffic:0\n",
                           fabric_->name(), hosts_.size(), hosts_.size() * (hosts_.size() - 1))
                           .c_str());
        print(document, 0);
        *out_ << "<platform version=\"4.1\">\n  <zone id=\"fabric\" routing=\"Full\">\n";
    }

    void write_hosts() const {
        for (const VertexId host : hosts_) {
            pugi::xml_document document;
            pugi::xml_node node = document.append_child("host");
            node.append_attribute("id") = name(host).c_str();
            const FlopRate speed = fabric_->gpu_model(host).fp16_peak.value_or(speed_unless_known);
            node.append_attribute("speed") = fmt::format("{}f", speed.value).c_str();
            print(document, 2);
        }
    }

    /// An id that no link has yet, nor either direction of one.
    std::string unused_id(const std::string& wish) {
        std::string id = wish;
        for (int copy = 2; !taken_.insert(id).second || taken_.contains(id + "_UP") || taken_.contains(id + "_DOWN");
             ++copy) {
            id = fmt::format("{}.{}", wish, copy);
        }
        return id;
    }

    void write_link(const std::string& id, Bandwidth bandwidth, Seconds latency, const char* policy) const {
        pugi::xml_document document;
        pugi::xml_node node = document.append_child("link");
        node.append_attribute("id") = id.c_str();
        node.append_attribute("bandwidth") = fmt::format("{}Bps", bandwidth.value).c_str();
        node.append_attribute("latency") = fmt::format("{}s", latency.value).c_str();
        node.append_attribute("sharing_policy") = policy;
        print(document, 2);
    }

    void write_link(LinkId id, const char* policy) const {
        const LinkForm& form = forms_[index(id)];
        const fabric::Link& link = fabric_->link(id);
        write_link(ids_[index(id)], link.bandwidth / form.unit, form.keeps_latency ? link.latency : Seconds{0}, policy);
    }

    void write_links() {
        for (std::size_t at = 0; at < forms_.size(); ++at) {
            const auto link = id_at<LinkId>(at);
            const LinkId back = fabric_->reverse(link);
            const bool first = at < index(back);
            if (forms_[at].like(forms_[index(back)])) {
                if (first && forms_[at].used()) {
                    ids_[at] = unused_id(fmt::format("{}--{}", name(fabric_->from(link)), name(fabric_->to(link))));
                    ids_[index(back)] = ids_[at];
                    taken_.insert({ids_[at] + "_UP", ids_[at] + "_DOWN"});
                    write_link(link, "SPLITDUPLEX");
                }
            } else if (forms_[at].used()) {
                ids_[at] = unused_id(fmt::format("{}->{}", name(fabric_->from(link)), name(fabric_->to(link))));
                write_link(link, "SHARED");
            }
        }
        for (auto& [latency, id] : latencies_) {
            id = unused_id(fmt::format("latency of {}s", latency));
            // Wide enough for any flow: of policy FATPIPE, flows do not share it.
            write_link(id, Bandwidth{1e18}, Seconds{latency}, "FATPIPE");
        }
    }

    void write_routes() {
        for_each_route([&](VertexId from, VertexId to, const Route& route) {
            pugi::xml_document document;
            pugi::xml_node node = document.append_child("route");
            node.append_attribute("src") = name(from).c_str();
            node.append_attribute("dst") = name(to).c_str();
            node.append_attribute("symmetrical") = "NO";
            for (const RouteShare& crossing : route.links) {
                const auto at = index(crossing.link);
                const auto back = index(fabric_->reverse(crossing.link));
                for (int copy = 0; copy < forms_[at].copies(crossing.share); ++copy) {
                    pugi::xml_node link = node.append_child("link_ctn");
                    link.append_attribute("id") = ids_[at].c_str();
                    if (ids_[at] == ids_[back]) {
                        link.append_attribute("direction") = at < back ? "UP" : "DOWN";
                    }
                }
            }
            if (const Seconds rest = latency_left(route); rest.value > 0) {
                node.append_child("link_ctn").append_attribute("id") = latencies_.at(rest.value).c_str();
            }
            *out_ << "    ";
            node.print(*out_, "", pugi::format_raw, pugi::encoding_utf8);
            *out_ << '\n';
        });
    }

    std::ostream* out_;
    const Fabric* fabric_;
    std::span<const VertexId> hosts_;
    fabric::Router router_;
    std::vector<LinkForm> forms_;   ///< by LinkId
    std::vector<std::string> ids_;  ///< by LinkId; both directions of a SPLITDUPLEX link share one
    std::map<double, std::string>
        latencies_;  ///< that links do not carry, in seconds, and the links that stand for them
    std::set<std::string> taken_;
};

}  // namespace

void write_simgrid(std::ostream& out, const Fabric& fabric, std::span<const VertexId> hosts) {
    if (hosts.empty()) {
        throw InputError(fmt::format("topology {} has no GPU that could be a host", excerpt(fabric.name())));
    }
    if (hosts.size() > most_simgrid_hosts) {
        throw InputError(fmt::format(
            "topology {}: a platform of SimGrid has a route for each ordered pair of hosts, and {} GPUs would make {} "
            "of them; export the first GPUs with --ranks, at most {}",
            excerpt(fabric.name()), hosts.size(), hosts.size() * (hosts.size() - 1), most_simgrid_hosts));
    }
    PlatformWriter(out, fabric, hosts).write();
}

}  // namespace lockstep::interop
