package machines

import (
	"fmt"
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// machineToken shows the machine's own credentials to an admin. A deployment makes
// them, and another owner, or none, ends them (models/signals/nodes.py,
// clear_nodekey_when_owner_changes).
func machineToken(c *request.Call, m *world.Machine) rest.Reply {
	switch {
	case !c.User.Admin:
		return rest.Forbidden()
	case m.Owner == nil || m.Osystem == "" || m.Status == world.StatusAllocated:
		return rest.OK(nil)
	}
	token := m.Credentials()
	return rest.OK(rest.Object{"token_key": token.Key, "token_secret": token.Secret, "consumer_key": token.Consumer})
}

// curtinConfig is what MAAS's installer is told. What it installs is not simulated.
func curtinConfig(_ *request.Call, m *world.Machine) rest.Reply {
	if !world.OneOf(m.Status, world.StatusDeploying, world.StatusDeployed, world.StatusFailedDeployment) {
		return rest.BadText(fmt.Sprintf("Machine %s is not in a deployment state.", m.Hostname))
	}
	return rest.Refused(http.StatusNotImplemented, "The simulator does not simulate curtin's configuration.")
}
