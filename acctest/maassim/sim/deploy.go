package sim

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// deployMachine installs an image on a machine that is Allocated, or Ready:
// then MAAS acquires it for the caller.
func deployMachine(c *call, m *machine) reply {
	w := c.w
	if !in(m.status, StatusReady, StatusAllocated) {
		return conflict(fmt.Sprintf("Can't deploy a machine that is in the '%s' state", m.status))
	}
	if w.gone && (truth(c.field("install_kvm")) || truth(c.field("register_vmhost"))) {
		return badText(goneText)
	}
	osystem, series, bad := w.readImage(c)
	if bad != nil {
		return *bad
	}
	kernel, bad := readKernel(c, m, osystem, series)
	if bad != nil {
		return *bad
	}
	if !m.configured() {
		return badField("network", "Node must be configured to use a network")
	}
	if w.rack != OK {
		return badText(fmt.Sprintf("Deployment operating system %s %s is unavailable.", osystem, series))
	}
	action := m.wakeAction()
	if m.powerBusy(action) {
		return m.busyReply(action)
	}
	m.query.cancel()
	m.osystem, m.series, m.kernel = osystem, series, kernel
	m.ephemeral = truth(c.field("ephemeral_deploy"))
	m.userData = readUserData(c.field("user_data"))
	m.agentName = or(m.agentName, c.field("agent_name"))
	if m.minKernel == nil {
		m.minKernel = new(string)
	}
	w.deploy(m, c.user)
	if truth(c.field("bridge_all")) {
		m.bridgeAll()
	}
	rep := machineReply(m)
	m.assignAddresses()
	w.power(m, action)
	return rep
}

// configured says whether an interface is linked to a subnet.
func (m *machine) configured() bool {
	return slices.ContainsFunc(m.nics, func(n *nic) bool {
		return slices.ContainsFunc(n.links, func(l *link) bool { return l.mode != "link_up" })
	})
}

// readImage finds the imported image; osystem of the form does not count.
func (w *world) readImage(c *call) (osystem, series string, bad *reply) {
	series = c.field("distro_series")
	osystem = "ubuntu"
	if before, after, found := strings.Cut(series, "/"); found {
		osystem, series = before, after
	}
	if series == "" {
		series = w.defaultSeries()
	}
	if w.hasImage(osystem, series) {
		return osystem, series, nil
	}
	for _, image := range w.images { // a custom image is named without its system
		if name, isCustom := strings.CutPrefix(image, "custom/"); isCustom && name == series {
			return "custom", series, nil
		}
	}
	choices := []string{"''"}
	for _, image := range slices.Sorted(slices.Values(w.images)) {
		choices = append(choices, "'"+image+"'")
	}
	refusal := badField("distro_series", fmt.Sprintf("'%s' is not a valid distro_series.  It should be one of: %s.", c.field("distro_series"), strings.Join(choices, ", ")))
	return "", "", &refusal
}

// ubuntuVersions are the kernels' names of Ubuntu's series.
var ubuntuVersions = map[string]string{"xenial": "16.04", "bionic": "18.04", "focal": "20.04", "jammy": "22.04", "noble": "24.04"}

// readKernel is the wanted kernel, or the image's general one. An image has
// kernels for the architectures that it was imported for
// (utils/osystems.py, validate_hwe_kernel).
func readKernel(c *call, m *machine, osystem, series string) (string, *reply) {
	version, known := ubuntuVersions[series]
	if osystem != "ubuntu" || !known {
		return "", nil
	}
	wanted := c.field("hwe_kernel")
	if short, _, _ := strings.Cut(m.architecture, "/"); !slices.Contains(c.w.model.Architectures, short) {
		problem := series + " has no kernels available."
		if wanted != "" {
			problem = fmt.Sprintf("%s is not available for %s/%s on %s.", wanted, osystem, series, m.architecture)
		}
		bad := badField("hwe_kernel", problem)
		return "", &bad
	}
	if c.field("distro_series") == "" {
		// MAAS looks at the kernel only together with a series
		// (api/machines.py, op_deploy), and installs the general one.
		return "ga-" + version, nil
	}
	switch strings.TrimSuffix(strings.TrimSuffix(wanted, "-edge"), "-lowlatency") {
	case "":
		return "ga-" + version, nil
	case "ga-" + version, "hwe-" + version:
		return wanted, nil
	}
	bad := badField("hwe_kernel", fmt.Sprintf("%s is not available for %s/%s on %s.", wanted, osystem, series, m.architecture))
	return "", &bad
}

// readUserData undoes base64; what is none is kept as it is.
func readUserData(text string) []byte {
	if text == "" {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return []byte(text)
	}
	return data
}
