package request

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Permission is a permission that a user needs on a machine.
type Permission int

// The permissions (permissions.py and auth/local.py of MAAS).
const (
	ViewAll Permission = iota // see it
	Use                       // lock and unlock it, and do everything that a lock does not forbid
	Edit                      // act on it: it has no owner or the user owns it, and it is not locked
	Admin                     // change it: for administrators, and not locked
)

// OnMachine looks up the machine of the path and checks the permission. A lock forbids
// changes to every user.
func OnMachine(need Permission, f func(*Call, *world.Machine) rest.Reply) func(*Call) rest.Reply {
	return func(c *Call) rest.Reply {
		m := c.World.Machines[c.Vars["id"]]
		if m == nil {
			return rest.NoObjectReply("Machine")
		}
		if !c.HasPermission(need, m) {
			return rest.ForbiddenReply()
		}
		defer showStatusBefore(m)()
		return f(c, m)
	}
}

// showStatusBefore makes the answer show a chosen boot disk as in the machine's previous
// status, because MAAS reads both at once (api/nodes.py, boot_disk__node_config__node).
// Call the returned function to end that.
func showStatusBefore(m *world.Machine) func() {
	status, outer := m.Status, m.StatusBefore
	m.StatusBefore = &status
	return func() { m.StatusBefore = outer }
}

// HasPermission tells whether the caller has the permission on the machine.
func (c *Call) HasPermission(need Permission, m *world.Machine) bool {
	switch {
	case need >= Edit && m.Locked:
		return false
	case c.User.Admin:
		return true
	case need == Admin:
		return false
	}
	return m.Owner == nil || m.Owner == c.User
}

// CanView tells whether the caller may see the machine.
func (c *Call) CanView(m *world.Machine) bool { return c.HasPermission(ViewAll, m) }
