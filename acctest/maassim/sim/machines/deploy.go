package machines

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// deployMachine installs an image on an Allocated machine, or on a Ready one, which MAAS
// first acquires for the caller.
func deployMachine(c *request.Call, m *world.Machine) rest.Reply {
	if bad := checkDeployOptions(c); bad != nil {
		return *bad
	}
	image, bad := readDeployment(c, m)
	if bad != nil {
		return *bad
	}
	if bad := prepareVMHost(c, m); bad != nil {
		return *bad
	}
	m.PowerQueryJob.Cancel()
	if m.Status == world.StatusReady {
		lifecycle.AcquireMachine(m, c.User, c.Field("agent_name"), c.Field("comment"))
	}
	m.Osystem, m.Series, m.Kernel = image.osystem, image.series, image.kernel
	m.Ephemeral = rest.ReadBool(c.Field("ephemeral_deploy"))
	lifecycle.SetHardwareSync(m, rest.ReadBool(c.Field("enable_hw_sync")))
	if m.MinKernel == nil {
		m.MinKernel = new(string)
	}
	if rest.ReadBool(c.Field("bridge_all")) {
		lifecycle.BridgeAll(m, bridgeParams(c))
	}
	bridgeVMHost(c, m)
	return startDeployment(c, m)
}

// startDeployment deploys an Allocated machine.
func startDeployment(c *request.Call, m *world.Machine) rest.Reply {
	switch {
	case !isNetworkConfigured(m):
		return rest.BadModelReply(rest.FormErrors{"network": {"Node must be configured to use a network"}})
	case c.World.RackCondition != world.ConditionOK:
		return rest.BadTextReply(fmt.Sprintf("Deployment operating system %s %s is unavailable.", cmp.Or(m.Osystem, "ubuntu"), cmp.Or(m.Series, c.World.DefaultSeries())))
	}
	m.UserData = readUserData(c.Field("user_data"))
	action := bootAction(m)
	lifecycle.DeployMachine(c.World, m, c.User, c.Field("comment"))
	if bad := lifecycle.PowerRefusal(c.World, m, action); bad != nil {
		lifecycle.RevertStart(m, c.User, world.StatusAllocated)
		return *bad
	}
	rep := machineReply(m)
	m.AssignAddresses()
	lifecycle.RequestPower(c.World, m, action)
	return rep
}

// checkDeployOptions refuses options that MAAS no longer supports, or that only
// administrators may use.
func checkDeployOptions(c *request.Call) *rest.Reply {
	if bad := checkBooleans(c, "install_rackd", "install_kvm", "register_vmhost", "ephemeral_deploy", "bridge_all", "bridge_stp", "enable_hw_sync"); bad != nil {
		return bad
	}
	var bad rest.Reply
	makesHost := rest.ReadBool(c.Field("install_kvm")) || rest.ReadBool(c.Field("register_vmhost"))
	switch {
	case rest.ReadBool(c.Field("install_rackd")):
		bad = rest.BadTextReply("Deploying a machine as a rackd has been disabled and it's not supported anymore.")
	case makesHost && !c.User.Admin:
		bad = rest.ForbiddenReply()
	case makesHost && rest.ReadBool(c.Field("ephemeral_deploy")):
		bad = rest.BadFormReply(rest.FormErrors{"__all__": {"Cannot deploy as a VM host for ephemeral deployments."}})
	default:
		return nil
	}
	return &bad
}

// linuxSystems are the operating systems with hardware sync (forms/__init__.py,
// MachineForm.clean).
var linuxSystems = []string{"ubuntu", "centos", "rhel", "ol", "custom"}

const noHardwareSyncText = "Hardware sync is only supported for Linux based image deploys."

// deployment is the system to install.
type deployment struct{ osystem, series, kernel string }

// readDeployment reads the system to install, or returns an error.
func readDeployment(c *request.Call, m *world.Machine) (d deployment, bad *rest.Reply) {
	refuse := func(rep rest.Reply) (deployment, *rest.Reply) { return deployment{}, &rep }
	w := c.World
	if !world.IsStatusIn(m.Status, world.StatusReady, world.StatusAllocated) {
		return refuse(rest.ConflictReply(fmt.Sprintf("Can't deploy a machine that is in the '%s' state", m.Status)))
	}
	if w.VMHostsRemoved && (rest.ReadBool(c.Field("install_kvm")) || rest.ReadBool(c.Field("register_vmhost"))) {
		return refuse(rest.BadTextReply(request.GoneText))
	}
	if d.osystem, d.series, bad = readImage(w, c); bad != nil {
		return d, bad
	}
	if d.kernel, bad = readKernel(c, m, d.osystem, d.series); bad != nil {
		return d, bad
	}
	if rest.ReadBool(c.Field("enable_hw_sync")) && !slices.Contains(linuxSystems, d.osystem) {
		return refuse(rest.BadFieldReply("enable_hw_sync", noHardwareSyncText))
	}
	switch {
	case !isNetworkConfigured(m):
		return refuse(rest.BadModelReply(rest.FormErrors{"network": {"Node must be configured to use a network"}}))
	case w.RackCondition != world.ConditionOK:
		return refuse(rest.BadTextReply(fmt.Sprintf("Deployment operating system %s %s is unavailable.", d.osystem, d.series)))
	}
	return d, nil
}

// isNetworkConfigured tells whether any interface is linked to a subnet.
func isNetworkConfigured(m *world.Machine) bool {
	return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool {
		return slices.ContainsFunc(n.Links, func(l *world.Link) bool { return l.Mode != "link_up" })
	})
}

// readImage finds the imported image. It ignores the form's osystem, as MAAS does.
func readImage(w *world.World, c *request.Call) (osystem, series string, bad *rest.Reply) {
	series = c.Field("distro_series")
	osystem = "ubuntu"
	if before, after, found := strings.Cut(series, "/"); found {
		osystem, series = before, after
	}
	if series == "" {
		series = world.DeploySeries(w)
	}
	if w.HasImage(osystem, series) {
		return osystem, series, nil
	}
	for _, image := range w.Images { // the name of a custom image does not contain its system
		if name, isCustom := strings.CutPrefix(image, "custom/"); isCustom && name == series {
			return "custom", series, nil
		}
	}
	choices := []string{"''"}
	for _, image := range slices.Sorted(slices.Values(w.Images)) {
		choices = append(choices, "'"+image+"'")
	}
	refusal := rest.BadFieldReply("distro_series", fmt.Sprintf("'%s' is not a valid distro_series.  It should be one of: %s.", c.Field("distro_series"), strings.Join(choices, ", ")))
	return "", "", &refusal
}

// ubuntuVersions are the versions of Ubuntu's series, as kernel names contain them.
var ubuntuVersions = map[string]string{"xenial": "16.04", "bionic": "18.04", "focal": "20.04", "jammy": "22.04", "noble": "24.04"}

// readKernel is the requested kernel, or the image's general one. An image has kernels
// only for the architectures that it was imported for (utils/osystems.py,
// validate_hwe_kernel).
func readKernel(c *request.Call, m *world.Machine, osystem, series string) (string, *rest.Reply) {
	version, known := ubuntuVersions[series]
	if osystem != "ubuntu" || !known {
		return "", nil
	}
	wanted := c.Field("hwe_kernel")
	if short, _, _ := strings.Cut(m.Architecture, "/"); !slices.Contains(world.ArchitecturesOf(c.World, osystem+"/"+series), short) {
		problem := series + " has no kernels available."
		if wanted != "" {
			problem = fmt.Sprintf("%s is not available for %s/%s on %s.", wanted, osystem, series, m.Architecture)
		}
		bad := rest.BadFieldReply("hwe_kernel", problem)
		return "", &bad
	}
	if c.Field("distro_series") == "" {
		// MAAS reads the kernel only together with a series (api/machines.py, op_deploy).
		// Otherwise it installs the general one.
		return "ga-" + version, nil
	}
	switch strings.TrimSuffix(strings.TrimSuffix(wanted, "-edge"), "-lowlatency") {
	case "":
		return "ga-" + version, nil
	case "ga-" + version, "hwe-" + version:
		return wanted, nil
	}
	if !strings.HasPrefix(wanted, "ga-") && !strings.HasPrefix(wanted, "hwe-") {
		return "ga-" + version, nil // MAAS ignores a text that is no kernel's name
	}
	bad := rest.BadFieldReply("hwe_kernel", fmt.Sprintf("%s is not available for %s/%s on %s.", wanted, osystem, series, m.Architecture))
	return "", &bad
}

// readUserData decodes base64. It keeps any other text as it is.
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

// readSwapSize reads swap_size in bytes or with a suffix (forms/__init__.py,
// NodeForm.clean_swap_size). It is nil if none was given.
func readSwapSize(c *request.Call, errs rest.FormErrors) *int64 {
	text := c.Field("swap_size")
	if text == "" {
		return nil
	}
	unit := int64(1)
	for suffix, bytes := range map[string]int64{"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = number, bytes
		}
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		errs.Add("swap_size", "Invalid size for swap: "+c.Field("swap_size"))
		return nil
	}
	size *= unit
	return &size
}
