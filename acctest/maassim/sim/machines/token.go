package machines

import (
	"fmt"
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// showMachineToken shows the machine's own credentials to an administrator. A deployment
// makes them. A change or loss of the owner deletes them (models/signals/nodes.py,
// clear_nodekey_when_owner_changes).
func showMachineToken(c *request.Call, m *world.Machine) rest.Reply {
	switch {
	case !c.User.Admin:
		return rest.ForbiddenReply()
	case m.Owner == nil || m.Osystem == "" || m.Status == world.StatusAllocated:
		return rest.OKReply(nil)
	}
	token := m.Credentials()
	return rest.OKReply(rest.Object{"token_key": token.Key, "token_secret": token.Secret, "consumer_key": token.Consumer})
}

// showCurtinConfig is the configuration of MAAS's installer. The installation itself is
// not simulated.
func showCurtinConfig(_ *request.Call, m *world.Machine) rest.Reply {
	if !world.IsStatusIn(m.Status, world.StatusDeploying, world.StatusDeployed, world.StatusFailedDeployment) {
		return rest.BadTextReply(fmt.Sprintf("Machine %s is not in a deployment state.", m.Hostname))
	}
	return rest.ErrorReply(http.StatusNotImplemented, "The simulator does not simulate curtin's configuration.")
}
