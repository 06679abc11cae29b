package machines

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// releaseMachines gives several machines back, all or none (api/machines.py,
// MachinesHandler.release). What single releases take, such as erase and force, it
// does not read.
func releaseMachines(c *request.Call) rest.Reply {
	found, bad := machinesToRelease(c)
	if bad != nil {
		return *bad
	}
	alone := *c
	alone.Form = url.Values{"comment": c.Form["comment"]}
	released := []string{}
	for _, m := range found {
		if m.Status == world.StatusReady {
			continue
		}
		if rep := releaseMachine(&alone, m); rep.Status != http.StatusOK {
			return rep
		}
		released = append(released, m.SystemID)
	}
	return rest.OK(released)
}

// machinesToRelease are those that a call names, or why they cannot be released.
func machinesToRelease(c *request.Call) (found []*world.Machine, bad *rest.Reply) {
	refuse := func(rep rest.Reply) ([]*world.Machine, *rest.Reply) { return nil, &rep }
	var unknown, forbidden, stuck []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(c.Form["machines"]))) {
		m := c.World.Machines[id]
		switch {
		case m == nil:
			unknown = append(unknown, id)
			continue
		case !c.May(request.Edit, m):
			forbidden = append(forbidden, id)
		case m.Status != world.StatusReady && !lifecycle.IsReleasable(m):
			stuck = append(stuck, fmt.Sprintf("%s ('%s')", id, m.Status))
		}
		if hosts := HostedBy(m); hosts != "" && bad == nil {
			rep := rest.BadText("The following VM hosts must be removed first: " + hosts)
			bad = &rep
		}
		found = append(found, m)
	}
	switch {
	case len(unknown) > 0:
		return refuse(rest.BadText("Unknown machine(s): " + strings.Join(unknown, ", ") + "."))
	case len(forbidden) > 0:
		return refuse(rest.Refused(http.StatusForbidden, "You don't have the required permission to release the following machine(s): "+strings.Join(forbidden, ", ")+"."))
	case len(stuck) > 0:
		return refuse(rest.Conflict("Machine(s) cannot be released in their current state: " + strings.Join(stuck, ", ") + "."))
	}
	return found, bad
}
