package machines

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
)

// CreateMachine enlists a machine. It does not read the VM or the hardware. If the caller
// has no credentials or no admin rights, the machine stays New.
func CreateMachine(c *request.Call) rest.Reply {
	w, errs := c.World, rest.FormErrors{}
	z, p, d := readZonePoolDomain(c, errs)
	params, problem := readPowerParameters(c)
	if problem != "" {
		return rest.BadTextReply(problem)
	}
	macs := c.Form["mac_addresses"]
	checkEnlistment(w, c, macs, params, errs)
	checkMachineFields(c, errs)
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	commission := (!c.HasField("commission") || rest.ReadBool(c.Field("commission"))) && !rest.ReadBool(c.Field("deployed")) && c.User != nil && c.User.Admin
	if commission && (w.RackCondition != world.ConditionOK || !w.HasImage("ubuntu", w.DefaultSeries())) {
		return rest.BadTextReply(hosts.NoCommissioningImage(w))
	}
	m := w.NewMachine(cmp.Or(c.Field("hostname"), w.RandomName()))
	MoveMachine(m, z, p, d)
	m.Description, m.Architecture = c.Field("description"), readArchitecture(c)
	minKernel := c.Field("min_hwe_kernel")
	m.MinKernel = &minKernel
	if c.User != nil && c.User.Admin {
		setHardware(c, m)
	}
	for _, mac := range macs {
		// MAAS learns the VLAN of an enlisted machine's NIC only by commissioning.
		nic := m.AddNIC(strings.ToLower(mac), nil)
		nic.RealSubnet = subnetForMAC(w, nic.MAC)
	}
	m.PowerType = cmp.Or(c.Field("power_type"), "manual")
	if bad := attachInstance(w, m, params); bad != nil {
		m.Forget()
		return *bad
	}
	return enlistMachine(w, c, m, commission)
}

// enlistMachine starts the next step of a new machine.
func enlistMachine(w *world.World, c *request.Call, m *world.Machine, commission bool) rest.Reply {
	if rest.ReadBool(c.Field("deployed")) && c.User != nil {
		m.Status, m.Owner = world.StatusDeployed, c.User
		m.CommissioningSet, m.CommissioningStatus = lifecycle.BeginScripts(w, m, script.Commissioning), lifecycle.ScriptsPending
	}
	switch {
	case c.User == nil:
		return rest.OKReply(view.AnonymousMachine(m))
	case !commission:
		return machineReply(m)
	}
	lifecycle.CommissionMachine(w, m, c.User, commissionOptions(c))
	rep := machineReply(m)
	if m.PowerType == "lxd" {
		lifecycle.RequestPower(w, m, "on")
	}
	return rep
}

// readPowerParameters reads power_parameters={…} and power_parameters_X=….
func readPowerParameters(c *request.Call) (map[string]string, string) {
	params := map[string]string{}
	if text := c.Field("power_parameters"); text != "" {
		var all map[string]any
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, "Failed to parse JSON power_parameters"
		}
		for name, value := range all {
			params[name] = rest.JSONText(value)
		}
	}
	for name := range c.Form {
		if key, isParam := strings.CutPrefix(name, "power_parameters_"); isParam {
			params[key] = c.Field(name)
		}
	}
	return params, ""
}

// checkEnlistment refuses what MAAS's forms refuse: unknown architectures and drivers, and
// MACs and names that machines already have.
func checkEnlistment(w *world.World, c *request.Call, macs []string, params map[string]string, errs rest.FormErrors) {
	if arch := readArchitecture(c); arch == "" {
		errs.Add("architecture", rest.MsgRequired)
	} else {
		checkArchitecture(w, arch, errs)
	}
	if name := c.Field("hostname"); name != "" {
		checkRename(c, nil, name, errs)
	}
	kind := c.Field("power_type")
	if !slices.Contains(powerTypes, kind) {
		errs.Add("power_type", rest.ChoiceProblem(kind))
	}
	usable := 0
	for _, mac := range macs {
		if problem := macProblem(w, mac); problem != "" {
			errs.Add("mac_addresses", problem)
		} else {
			usable++
		}
	}
	if len(macs) == 0 {
		errs.Add("mac_addresses", rest.MsgRequired)
	}
	checkPower(kind, params, len(errs["mac_addresses"]) == 0 && usable > 0, errs)
}

// checkArchitecture refuses an architecture that MAAS has no image for.
func checkArchitecture(w *world.World, arch string, errs rest.FormErrors) {
	short, _, _ := strings.Cut(arch, "/")
	if usable := world.MachineArchitectures(w); !slices.Contains(usable, short) {
		errs.Add("architecture", fmt.Sprintf("'%s' is not a valid architecture.  It should be one of: '%s/generic'.", arch, strings.Join(usable, "/generic', '")))
	}
}

// readArchitecture is the form's architecture, with the subarchitecture generic if none is
// named (api/machines.py, fix_architecture).
func readArchitecture(c *request.Call) string {
	arch := c.Field("architecture")
	if arch == "" || strings.Contains(arch, "/") {
		return arch
	}
	return arch + "/" + cmp.Or(c.Field("subarchitecture"), "generic")
}

func macProblem(w *world.World, mac string) string {
	if _, err := net.ParseMAC(mac); err != nil {
		return fmt.Sprintf("'%s' is not a valid MAC address.", mac)
	}
	if m := hosts.MachineWithMAC(w, strings.ToLower(mac)); m != nil {
		return fmt.Sprintf("MAC address %s already in use on %s.", strings.ToLower(mac), m.Hostname)
	}
	return ""
}

// neededParameters are the required parameters of some power types, with their labels
// (provisioningserver/drivers).
var neededParameters = map[string][][2]string{
	"lxd":  {{"power_address", "LXD address"}, {"instance_name", "Instance name"}},
	"ipmi": {{"power_address", "IP address"}},
}

// checkPower refuses a power type whose interfaces or parameters are missing
// (forms/__init__.py, MachineForm.clean; config_forms.py, DictCharField).
func checkPower(kind string, params map[string]string, hasMACs bool, errs rest.FormErrors) {
	if len(errs["power_type"]) > 0 || kind == "" {
		return
	}
	if kind != "ipmi" && !hasMACs {
		errs.Add("power_type", fmt.Sprintf("Can't set power type to %s without network interfaces", kind))
	}
	switch {
	case kind == "manual":
	case len(params) == 0:
		errs.Add("power_parameters", rest.MsgRequired)
	default:
		for _, needed := range neededParameters[kind] {
			if params[needed[0]] == "" {
				errs.Add("power_parameters", needed[1]+": "+rest.MsgRequired)
			}
		}
	}
}

// subnetForMAC is the network of the instance with that MAC, else the first network with
// DHCP.
func subnetForMAC(w *world.World, mac string) *world.Subnet {
	for _, l := range w.LXDs {
		l.SyncInstances()
		for _, project := range l.Projects {
			for _, i := range project {
				if n := slices.Index(i.MACs, mac); n >= 0 {
					return i.Subnets[n]
				}
			}
		}
	}
	for _, n := range w.Subnets {
		if n.VLAN.DHCP {
			return n
		}
	}
	return nil
}

// attachInstance sets a machine's power parameters. Machines with the same LXD, project
// and certificate share a BMC. If that is a VM host's, they are its VMs at once.
func attachInstance(w *world.World, m *world.Machine, params map[string]string) *rest.Reply {
	if m.PowerType != "lxd" {
		m.PowerParams = params
		return nil
	}
	m.Instance = params["instance_name"]
	b := &world.BMC{Address: params["power_address"], Project: cmp.Or(params["project"], "default"), Certificate: params["certificate"], Key: params["key"]}
	b.Password, b.HasPassword = params["password"], true
	if b.Certificate == "" && b.Key == "" {
		var err error
		b.Generated = true
		if b.Certificate, b.Key, err = hosts.NewCertificatePair("maas"); err != nil {
			bad := hosts.InternalErrorReply(err.Error())
			return &bad
		}
	}
	if shared := w.BMCs[b.RowKey()]; shared != nil {
		b = shared
	}
	w.BMCs[b.RowKey()] = b
	m.BMC = b
	return nil
}

// changePowerParameters changes the given power parameters. Because machines share the
// BMC, the change applies to all of them. But if a BMC with the new parameters exists
// already, only this machine moves to it.
func changePowerParameters(w *world.World, c *request.Call, m *world.Machine) *rest.Reply {
	params, problem := readPowerParameters(c)
	if problem != "" {
		bad := rest.BadTextReply(problem)
		return &bad
	}
	if kind := c.Field("power_type"); kind != "" && kind != m.PowerType {
		m.PowerType, m.BMC = kind, nil
		return attachInstance(w, m, params)
	}
	if len(params) == 0 {
		return nil
	}
	if m.BMC == nil {
		m.PowerParams = params
		return nil
	}
	changed := *m.BMC
	for name, to := range map[string]*string{"power_address": &changed.Address, "project": &changed.Project, "certificate": &changed.Certificate, "key": &changed.Key, "password": &changed.Password, "instance_name": &m.Instance} {
		if value, given := params[name]; given {
			*to = value
		}
	}
	changed.HasPassword = m.BMC.HasPassword || m.BMC.Host == nil
	if there := w.BMCs[changed.RowKey()]; there != nil && there != m.BMC {
		m.BMC = there
		return nil
	}
	delete(w.BMCs, m.BMC.RowKey())
	*m.BMC = changed
	w.BMCs[m.BMC.RowKey()] = m.BMC
	return nil
}
