package replay

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// setFoundHardware gives a bare-metal machine the hardware that its commissioning found.
// The first answer after the commissioning shows it.
func setFoundHardware(p *player, m sim.Machine, s sighting) {
	if m.StatusName != "Commissioning" || textOf(s.Body["power_type"]) == "lxd" || s.Cores == 0 {
		return
	}
	h := sim.Hardware{Cores: s.Cores, MemoryMiB: s.MemoryMiB, Info: map[string]string{}}
	info, _ := s.Body["hardware_info"].(map[string]any)
	for key, value := range info {
		if text := textOf(value); text != "" && text != "Unknown" {
			h.Info[key] = text
		}
	}
	for _, d := range objectsOf(s.Body["physicalblockdevice_set"]) {
		h.Disks = append(h.Disks, sim.HardwareDisk{
			Name: textOf(d["name"]), Model: textOf(d["model"]), Serial: textOf(d["serial"]), IDPath: textOf(d["id_path"]),
			SizeBytes: int64(numberOf(d["size"])), BlockSize: numberOf(d["block_size"]), Tags: textsOf(d["tags"]), Firmware: textOrNone(d["firmware_version"]),
		})
	}
	for _, n := range objectsOf(s.Body["interface_set"]) {
		if textOf(n["type"]) != "physical" {
			continue
		}
		nic := sim.HardwareNIC{
			MAC: textOf(n["mac_address"]), Name: textOf(n["name"]), Vendor: textOf(n["vendor"]), Product: textOf(n["product"]),
			Firmware: textOrNone(n["firmware_version"]), Speed: numberOf(n["interface_speed"]), LinkSpeed: numberOf(n["link_speed"]),
			Unplugged: n["link_connected"] == false,
		}
		for _, found := range objectsOf(n["discovered"]) {
			subnet, _ := found["subnet"].(map[string]any)
			nic.Subnet = textOf(subnet["cidr"])
		}
		h.NICs = append(h.NICs, nic)
	}
	p.noteSteeringError(p.world.SetHardware(m.SystemID, h))
}

// textOrNone is a text, or nil where there is none.
func textOrNone(v any) *string {
	if text, isText := v.(string); isText {
		return &text
	}
	return nil
}

// textsOf are the texts of a list.
func textsOf(v any) (texts []string) {
	list, _ := v.([]any)
	for _, entry := range list {
		texts = append(texts, textOf(entry))
	}
	return texts
}
