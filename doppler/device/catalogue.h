// The catalogue: what data sheets say of accelerators and hosts, one table in catalogue.cc. To add
// a device is to add an entry there; docs/extending.md says how.
//
// The table is constant and the functions pure, so that everything is safe to use from several
// threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "doppler/base/element_type.h"
#include "doppler/device/links.h"
#include "doppler/device/topology.h"

namespace doppler::device {

// Dense products by the type of their operands, in flop/s; see Hardware::product_flops. Products of
// 16-bit and 8-bit floats add up in 32 bits, which GeForce cards do at half their advertised rate.
struct ProductPeaks {
  double f64 = 0.0;
  double f32 = 0.0;
  double tf32 = 0.0;
  double f16 = 0.0;
  double bf16 = 0.0;
  double fp8 = 0.0;
  double i8 = 0.0;
};

// The way in which the accelerators of one box reach each other.
enum class Fabric : std::uint8_t {
  kPcie,    // through their PCIe slots and the host
  kMesh,    // point-to-point links between some pairs, in boxes of at most kMeshDevices
  kSwitch,  // every accelerator has a port to a fabric that does not block
};

inline constexpr std::uint32_t kMeshDevices = 8;
// By pair: the links that join them, 0 to 4.
using MeshLinks = std::array<std::array<std::uint8_t, kMeshDevices>, kMeshDevices>;

struct CatalogueEntry {
  std::string_view name;                 // "A100"; entries of one name differ in memory
  std::string_view device_name = "gpu";  // of the devices of a topology, before their number
  std::string_view maker;
  int year = 0;  // of the announcement
  DeviceClass device_class = DeviceClass::kAccelerator;
  std::string_view unit = "";  // what one device is, where that is not the whole card: "GCD"

  std::uint32_t memory_gib = 0;
  double memory_bandwidth = 0.0;  // bytes/s
  double peak_flops = 0.0;        // flop/s in f32 outside matrix units
  ProductPeaks products = {};     // flop/s
  std::uint32_t multiprocessors = 0;
  double clock_hz = 0.0;                   // boost; of CPUs the base clock, which all cores keep
  double cache_bytes = 0.0;                // of the last level on the chip
  const KernelFigures* kernels = nullptr;  // null: those of an A100

  // Boxes of this device. A host has no fabric; a box of one kind of CPU is one device.
  Fabric fabric = Fabric::kPcie;
  Link link = {};                   // one link of a mesh, one port to a switch
  std::uint32_t ports = 1;          // transfers at once over the port to a switch
  const MeshLinks* mesh = nullptr;  // for kMesh
  Link larger_box_port = {};        // of boxes of 9 to 16 whose small ones are a mesh
  // Cards 0 and 1, 2 and 3, … (`bridged_cards` = 2), or fours, have a direct link between each two,
  // in every box (`bridge_included`) or where the name is written with "-NVLink".
  Link bridge = {};
  std::uint32_t bridged_cards = 2;
  bool bridge_included = false;
  bool peer_access = true;  // false: copies between cards go through host memory
  HostLinks host = {};
  Network network = {};

  std::string_view source;  // of the figures above, and which of them are derived
};

// Returns all entries: by maker, then by year. Those of one name are next to each other, the
// largest memory first: that one is meant where a name comes without a size.
std::span<const CatalogueEntry> catalogue();

// Returns the entry that stands for the host in specs.
const CatalogueEntry& host_entry();

// Returns the name of an entry's kind: its own, with the memory size unless that is the default
// one. Times that graphs give per kind refer to it.
std::string kind_name(const CatalogueEntry& entry);

// Returns the hardware figures of an entry.
Hardware catalogue_hardware(const CatalogueEntry& entry);

// Returns the entry as a kind of device. A CPU's kind has no hardware figures, since what is known
// of how kernels run is that of accelerators.
DeviceKind catalogue_kind(const CatalogueEntry& entry);

// Returns how its devices reach each other, in a few words with the line rate in one direction in
// GB/s: "NVLink 3 pairs 56.25". Of a mesh it is that of the widest link.
std::string link_words(const CatalogueEntry& entry);

// The hybrid cube mesh of a DGX-1 with V100.
extern const MeshLinks kCubeMesh;
// A node of four MI250X, of two GCDs each.
extern const MeshLinks kGcdMesh;
// Every pair has one link.
extern const MeshLinks kFullMesh;

}  // namespace doppler::device
