#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/data_files.h"
#include "sim/base/units.h"
#include "sim/base/yaml.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// How far a value of the catalogue can be trusted.
enum class Basis : std::uint8_t {
    datasheet,  ///< the vendor's own figure
    measured,   ///< measured by somebody, who is named
    reported,   ///< told by a secondary text
    recalled,   ///< widely known, but not looked up again
    assumed     ///< a choice or inference of this project
};

std::string_view name_of(Basis basis);

/// What a switch, a PCIe switch or an NVSwitch is.
struct SwitchModel {
    std::string name = {};
    std::optional<std::uint32_t> ports = {};  ///< none: as many as are needed
    std::optional<Bandwidth> port_rate = {};  ///< of one port, one direction
    Seconds latency = {};                     ///< from port to port
    bool reduces = false;                     ///< reduces and multicasts in the switch
};

struct NicModel {
    std::string name = {};
    std::optional<Bandwidth> rate = {};  ///< one direction, all ports together
    Seconds latency = {};                ///< for passing through it once
};

/// A CPU with its memory and PCIe root.
struct HostModel {
    std::string name = {};
    Seconds latency = {};  ///< for passing through it once
};

/// One cable, one direction.
struct LinkModel {
    std::string name = {};
    LinkKind kind = LinkKind::generic;
    Bandwidth bandwidth = {};  ///< line rate
    double efficiency = 1.0;
    Seconds latency = {};  ///< of the cable and its two ports, without the devices at its ends
};

/// What `lockstep list devices` prints of an entry.
struct DeviceEntry {
    std::string kind;  ///< gpu, switch, nic, host, link
    std::string name;
    std::string summary;  ///< its values on one line
    std::string source;
    std::string basis;  ///< `datasheet`, or by field where they differ: `datasheet; latency assumed`
};

/// The devices of `models/devices/*.yaml`. Each kind has its own names.
class Catalogue {
  public:
    /// Throws: InputError with position for anything wrong in a file, or a name given twice.
    explicit Catalogue(const DataFiles& data);

    /// The devices of that name. Throws: InputError at `name`, with the nearest known one.
    const GpuModel& gpu(const YamlValue& name) const;
    const SwitchModel& switch_model(const YamlValue& name) const;
    const NicModel& nic(const YamlValue& name) const;
    const HostModel& host(const YamlValue& name) const;
    const LinkModel& link(const YamlValue& name) const;

    /// Every device: kind by kind, in natural order of the names.
    const std::vector<DeviceEntry>& entries() const { return entries_; }

  private:
    void read_file(const YamlFile& file);

    std::map<std::string, GpuModel, std::less<>> gpus_;
    std::map<std::string, SwitchModel, std::less<>> switches_;
    std::map<std::string, NicModel, std::less<>> nics_;
    std::map<std::string, HostModel, std::less<>> hosts_;
    std::map<std::string, LinkModel, std::less<>> links_;
    std::vector<DeviceEntry> entries_;
};

/// The kinds of link as files spell them.
LinkKind link_kind(const YamlValue& value);

/// The fields of a device, each taken from `map` where it is given and left alone where not: what a catalogue entry and
/// an override in place have in common. Throws: InputError.
void read_fields(YamlMap& map, GpuModel& gpu);
void read_fields(YamlMap& map, SwitchModel& model);
void read_fields(YamlMap& map, NicModel& nic);
void read_fields(YamlMap& map, HostModel& host);
void read_fields(YamlMap& map, LinkModel& link);

}  // namespace lockstep::fabric
