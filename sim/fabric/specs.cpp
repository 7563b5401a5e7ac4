#include "sim/fabric/specs.h"

#include <array>

#include <fmt/format.h>

namespace lockstep::fabric {

namespace {

Tier read_tier(const YamlValue& value) {
    constexpr std::array tiers{Tier::scale_up, Tier::host, Tier::scale_out};
    std::vector<std::string> words;
    words.reserve(tiers.size());
    for (const Tier tier : tiers) {
        words.emplace_back(name_of(tier));
    }
    const std::string word = value.one_of(words);
    for (const Tier tier : tiers) {
        if (name_of(tier) == word) {
            return tier;
        }
    }
    throw std::logic_error("read_tier: one_of returned another word");
}

template <class Model, class LookUp>
Model read_model_fields(YamlMap& map, LookUp look_up) {
    Model model;
    if (const auto name = map.find("model")) {
        model = look_up(*name);
    }
    read_fields(map, model);
    return model;
}

}  // namespace

LinkSpec read_link_fields(YamlMap& map, const Catalogue& catalogue, Tier tier, const std::optional<LinkSpec>& base) {
    LinkSpec spec = base.value_or(LinkSpec{.model = {}, .striped = tier != Tier::scale_out, .tier = tier});
    const auto model = map.find("model");
    if (model) {
        spec.model = catalogue.link(*model);
    }
    read_fields(map, spec.model);
    if (const auto value = map.find("tier")) {
        spec.tier = read_tier(*value);
        spec.says_tier = true;
        spec.striped = spec.tier != Tier::scale_out;
    }
    if (const auto value = map.find("cables")) {
        spec.cables = read_count(*value, 1, 4096);
    }
    if (const auto value = map.find("striped")) {
        spec.striped = value->flag();
        spec.says_striped = true;
    }
    for (const auto* const field : {"bandwidth", "latency"}) {
        if (!model && !base && !map.find(field)) {
            map.finish();  // a misspelt key is the better explanation
            map.self().fail(
                fmt::format("a link needs a `model`, or `bandwidth` and `latency`; `{}` is missing", field));
        }
    }
    return spec;
}

LinkSpec read_link(const YamlValue& value, const Catalogue& catalogue, Tier tier) {
    if (!value.is_map()) {
        return {.model = catalogue.link(value), .striped = tier != Tier::scale_out, .tier = tier};
    }
    YamlMap map = value.map();
    LinkSpec spec = read_link_fields(map, catalogue, tier, std::nullopt);
    map.finish();
    return spec;
}

GpuModel read_gpu_fields(YamlMap& map, const Catalogue& catalogue) {
    return read_model_fields<GpuModel>(map, [&](const YamlValue& name) { return catalogue.gpu(name); });
}

SwitchModel read_switch_fields(YamlMap& map, const Catalogue& catalogue) {
    return read_model_fields<SwitchModel>(map, [&](const YamlValue& name) { return catalogue.switch_model(name); });
}

NicModel read_nic_fields(YamlMap& map, const Catalogue& catalogue) {
    return read_model_fields<NicModel>(map, [&](const YamlValue& name) { return catalogue.nic(name); });
}

HostModel read_host_fields(YamlMap& map, const Catalogue& catalogue) {
    return read_model_fields<HostModel>(map, [&](const YamlValue& name) { return catalogue.host(name); });
}

SwitchModel read_switch(const YamlValue& value, const Catalogue& catalogue) {
    if (!value.is_map()) {
        return catalogue.switch_model(value);
    }
    YamlMap map = value.map();
    SwitchModel model = read_switch_fields(map, catalogue);
    map.finish();
    return model;
}

LinkSpec placed_inside(LinkSpec link, VertexKind a, VertexKind b) {
    if (link.says_tier) {
        return link;
    }
    const auto is_any = [&](VertexKind kind) { return a == kind || b == kind; };
    const LinkKind kind = link.model.kind;
    const bool no_gpu_link = kind == LinkKind::pcie || kind == LinkKind::infiniband || kind == LinkKind::ethernet ||
                             kind == LinkKind::slingshot;
    const bool host =
        is_any(VertexKind::nic) || is_any(VertexKind::host) || (is_any(VertexKind::switch_) && no_gpu_link);
    link.tier = host ? Tier::host : Tier::scale_up;
    link.striped = link.says_striped ? link.striped : true;
    return link;
}

bool faster(Bandwidth rate, Bandwidth limit) { return rate.value > limit.value * (1.0 + 1e-9); }

void require_port_rate(const LinkSpec& link, const SwitchModel& model, const YamlValue& at) {
    if (model.port_rate && faster(link.model.bandwidth, *model.port_rate)) {
        at.fail(fmt::format("a cable of {} is faster than a port of {} ({})", to_text(link.model.bandwidth),
                            model.name.empty() ? "the switch" : model.name, to_text(*model.port_rate)));
    }
}

void require_nic_rate(const LinkSpec& link, const NicModel& nic, const YamlValue& at) {
    const Bandwidth rate = link.model.bandwidth * link.cables;
    if (nic.rate && faster(rate, *nic.rate)) {
        at.fail(fmt::format("a link of {} is faster than {} ({})", to_text(rate),
                            nic.name.empty() ? "the NIC" : nic.name, to_text(*nic.rate)));
    }
}

std::uint32_t read_count(const YamlValue& value, std::uint32_t least, std::uint32_t most) {
    return static_cast<std::uint32_t>(value.count(least, most));
}

std::vector<std::uint32_t> read_counts(const YamlValue& value, std::size_t length, std::string_view what,
                                       std::uint32_t least, std::uint32_t most) {
    const std::vector<YamlValue> items = value.list();
    if (items.size() != length) {
        value.fail(fmt::format("expected {} entries, one per {}, got {}", length, what, items.size()));
    }
    std::vector<std::uint32_t> counts;
    counts.reserve(items.size());
    for (const YamlValue& item : items) {
        counts.push_back(read_count(item, least, most));
    }
    return counts;
}

}  // namespace lockstep::fabric
