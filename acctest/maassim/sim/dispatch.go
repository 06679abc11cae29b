package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/accounts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/catalog"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/disks"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/machines"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/network"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/settings"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/surface"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/upkeep"
)

// dispatch runs the handler of a call. The caller holds the lock; handlers may release it
// to let time pass.
func (s *Sim) dispatch(c *request.Call, r *http.Request) rest.Reply {
	path, isAPI := strings.CutPrefix(r.URL.Path, rest.APIRoot)
	res, op, found := s.router.FindResource(c.World.Version, path)
	if !isAPI || !found {
		return request.UnknownEndpointReply(r.URL.Path)
	}
	c.Pattern, c.Vars = res.Pattern, res.Vars
	c.Op = cmp.Or(c.Op, op)
	u, denied := request.Authenticate(c.World, c, r)
	if denied != nil && !res.IsAnonymous() {
		if denied.Status == http.StatusUnauthorized && denied.Kind == rest.TypePlain && res.Pattern == "machines/" {
			return s.anonymousMachines(c, res)
		}
		return *denied
	}
	c.User = u
	return s.runOperation(c, res)
}

func (s *Sim) runOperation(c *request.Call, res request.Resource) rest.Reply {
	if c.BodyRefusal != nil {
		return *c.BodyRefusal
	}
	if !res.AllowsMethod(c.Method) {
		return request.MethodNotAllowedReply(res)
	}
	if format := c.Query.Get("format"); format != "" && format != "json" {
		rep := rest.BadTextReply(fmt.Sprintf("Invalid output format specified '%s'.", format))
		rep.Kind, rep.Header = rest.TypePlain, rest.APIHeader()
		return rep
	}
	route, found := res.Operation(c.Method, c.Op)
	if !found {
		return request.BadSignatureReply(c)
	}
	if route.Admin && !c.User.Admin {
		return rest.ErrorReply(http.StatusForbidden, "This method is reserved for admin users.")
	}
	if hasNull(c.Vars) {
		return rest.InternalErrorReply("A string literal cannot contain NUL (0x00) characters.")
	}
	return route.Handle(c)
}

// hasNull tells whether a variable of the path holds a NUL character, which PostgreSQL
// accepts in no text.
func hasNull(vars map[string]string) bool {
	for _, value := range vars {
		if strings.Contains(value, "\x00") {
			return true
		}
	}
	return false
}

// anonymousMachines is MAAS's handler for enlisting machines without credentials. Because
// of it GET machines/ answers 400 there, and not 401.
func (s *Sim) anonymousMachines(c *request.Call, res request.Resource) rest.Reply {
	if c.BodyRefusal != nil {
		return *c.BodyRefusal
	}
	if c.Method == http.MethodPost && c.Op == "" {
		return machines.CreateMachine(c)
	}
	if !res.AllowsMethod(c.Method) {
		return request.MethodNotAllowedReply(res)
	}
	return request.BadSignatureReply(c)
}

// allRoutes are all simulated operations. Each package of operations has its own table.
func allRoutes() []request.Route {
	return slices.Concat(
		machines.Routes(), disks.Routes(), network.Routes(), hosts.Routes(), catalog.Routes(), accounts.Routes(), settings.Routes(), upkeep.Routes(),
	)
}

// OperationsTable is the table of MAAS's operations in Markdown: whether the simulator
// serves each one, and which versions of MAAS have it.
func OperationsTable() string { return surface.NewRouter(allRoutes()).Table() }
