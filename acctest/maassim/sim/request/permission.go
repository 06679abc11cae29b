package request

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Permission is what a user needs on a machine.
type Permission int

// The permissions (permissions.py and auth/local.py of MAAS).
const (
	ViewAll Permission = iota // see it
	Use                       // lock it, and whatever a lock does not forbid
	Edit                      // act on it: unowned or his, and not locked
	Admin                     // change it: for admins, and not locked
)

// OnMachine looks up the machine of the path and checks the permission. A lock
// forbids changes to everybody.
func OnMachine(need Permission, f func(*Call, *world.Machine) rest.Reply) func(*Call) rest.Reply {
	return func(c *Call) rest.Reply {
		m := c.World.Machines[c.Vars["id"]]
		if m == nil {
			return rest.NoObject("Machine")
		}
		if !c.May(need, m) {
			return rest.Forbidden()
		}
		defer showAsBefore(m)()
		return f(c, m)
	}
}

// showAsBefore makes the answer to a call show the boot disk that somebody chose as in
// the status that the machine had before: MAAS reads both at once (api/nodes.py,
// boot_disk__node_config__node). The function ends that.
func showAsBefore(m *world.Machine) func() {
	status, outer := m.Status, m.Before
	m.Before = &status
	return func() { m.Before = outer }
}

// May says whether the caller has the permission on the machine.
func (c *Call) May(need Permission, m *world.Machine) bool {
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

// MayView says whether the caller sees the machine.
func (c *Call) MayView(m *world.Machine) bool { return c.May(ViewAll, m) }
