package sim

import (
	"net/http"
)

var machineRoutes = []route{
	{method: http.MethodGet, path: "machines/", handle: listMachines},
	{method: http.MethodPost, path: "machines/", handle: createMachine},
	{method: http.MethodPost, path: "machines/", op: "allocate", handle: allocate},
	{method: http.MethodGet, path: "machines/", op: "list_allocated", handle: listAllocated},
	{method: http.MethodGet, path: "machines/", op: "power_parameters", admin: true, handle: listPowerParameters},
	{method: http.MethodGet, path: "machines/{id}/", handle: onMachine(viewAll, readMachine)},
	{method: http.MethodPut, path: "machines/{id}/", handle: onMachine(edit, updateMachine)},
	{method: http.MethodDelete, path: "machines/{id}/", handle: onMachine(edit, deleteMachine)},
	{method: http.MethodGet, path: "machines/{id}/", op: "power_parameters", admin: true, handle: onMachine(viewAll, powerParameters)},
	{method: http.MethodGet, path: "machines/{id}/", op: "query_power_state", handle: onMachine(viewAll, queryPowerState)},
	{method: http.MethodGet, path: "machines/{id}/", op: "details", handle: onMachine(viewAll, machineDetails)},
	{method: http.MethodGet, path: "nodes/{id}/blockdevices/", handle: onMachine(viewAll, listBlockDevices)},
}

// permission is what a user needs on a machine.
type permission int

const (
	viewAll permission = iota // see it
	use                       // act on it: unowned, his, or he is admin
	edit                      // change it: his, or he is admin
)

// onMachine looks up the machine of the path and checks the permission. A lock
// forbids changes to everybody.
func onMachine(need permission, f func(*call, *machine) reply) func(*call) reply {
	return func(c *call) reply {
		m := c.w.machines[c.vars["id"]]
		if m == nil {
			return noObject("Machine")
		}
		if !c.may(need, m) || need == edit && m.locked {
			return forbidden()
		}
		return f(c, m)
	}
}

func (c *call) may(need permission, m *machine) bool {
	switch {
	case c.user.admin:
		return true
	case need == edit:
		return m.owner == c.user
	}
	return m.owner == nil || m.owner == c.user
}

// mayView says whether the caller sees the machine.
func (c *call) mayView(m *machine) bool { return c.may(viewAll, m) }

// machineReply is a machine as the answer to a call that changed it.
func machineReply(m *machine) reply {
	rep := ok(m.view())
	rep.objects = 1
	return rep
}

// readMachine shows the machine; what takes no time is over for the next read.
func readMachine(_ *call, m *machine) reply {
	rep := machineReply(m)
	m.seen()
	return rep
}

func listMachines(c *call) reply {
	found, bad := c.filter()
	if bad != nil {
		return *bad
	}
	views := []object{}
	for _, m := range found {
		views = append(views, m.view())
		m.seen()
	}
	rep := ok(views)
	rep.objects = len(views)
	return rep
}

// listAllocated are the machines of the caller.
func listAllocated(c *call) reply {
	views := []object{}
	for _, m := range sortedMachines(c.w.machines) {
		if m.owner == c.user && m.status == StatusAllocated {
			views = append(views, m.view())
		}
	}
	rep := ok(views)
	rep.objects = len(views)
	return rep
}

// listBlockDevices shows the disks as the machine does, but for one key.
func listBlockDevices(_ *call, m *machine) reply {
	views := m.diskViews()
	for _, v := range views {
		delete(v, "firmware_version")
	}
	return ok(views)
}

// machineDetails is BSON: lldp and lshw, both empty as in a VM that nobody
// commissioned, or with an empty list.
func machineDetails(_ *call, m *machine) reply {
	binary := func(name, text string) []byte {
		b := append([]byte{5}, name...)
		b = append(b, 0, byte(len(text)), 0, 0, 0, 0)
		return append(b, text...)
	}
	lshw := ""
	if m.commissioned {
		lshw = "<list/>"
	}
	doc := append(binary("lldp", ""), binary("lshw", lshw)...)
	body := append([]byte{byte(len(doc) + 5), 0, 0, 0}, doc...)
	rep := ok(nil)
	rep.kind, rep.body = "application/bson", append(body, 0)
	return rep
}

func listPowerParameters(c *call) reply {
	all, wanted := object{}, c.query["id"]
	for _, m := range sortedMachines(c.w.machines) {
		if len(wanted) == 0 || contains(wanted, m.systemID) {
			all[m.systemID] = m.parameters()
		}
	}
	return ok(all)
}

func powerParameters(_ *call, m *machine) reply { return ok(m.parameters()) }

// parameters are the power parameters, credentials and all: admins may see
// them.
func (m *machine) parameters() object {
	p := object{}
	for name, value := range m.powerParams {
		p[name] = value
	}
	if m.bmc != nil {
		for name, value := range m.bmc.parameters() {
			p[name] = value
		}
		p["instance_name"] = m.instance
	}
	return p
}

func (b *bmc) parameters() object {
	p := object{"power_address": b.address, "project": b.project, "certificate": b.certificate, "key": b.key}
	if b.hasPassword {
		p["password"] = b.password
	}
	return p
}

// deleteMachine removes a machine. For a VM it always answers 204, whether the
// instance could be removed or not.
func deleteMachine(c *call, m *machine) reply {
	if names := m.hostedBy(); names != "" {
		return badText("The following VM hosts must be removed first: " + names)
	}
	c.w.sleep(c.w.model.Latency.Delete + m.driverDelay())
	if c.w.machines[m.systemID] == m {
		c.w.removeVM(m)
	}
	return deleted()
}

// hostedBy names the VM hosts that run on the machine.
func (m *machine) hostedBy() string {
	names := ""
	for _, h := range sortedHosts(m.w.hosts) {
		if h.machine != m {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += h.name
	}
	return names
}
