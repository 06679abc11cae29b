package network

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// createInterface makes the handler that makes an interface of a kind (api/interfaces.py).
func createInterface(action, kind string) func(*request.Call, *world.Machine) rest.Reply {
	return func(c *request.Call, m *world.Machine) rest.Reply {
		if !c.User.Admin {
			return rest.ForbiddenReply()
		}
		if bad := notChangeableReply(m, action); bad != nil {
			return *bad
		}
		return saveInterface(newNICForm(c, m, kind))
	}
}

// updateInterface changes the fields that the form names. On a Deployed machine it changes
// only the identifying fields and the state of the link.
func updateInterface(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	f := editNICForm(c, m, n)
	if m.Status == world.StatusDeployed {
		f.readName("")
		f.readMAC(false)
		f.readLinkState()
		return finishInterface(f)
	}
	if bad := notChangeableReply(m, "update interface"); bad != nil {
		return *bad
	}
	return saveInterface(f)
}

func saveInterface(f *nicForm) rest.Reply {
	f.read()
	return finishInterface(f)
}

func finishInterface(f *nicForm) rest.Reply {
	if len(f.errs) > 0 {
		return rest.BadFormReply(f.errs)
	}
	n, bad := f.save()
	if bad != nil {
		return *bad
	}
	return rest.OKReply(view.NICView(f.machine, n))
}
