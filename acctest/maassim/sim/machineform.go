package sim

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
)

// powerTypes are the drivers that a machine may name here.
var powerTypes = []string{"", "manual", "lxd", "ipmi", "redfish", "virsh", "webhook"}

// updateMachine changes the fields that are given. Zone, pool and domain are
// names.
func updateMachine(c *call, m *machine) reply {
	errs := formErrors{}
	z, p, d := c.readPlaces(errs)
	hostname := c.text("hostname")
	if hostname != nil && *hostname != "" {
		c.checkRename(m, *hostname, errs)
	}
	if arch := c.field("architecture"); arch != "" && !strings.HasPrefix(arch, "amd64") {
		errs.add("architecture", fmt.Sprintf("'%s' is not a valid architecture.  It should be one of: 'amd64/generic'.", arch))
	}
	if kind := c.field("power_type"); !slices.Contains(powerTypes, kind) {
		errs.add("power_type", choiceProblem(kind))
	}
	swap := c.readSwapSize(errs)
	if len(errs) > 0 {
		return badForm(errs)
	}
	if bad := c.w.rewireMachine(c, m); bad != nil {
		return *bad
	}
	if hostname != nil && *hostname != "" {
		m.hostname = *hostname
	}
	m.place(z, p, d)
	set(&m.description, c.text("description"))
	if swap != nil {
		m.swapSize = swap
	}
	if m.minKernel == nil {
		m.minKernel = new(string)
	}
	set(m.minKernel, c.text("min_hwe_kernel"))
	return machineReply(m)
}

// checkRename refuses names that cannot be and those of others; an FQDN names
// the domain, too.
func (c *call) checkRename(m *machine, name string, errs formErrors) {
	if problem := labelProblem(name); problem != "" {
		errs.add("hostname", problem)
	} else if other := c.w.machineNamed(name); other != nil && other != m {
		errs.add("hostname", "Node with this Hostname already exists.")
	}
}

// readPlaces reads zone, pool and domain by name; nil is not given.
func (c *call) readPlaces(errs formErrors) (z *zone, p *pool, d *domain) {
	if name := c.field("zone"); name != "" {
		if z = c.w.zoneNamed(name); z == nil {
			errs.add("zone", invalidChoice)
		}
	}
	if name := c.field("pool"); name != "" {
		if p = c.w.poolNamed(name); p == nil {
			errs.add("pool", invalidChoice)
		}
	}
	if name := c.field("domain"); name != "" {
		if d = c.w.domainNamed(name); d == nil {
			errs.add("domain", "Unable to find domain "+name)
		}
	}
	return z, p, d
}

func (m *machine) place(z *zone, p *pool, d *domain) {
	if z != nil {
		m.zone = z
	}
	if p != nil {
		m.pool = p
	}
	if d != nil {
		m.domain = d
	}
}

// createMachine enlists a machine, whose VM or hardware is not looked at.
// Without credentials, or without admin rights, it stays New.
func createMachine(c *call) reply {
	w, errs := c.w, formErrors{}
	z, p, d := c.readPlaces(errs)
	params, problem := c.powerParameters()
	if problem != "" {
		return badText(problem)
	}
	macs := c.form["mac_addresses"]
	w.checkEnlistment(c, macs, params, errs)
	if len(errs) > 0 {
		return badForm(errs)
	}
	commission := (!c.has("commission") || truth(c.field("commission"))) && !truth(c.field("deployed")) && c.user != nil && c.user.admin
	if commission && (w.rack != OK || !w.hasImage("ubuntu", w.defaultSeries())) {
		return badText(w.noCommissioningImage())
	}
	m := w.newMachine(or(c.field("hostname"), w.randomName()))
	m.place(z, p, d)
	m.description = c.field("description")
	for _, mac := range macs {
		m.addNIC(strings.ToLower(mac), w.subnetForMAC(strings.ToLower(mac)))
	}
	m.powerType = or(c.field("power_type"), "manual")
	if bad := w.attach(m, params); bad != nil {
		m.forget()
		return *bad
	}
	return w.enlisted(c, m, commission)
}

// enlisted is what happens to a new machine next.
func (w *world) enlisted(c *call, m *machine, commission bool) reply {
	if truth(c.field("deployed")) && c.user != nil {
		m.status, m.owner = StatusDeployed, c.user
	}
	if !commission {
		return machineReply(m)
	}
	w.commission(m, c.user, c.commissionOptions())
	rep := machineReply(m)
	if m.powerType == "lxd" {
		w.power(m, "on")
	}
	return rep
}

// powerParameters reads power_parameters={…} and power_parameters_X=….
func (c *call) powerParameters() (map[string]string, string) {
	params := map[string]string{}
	if text := c.field("power_parameters"); text != "" {
		var all map[string]any
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, "Failed to parse JSON power_parameters"
		}
		for name, value := range all {
			params[name] = jsonText(value)
		}
	}
	for name := range c.form {
		if key, isParam := strings.CutPrefix(name, "power_parameters_"); isParam {
			params[key] = c.field(name)
		}
	}
	return params, ""
}

// checkEnlistment refuses what MAAS's forms refuse: unknown architectures and
// drivers, MACs and names that machines have.
func (w *world) checkEnlistment(c *call, macs []string, params map[string]string, errs formErrors) {
	if arch := c.field("architecture"); arch == "" {
		errs.add("architecture", "An architecture must be specified.")
	} else if !strings.HasPrefix(arch, "amd64") {
		errs.add("architecture", fmt.Sprintf("'%s' is not a valid architecture.  It should be one of: 'amd64/generic'.", arch))
	}
	if name := c.field("hostname"); name != "" {
		c.checkRename(nil, name, errs)
	}
	kind := c.field("power_type")
	if !slices.Contains(powerTypes, kind) {
		errs.add("power_type", choiceProblem(kind))
	}
	usable := 0
	for _, mac := range macs {
		if problem := w.macProblem(mac); problem != "" {
			errs.add("mac_addresses", problem)
		} else {
			usable++
		}
	}
	if len(macs) == 0 {
		errs.add("mac_addresses", "This field is required.")
	}
	if kind == "lxd" {
		checkLXDParameters(params, usable, errs)
	}
}

func (w *world) macProblem(mac string) string {
	if _, err := net.ParseMAC(mac); err != nil {
		return fmt.Sprintf("'%s' is not a valid MAC address.", mac)
	}
	if m := w.machineWithMAC(strings.ToLower(mac)); m != nil {
		return fmt.Sprintf("MAC address %s already in use on %s.", strings.ToLower(mac), m.hostname)
	}
	return ""
}

func checkLXDParameters(params map[string]string, macs int, errs formErrors) {
	if macs == 0 {
		errs.add("power_type", "Can't set power type to lxd without network interfaces")
		return
	}
	if params["power_address"] == "" {
		errs.add("power_parameters", "LXD address: This field is required.")
	}
	if params["instance_name"] == "" {
		errs.add("power_parameters", "Instance name: This field is required.")
	}
}

// subnetForMAC is the network of the instance with that MAC, else the first
// that has DHCP.
func (w *world) subnetForMAC(mac string) *subnet {
	for _, l := range w.lxds {
		l.look()
		for _, project := range l.projects {
			for _, i := range project {
				if n := slices.Index(i.macs, mac); n >= 0 {
					return i.subnets[n]
				}
			}
		}
	}
	for _, n := range w.subnets {
		if n.vlan.dhcp {
			return n
		}
	}
	return nil
}

// attach gives a machine its power parameters. Machines of one LXD, project
// and certificate share a BMC, and where that is a VM host they are its VMs at
// once.
func (w *world) attach(m *machine, params map[string]string) *reply {
	if m.powerType != "lxd" {
		m.powerParams = params
		return nil
	}
	m.instance, m.uefi = params["instance_name"], true
	b := &bmc{address: params["power_address"], project: or(params["project"], "default"), certificate: params["certificate"], key: params["key"]}
	b.password, b.hasPassword = params["password"], params["password"] != ""
	if b.certificate == "" && b.key == "" {
		var err error
		if b.certificate, b.key, err = newPair("maas"); err != nil {
			bad := internalError(err.Error())
			return &bad
		}
	}
	if shared := w.bmcs[b.id()]; shared != nil {
		b = shared
	}
	w.bmcs[b.id()] = b
	m.bmc = b
	return nil
}

// rewireMachine changes power parameters; those that are not given stay. The
// BMC is shared, so its other machines move, too, unless there is one of that
// kind already, which the machine then joins.
func (w *world) rewireMachine(c *call, m *machine) *reply {
	params, problem := c.powerParameters()
	if problem != "" {
		bad := badText(problem)
		return &bad
	}
	if kind := c.field("power_type"); kind != "" && kind != m.powerType {
		m.powerType, m.bmc = kind, nil
		return w.attach(m, params)
	}
	if len(params) == 0 {
		return nil
	}
	if m.bmc == nil {
		m.powerParams = params
		return nil
	}
	changed := *m.bmc
	for name, to := range map[string]*string{"power_address": &changed.address, "project": &changed.project, "certificate": &changed.certificate, "key": &changed.key, "password": &changed.password, "instance_name": &m.instance} {
		if value, given := params[name]; given {
			*to = value
		}
	}
	changed.hasPassword = true
	if there := w.bmcs[changed.id()]; there != nil && there != m.bmc {
		m.bmc = there
		return nil
	}
	delete(w.bmcs, m.bmc.id())
	*m.bmc = changed
	w.bmcs[m.bmc.id()] = m.bmc
	return nil
}
