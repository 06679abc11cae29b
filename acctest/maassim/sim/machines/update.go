package machines

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// powerTypes are the drivers that a machine can have (provisioningserver/drivers).
var powerTypes = append([]string{""}, strings.Fields("amt apc dli eaton hmc hmcz ipmi lxd manual moonshot mscm msftocs nova openbmc "+
	"proxmox raritan recs_box redfish sm15k ucsm virsh vmware webhook wedge")...)

// updateMachine changes the given fields. Zone, pool and domain are names.
func updateMachine(c *request.Call, m *world.Machine) rest.Reply {
	errs := rest.FormErrors{}
	z, p, d := readZonePoolDomain(c, errs)
	hostname := hosts.OptionalField(c, "hostname")
	if hostname != nil && *hostname != "" {
		checkRename(c, m, *hostname, errs)
	}
	if arch := c.Field("architecture"); arch != "" {
		checkArchitecture(c.World, arch, errs)
	}
	if kind := c.Field("power_type"); !slices.Contains(powerTypes, kind) {
		errs.Add("power_type", rest.ChoiceProblem(kind))
	}
	swap := readSwapSize(c, errs)
	checkMachineFields(c, errs)
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	if bad := changePowerParameters(c.World, c, m); bad != nil {
		return *bad
	}
	if hostname != nil {
		m.Hostname = cmp.Or(*hostname, c.World.RandomName()) // models/node.py, Node.save
	}
	MoveMachine(m, z, p, d)
	hosts.SetIfGiven(&m.Description, hosts.OptionalField(c, "description"))
	if swap != nil {
		m.SwapSize = swap
	}
	if m.MinKernel == nil {
		m.MinKernel = new(string)
	}
	hosts.SetIfGiven(m.MinKernel, hosts.OptionalField(c, "min_hwe_kernel"))
	m.Architecture = cmp.Or(readArchitecture(c), m.Architecture)
	setHardware(c, m)
	return machineReply(m)
}

// setHardware writes the hardware that an administrator states.
func setHardware(c *request.Call, m *world.Machine) {
	if c.Field("cpu_count") != "" {
		m.Cores = c.NumberField("cpu_count", m.Cores)
	}
	if c.Field("memory") != "" {
		m.MemoryMiB = int64(c.NumberField("memory", int(m.MemoryMiB)))
	}
}

// checkMachineFields refuses invalid numbers, unknown kernels, and changes that are no
// longer possible (forms/__init__.py, NodeForm and AdminMachineForm).
func checkMachineFields(c *request.Call, errs rest.FormErrors) {
	for _, name := range []string{"cpu_count", "memory"} {
		if text := strings.TrimSpace(c.Field(name)); text != "" {
			if _, err := strconv.Atoi(text); err != nil {
				errs.Add(name, rest.MsgWhole)
			}
		}
	}
	if rest.ReadBool(c.Field("disable_ipv4")) {
		errs.Add("disable_ipv4", "If specified, disable_ipv4 must be False.")
	}
	if kernel := c.Field("min_hwe_kernel"); kernel != "" && !hasCompatibleKernel(c.World, kernel) {
		errs.Add("min_hwe_kernel", fmt.Sprintf("No kernel matches \">=%s\" requirement.", kernel))
	}
}

// kernelName matches a kernel named by the version of its series, or by the letter of a
// series before xenial.
var kernelName = regexp.MustCompile(`^(?:(?:ga|hwe)-(\d\d\.\d\d)(?:-lowlatency)?(?:-edge)?|hwe-[a-z])$`)

// hasCompatibleKernel tells whether an image has the kernel or a later one
// (utils/osystems.py, validate_min_hwe_kernel).
func hasCompatibleKernel(w *world.World, kernel string) bool {
	found := kernelName.FindStringSubmatch(kernel)
	return found != nil && slices.ContainsFunc(w.Images, func(image string) bool {
		series, isUbuntu := strings.CutPrefix(image, "ubuntu/")
		return isUbuntu && found[1] <= ubuntuVersions[series]
	})
}

// checkRename refuses invalid hostnames and those of other machines. An FQDN also names
// the domain.
func checkRename(c *request.Call, m *world.Machine, name string, errs rest.FormErrors) {
	if problem := rest.LabelProblem(name); problem != "" {
		errs.Add("hostname", problem)
	} else if other := c.World.MachineNamed(name); other != nil && other != m {
		errs.Add("hostname", "Node with this Hostname already exists.")
	}
}

// readZonePoolDomain reads zone, pool and domain by name. A field that was not given is
// nil.
func readZonePoolDomain(c *request.Call, errs rest.FormErrors) (z *world.Zone, p *world.Pool, d *world.Domain) {
	if name := c.Field("zone"); name != "" {
		if z = c.World.ZoneNamed(name); z == nil {
			errs.Add("zone", rest.InvalidChoice)
		}
	}
	if name := c.Field("pool"); name != "" {
		if p = c.World.PoolNamed(name); p == nil {
			errs.Add("pool", rest.InvalidChoice)
		}
	}
	if name := c.Field("domain"); name != "" {
		if d = c.World.DomainNamed(name); d == nil {
			errs.Add("domain", "Unable to find domain "+name)
		}
	}
	return z, p, d
}

// MoveMachine moves the machine to a zone, a pool and a domain. Nil changes nothing.
func MoveMachine(m *world.Machine, z *world.Zone, p *world.Pool, d *world.Domain) {
	if z != nil {
		m.Zone = z
	}
	if p != nil {
		m.Pool = p
	}
	if d != nil {
		m.Domain = d
	}
}
