#include "sim/fabric/catalogue.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::fabric {

namespace {

constexpr std::array bases{Basis::datasheet, Basis::measured, Basis::reported, Basis::recalled, Basis::assumed};
constexpr std::array link_kinds{LinkKind::nvlink, LinkKind::infinity_fabric, LinkKind::c2c,
                                LinkKind::pcie,   LinkKind::infiniband,      LinkKind::ethernet,
                                LinkKind::ici,    LinkKind::slingshot,       LinkKind::generic};

template <class Values>
std::vector<std::string> names_of(const Values& values) {
    std::vector<std::string> names;
    names.reserve(values.size());
    for (const auto value : values) {
        names.emplace_back(name_of(value));
    }
    return names;
}

/// The fields whose origin an entry must tell; a link's kind and such are no figures.
const std::set<std::string, std::less<>> figures{"fp16_peak",        "fp8_peak", "fp32_peak", "memory",
                                                 "memory_bandwidth", "ports",    "port_rate", "reduces",
                                                 "latency",          "rate",     "bandwidth", "efficiency"};

/// Reads `basis`: one word for all figures of the entry, or a mapping with a word for each.
std::string read_basis(YamlMap& map, const std::vector<std::string>& given) {
    const std::vector<std::string> words = names_of(bases);
    const YamlValue basis = map.require("basis");
    if (!basis.is_map()) {
        return basis.one_of(words);
    }
    std::vector<std::string> parts;
    parts.reserve(given.size());
    YamlMap by_field = basis.map();
    for (const auto& field : given) {
        parts.push_back(fmt::format("{} {}", field, by_field.require(field).one_of(words)));
    }
    by_field.finish();
    return fmt::format("{}", fmt::join(parts, ", "));
}

template <class Model>
void require_fields(YamlMap& map, const Model& /*model*/) {
    if constexpr (std::is_same_v<Model, LinkModel>) {
        for (const auto* const field : {"kind", "bandwidth", "efficiency", "latency"}) {
            map.require(field);
        }
    } else if constexpr (std::is_same_v<Model, NicModel>) {
        map.require("rate");
        map.require("latency");
    } else if constexpr (!std::is_same_v<Model, GpuModel>) {
        map.require("latency");
    }
}

std::string summary_of(const GpuModel& gpu) {
    std::vector<std::string> parts;
    const auto add = [&](const auto& value, std::string_view what) {
        if (value) {
            parts.push_back(fmt::format("{} {}", to_text(*value), what));
        }
    };
    add(gpu.fp16_peak, "fp16");
    add(gpu.fp8_peak, "fp8");
    add(gpu.fp32_peak, "fp32");
    add(gpu.memory, "memory");
    add(gpu.memory_bandwidth, "memory bandwidth");
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string summary_of(const SwitchModel& model) {
    std::string ports = model.ports ? fmt::format("{} ports", *model.ports) : "any number of ports";
    if (model.port_rate) {
        ports += fmt::format(" of {}", to_text(*model.port_rate));
    }
    return fmt::format("{}, {}{}", ports, to_text(model.latency), model.reduces ? ", reduces in the switch" : "");
}

std::string summary_of(const NicModel& nic) {
    return fmt::format("{}, {}", to_text(nic.rate.value_or(Bandwidth{})), to_text(nic.latency));
}

std::string summary_of(const HostModel& host) { return to_text(host.latency); }

std::string summary_of(const LinkModel& link) {
    return fmt::format("{}, {}, efficiency {:g}, {}", name_of(link.kind), to_text(link.bandwidth), link.efficiency,
                       to_text(link.latency));
}

template <class Model>
void read_section(YamlMap& root, std::string_view key, std::string_view kind,
                  std::map<std::string, Model, std::less<>>& models, std::vector<DeviceEntry>& entries) {
    const auto section = root.find(key);
    if (!section) {
        return;
    }
    YamlMap by_name = section->map();
    for (const auto& [name, value] : by_name.entries()) {
        if (models.contains(name)) {
            throw InputError(by_name.key_position(name), fmt::format("second {} called `{}`", kind, name));
        }
        YamlMap map = value.map();
        std::vector<std::string> given;
        for (const auto& field : figures) {
            if (map.find(field)) {
                given.push_back(field);
            }
        }
        // Asking again is free; a fresh map lets finish() see what this kind of device does not have.
        map = value.map();
        Model model;
        model.name = name;
        require_fields(map, model);
        read_fields(map, model);
        std::string source = map.require("source").text();
        std::string basis = read_basis(map, given);
        map.finish();
        entries.push_back({std::string(kind), name, summary_of(model), std::move(source), std::move(basis)});
        models.emplace(name, std::move(model));
    }
}

template <class Model>
const Model& look_up(const std::map<std::string, Model, std::less<>>& models, const YamlValue& name,
                     std::string_view kind) {
    const std::string wanted = name.text();
    const auto found = models.find(wanted);
    if (found == models.end()) {
        std::vector<std::string> known;
        known.reserve(models.size());
        for (const auto& [other, model] : models) {
            known.push_back(other);
        }
        std::sort(known.begin(), known.end(), natural_less);
        name.fail(fmt::format("no {} `{}` in the catalogue{}", kind, wanted, suggestion(wanted, known)));
    }
    return found->second;
}

template <class Field, class Read>
void take(YamlMap& map, std::string_view key, Field& field, Read read) {
    if (const auto value = map.find(key)) {
        field = read(*value);
    }
}

}  // namespace

std::string_view name_of(Basis basis) {
    switch (basis) {
        case Basis::datasheet:
            return "datasheet";
        case Basis::measured:
            return "measured";
        case Basis::reported:
            return "reported";
        case Basis::recalled:
            return "recalled";
        case Basis::assumed:
            return "assumed";
    }
    throw std::invalid_argument("name_of: no such basis");
}

LinkKind link_kind(const YamlValue& value) {
    const std::string word = value.one_of(names_of(link_kinds));
    return *std::find_if(link_kinds.begin(), link_kinds.end(), [&](LinkKind kind) { return name_of(kind) == word; });
}

void read_fields(YamlMap& map, GpuModel& gpu) {
    take(map, "fp16_peak", gpu.fp16_peak, [](const YamlValue& v) { return v.flop_rate(); });
    take(map, "fp8_peak", gpu.fp8_peak, [](const YamlValue& v) { return v.flop_rate(); });
    take(map, "fp32_peak", gpu.fp32_peak, [](const YamlValue& v) { return v.flop_rate(); });
    take(map, "memory", gpu.memory, [](const YamlValue& v) { return v.bytes(); });
    take(map, "memory_bandwidth", gpu.memory_bandwidth, [](const YamlValue& v) { return v.bandwidth(); });
}

void read_fields(YamlMap& map, SwitchModel& model) {
    take(map, "ports", model.ports,
         [](const YamlValue& v) { return static_cast<std::uint32_t>(v.count(2, 1'000'000)); });
    take(map, "port_rate", model.port_rate, [](const YamlValue& v) { return v.bandwidth(); });
    take(map, "latency", model.latency, [](const YamlValue& v) { return v.seconds(); });
    take(map, "reduces", model.reduces, [](const YamlValue& v) { return v.flag(); });
}

void read_fields(YamlMap& map, NicModel& nic) {
    take(map, "rate", nic.rate, [](const YamlValue& v) { return v.bandwidth(); });
    take(map, "latency", nic.latency, [](const YamlValue& v) { return v.seconds(); });
}

void read_fields(YamlMap& map, HostModel& host) {
    take(map, "latency", host.latency, [](const YamlValue& v) { return v.seconds(); });
}

void read_fields(YamlMap& map, LinkModel& link) {
    take(map, "kind", link.kind, link_kind);
    take(map, "bandwidth", link.bandwidth, [](const YamlValue& v) { return v.bandwidth(); });
    take(map, "efficiency", link.efficiency, [](const YamlValue& v) { return v.number(0.01, 1.0); });
    take(map, "latency", link.latency, [](const YamlValue& v) { return v.seconds(); });
}

Catalogue::Catalogue(const DataFiles& data) {
    for (const std::string& name : data.names("models/devices")) {
        read_file(YamlFile::load(data.root() / "models" / "devices" / (name + ".yaml")));
    }
    const std::vector<std::string> order{"gpu", "switch", "nic", "host", "link"};
    const auto rank = [&](const DeviceEntry& entry) { return std::find(order.begin(), order.end(), entry.kind); };
    std::stable_sort(entries_.begin(), entries_.end(), [&](const DeviceEntry& a, const DeviceEntry& b) {
        return rank(a) != rank(b) ? rank(a) < rank(b) : natural_less(a.name, b.name);
    });
}

void Catalogue::read_file(const YamlFile& file) {
    YamlMap root = file.root();
    read_section(root, "gpus", "gpu", gpus_, entries_);
    read_section(root, "switches", "switch", switches_, entries_);
    read_section(root, "nics", "nic", nics_, entries_);
    read_section(root, "hosts", "host", hosts_, entries_);
    read_section(root, "links", "link", links_, entries_);
    root.finish();
}

const GpuModel& Catalogue::gpu(const YamlValue& name) const { return look_up(gpus_, name, "gpu"); }
const SwitchModel& Catalogue::switch_model(const YamlValue& name) const { return look_up(switches_, name, "switch"); }
const NicModel& Catalogue::nic(const YamlValue& name) const { return look_up(nics_, name, "nic"); }
const HostModel& Catalogue::host(const YamlValue& name) const { return look_up(hosts_, name, "host"); }
const LinkModel& Catalogue::link(const YamlValue& name) const { return look_up(links_, name, "link"); }

}  // namespace lockstep::fabric
