package accounts

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

// Routes are the operations on users and on their keys and certificates.
func Routes() []request.Route {
	return slices.Concat(userRoutes, tokenRoutes, sshKeyRoutes, sslKeyRoutes)
}

var userRoutes = []request.Route{
	{Method: http.MethodGet, Path: "users/", Op: "whoami", Handle: whoAmI},
	{Method: http.MethodGet, Path: "users/", Handle: listUsers},
	{Method: http.MethodPost, Path: "users/", Admin: true, Handle: createUser},
	{Method: http.MethodGet, Path: "users/{name}/", Handle: readUser},
	{Method: http.MethodDelete, Path: "users/{name}/", Admin: true, Handle: deleteUser},
}

// workerUser is MAAS's own user, who owns the controllers (maasserver/worker_user.py).
// This user has no profile and no key.
var workerUser = &world.User{Name: "MAAS", Email: "maas@localhost"}

func whoAmI(c *request.Call) rest.Reply { return rest.OKReply(view.User(c.User)) }

func listUsers(c *request.Call) rest.Reply {
	all := append([]*world.User{workerUser}, c.World.Users...)
	slices.SortFunc(all, func(a, b *world.User) int { return cmp.Compare(a.Name, b.Name) })
	views := []rest.Object{}
	for _, u := range all {
		views = append(views, view.User(u))
	}
	return rest.OKReply(views)
}

func readUser(c *request.Call) rest.Reply {
	name := c.Vars["name"]
	if name == workerUser.Name {
		return rest.OKReply(view.User(workerUser))
	}
	if u := world.UserNamed(c.World, name); u != nil {
		return rest.OKReply(view.User(u))
	}
	return rest.NoObjectReply("User")
}

// maxUserName is the width of the database's column.
const maxUserName = 150

// createUser accepts nearly any name. An invalid one fails in the database with an
// internal error (api/users.py: no form checks it).
func createUser(c *request.Call) rest.Reply {
	for _, field := range []string{"username", "email", "password", "is_superuser"} {
		if !c.HasField(field) {
			return rest.BadTextReply("No provided " + field + "!")
		}
	}
	name, email, admin := c.Field("username"), normalizeEmail(c.Field("email")), c.Field("is_superuser")
	switch {
	case admin != "0" && admin != "1":
		return rest.InternalErrorReply(fmt.Sprintf("Not a valid Boolean value (0 or 1): '%s'", admin))
	case name == "":
		return rest.InternalErrorReply("The given username must be set")
	case len([]rune(name)) > maxUserName:
		return rest.InternalErrorReply(fmt.Sprintf("value too long for type character varying(%d)\n", maxUserName))
	case isUserTaken(c.World, name, email):
		return rest.RetriesExhaustedReply()
	}
	u := &world.User{Name: name, Email: email, Admin: admin == "1", Tokens: []*world.Token{world.NewToken(c.World, "")}}
	c.World.Users = append(c.World.Users, u)
	if admin == "1" && c.HasField("key") {
		as := *c
		as.User = u
		if rep := createSSHKey(&as); rep.Status != http.StatusCreated {
			c.World.Users = slices.DeleteFunc(c.World.Users, func(other *world.User) bool { return other == u })
			return rep
		}
	}
	return rest.OKReply(view.User(u))
}

// normalizeEmail writes the domain in lower case, as Django does.
func normalizeEmail(email string) string {
	at := strings.LastIndex(email, "@")
	if at < 0 {
		return email
	}
	return email[:at] + strings.ToLower(email[at:])
}

// isUserTaken tells whether a user has the name or the e-mail address.
func isUserTaken(w *world.World, name, email string) bool {
	return slices.ContainsFunc(append([]*world.User{workerUser}, w.Users...), func(u *world.User) bool {
		return u.Name == name || email != "" && u.Email == email
	})
}

// deleteUser refuses to delete the owner of resources unless they are transferred to
// another user (models/userprofile.py). Deleting an unknown user succeeds.
func deleteUser(c *request.Call) rest.Reply {
	name := c.Vars["name"]
	if name == c.User.Name {
		return rest.BadTextReply("An administrator cannot self-delete.")
	}
	if name == workerUser.Name {
		return rest.InternalErrorReply("User has no userprofile.")
	}
	u := world.UserNamed(c.World, name)
	if u == nil {
		return rest.DeletedReply()
	}
	if to := strings.TrimSpace(c.Query.Get("transfer_resources_to")); to != "" {
		heir := world.UserNamed(c.World, to)
		if heir == nil {
			return rest.NoObjectReply("User")
		}
		transferResources(c.World, u, heir)
	}
	if owned := ownedResources(c.World, u); owned != "" {
		return rest.BadTextReply(fmt.Sprintf("User %s cannot be deleted: %s are still allocated", name, owned))
	}
	c.World.Users = slices.DeleteFunc(c.World.Users, func(other *world.User) bool { return other == u })
	for _, keys := range []map[int]*site.Key{c.World.Site.SSHKeys, c.World.Site.SSLKeys} {
		maps.DeleteFunc(keys, func(_ int, k *site.Key) bool { return k.User == name })
	}
	return rest.DeletedReply()
}

func transferResources(w *world.World, from, to *world.User) {
	for _, m := range w.Machines {
		if m.Owner == from {
			m.Owner = to
		}
	}
	for _, r := range w.ReservedIPs {
		if r.Owner == from {
			r.Owner = to
		}
	}
}

// ownedResources counts the resources that a user owns, in MAAS's words. An address of a
// machine belongs to the machine's owner.
func ownedResources(w *world.World, u *world.User) string {
	addresses, nodes := 0, 0
	for _, r := range w.ReservedIPs {
		if r.Owner == u {
			addresses++
		}
	}
	for _, m := range w.Machines {
		if m.Owner == u {
			nodes++
		}
	}
	var owned []string
	if addresses > 0 {
		owned = append(owned, fmt.Sprintf("%d static IP address(es)", addresses))
	}
	if nodes > 0 {
		owned = append(owned, fmt.Sprintf("%d node(s)", nodes))
	}
	return strings.Join(owned, ", ")
}
