#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/fabric/builders.h"

namespace lockstep::fabric {

namespace {

/// Finds vertices by name while the fabric is being built.
class Names {
  public:
    explicit Names(const FabricBuilder& builder) : builder_(&builder) {
        ids_.reserve(builder.vertex_count());
        for (std::size_t i = 0; i < builder.vertex_count(); ++i) {
            ids_.emplace(builder.vertex(id_at<VertexId>(i)).name, id_at<VertexId>(i));
        }
    }

    bool contains(const std::string& name) const { return ids_.contains(name); }
    void add(const std::string& name, VertexId id) { ids_.emplace(name, id); }

    /// Throws: InputError at `at` with the nearest name.
    VertexId find(const std::string& name, const YamlValue& at) const {
        const auto found = ids_.find(name);
        if (found != ids_.end()) {
            return found->second;
        }
        // A distance to every name of a big fabric is slow, and its names are regular: the first ones tell the pattern.
        std::vector<std::string> known;
        for (std::size_t i = 0; i < builder_->vertex_count() && i < 10'000; ++i) {
            known.push_back(builder_->vertex(id_at<VertexId>(i)).name);
        }
        at.fail(fmt::format("there is no vertex `{}`{}", name, suggestion(name, known)));
    }

  private:
    const FabricBuilder* builder_;
    std::unordered_map<std::string, VertexId> ids_;
};

/// A mapping between words and kinds of vertex.
VertexKind read_kind(const YamlValue& value) {
    static const std::vector<std::string> words{"gpu", "nic", "switch", "host"};
    const std::string word = value.one_of(words);
    return word == "gpu"      ? VertexKind::gpu
           : word == "nic"    ? VertexKind::nic
           : word == "switch" ? VertexKind::switch_
                              : VertexKind::host;
}

struct Described {
    Vertex vertex;
    Sockets sockets;
    std::optional<GpuModel> gpu;
};

Described read_device(VertexKind kind, YamlMap& map, const Catalogue& catalogue) {
    Described result{.vertex = {.kind = kind}, .sockets = {}, .gpu = {}};
    switch (kind) {
        case VertexKind::gpu: {
            result.gpu = read_gpu_fields(map, catalogue);
            result.vertex.device = result.gpu->name;
            const auto relay = map.find("relay");
            result.vertex.relays = relay && relay->flag();
            break;
        }
        case VertexKind::nic: {
            const NicModel nic = read_nic_fields(map, catalogue);
            result.vertex.device = nic.name;
            result.sockets = sockets_of(nic);
            break;
        }
        case VertexKind::switch_: {
            const SwitchModel model = read_switch_fields(map, catalogue);
            result.vertex.device = model.name;
            result.vertex.reduces = model.reduces;
            result.sockets = sockets_of(model);
            break;
        }
        case VertexKind::host: {
            const HostModel host = read_host_fields(map, catalogue);
            result.vertex.device = host.name;
            result.sockets = sockets_of(host);
            break;
        }
    }
    return result;
}

/// The items of a list, or of a mapping with `count` and `list`, which must agree. `what` names them.
std::vector<YamlValue> counted_list(const YamlValue& value, std::string_view what) {
    if (!value.is_map()) {
        return value.list();
    }
    YamlMap map = value.map();
    const YamlValue count = map.require("count");
    std::vector<YamlValue> items = map.require("list").list();
    map.finish();
    const std::uint32_t declared = read_count(count, 0, Limits::cables);
    if (declared != items.size()) {
        count.fail(fmt::format("{} {} are declared, but {} are listed", declared, what, items.size()));
    }
    return items;
}

std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint32_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc() && result.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The vertices of a name, in which one range may stand in brackets: `node[0-3].nic0`.
std::vector<VertexId> expand(const YamlValue& value, const Names& names) {
    const std::string text = value.text();
    const std::size_t open = text.find('[');
    if (open == std::string::npos) {
        return {names.find(text, value)};
    }
    const std::size_t dash = text.find('-', open);
    const std::size_t close = text.find(']', open);
    std::optional<std::uint32_t> first;
    std::optional<std::uint32_t> last;
    if (dash < close && close != std::string::npos) {
        first = number_in(std::string_view(text).substr(open + 1, dash - open - 1));
        last = number_in(std::string_view(text).substr(dash + 1, close - dash - 1));
    }
    if (!first || !last || *last < *first) {
        value.fail(fmt::format("expected a name, or names with a range such as `gpu[0-3]`, got `{}`", text));
    }
    std::vector<VertexId> ids;
    for (std::uint32_t i = *first; i <= *last; ++i) {
        ids.push_back(names.find(fmt::format("{}{}{}", text.substr(0, open), i, text.substr(close + 1)), value));
    }
    return ids;
}

}  // namespace

void add_vertices(Assembly& assembly, const YamlValue& value, const Catalogue& catalogue) {
    Names names(assembly.builder());
    std::map<std::string, NodeId> nodes;
    for (const YamlValue& item : counted_list(value, "entries of `vertices`")) {
        YamlMap map = item.map();
        const YamlValue name_value = map.require("name");
        const std::string name = name_value.text();
        Described described = read_device(read_kind(map.require("kind")), map, catalogue);
        const auto count = map.find("count");
        const auto node = map.find("node");
        map.finish();
        if (node) {
            const std::string word = node->text();
            const auto known = nodes.find(word);
            described.vertex.node =
                known != nodes.end() ? known->second : nodes.emplace(word, assembly.builder().add_node()).first->second;
        }
        const std::uint32_t times = count ? read_count(*count, 1, Limits::gpus) : 1;
        assembly.require_room_for_devices(times, item);
        if (described.gpu) {
            assembly.require_room_for_gpus(times, item);
        }
        for (std::uint32_t i = 0; i < times; ++i) {
            Vertex vertex = described.vertex;
            vertex.name = count ? fmt::format("{}{}", name, i) : name;
            if (names.contains(vertex.name)) {
                name_value.fail(fmt::format("second vertex called `{}`", vertex.name));
            }
            const std::string called = vertex.name;
            const VertexId id = assembly.add(std::move(vertex), described.sockets, item);
            names.add(called, id);
            if (described.gpu) {
                assembly.builder().set_gpu_model(id, *described.gpu);
            }
        }
    }
}

void add_links(Assembly& assembly, const YamlValue& value, const Catalogue& catalogue) {
    const Names names(assembly.builder());
    const auto name_of_vertex = [&](VertexId id) -> const std::string& { return assembly.builder().vertex(id).name; };
    const std::vector<YamlValue> items = counted_list(value, "entries of `links`");
    std::unordered_map<std::uint64_t, std::size_t> joined;  // two vertices to the item that joined them
    for (std::size_t i = 0; i < items.size(); ++i) {
        const YamlValue& item = items[i];
        YamlMap map = item.map();
        const YamlValue between = map.require("between");
        const std::vector<YamlValue> ends = between.list();
        if (ends.size() != 2) {
            between.fail(fmt::format("expected two names such as `[gpu0, switch0]`, got {}", ends.size()));
        }
        const LinkSpec link = read_link_fields(map, catalogue, Tier::scale_out, std::nullopt);
        map.finish();
        const std::vector<VertexId> left = expand(ends[0], names);
        const std::vector<VertexId> right = expand(ends[1], names);
        for (const VertexId a : left) {
            for (const VertexId b : right) {
                if (a == b) {
                    between.fail(fmt::format("link from {} to itself", name_of_vertex(a)));
                }
                const auto low = static_cast<std::uint32_t>(std::min(a, b));
                const auto high = static_cast<std::uint32_t>(std::max(a, b));
                const auto [place, is_new] = joined.emplace(std::uint64_t{low} << 32 | high, i);
                if (!is_new) {
                    item.fail(
                        fmt::format("second link between {} and {} (the first is at {}); write several cables as "
                                    "one link with `cables`",
                                    name_of_vertex(a), name_of_vertex(b), to_text(items[place->second].position())));
                }
                const Vertex& one = assembly.builder().vertex(a);
                const Vertex& other = assembly.builder().vertex(b);
                const bool inside = one.node && one.node == other.node;
                assembly.connect(a, b, inside ? placed_inside(link, one.kind, other.kind) : link, link.cables, item);
            }
        }
    }
}

}  // namespace lockstep::fabric
