package network

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var fabricRoutes = []request.Route{
	{Method: http.MethodGet, Path: "fabrics/", Handle: listFabrics},
	{Method: http.MethodPost, Path: "fabrics/", Admin: true, Handle: createFabric},
	{Method: http.MethodGet, Path: "fabrics/{id}/", Handle: onFabric(readFabric)},
	{Method: http.MethodPut, Path: "fabrics/{id}/", Handle: onFabric(updateFabric)},
	{Method: http.MethodDelete, Path: "fabrics/{id}/", Handle: onFabric(deleteFabric)},
}

// onFabric looks up the fabric of the path by its id or name. Only administrators may
// change it.
func onFabric(f func(*request.Call, *world.Fabric) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		found := findFabric(c.World, c.Vars["id"])
		switch {
		case found == nil:
			return rest.NoObjectReply("Fabric")
		case c.Method != http.MethodGet && !c.User.Admin:
			return rest.ForbiddenReply()
		}
		return f(c, found)
	}
}

// findFabric finds a fabric by id, by name, or by "name:…".
func findFabric(w *world.World, text string) *world.Fabric {
	name := strings.TrimPrefix(text, "name:")
	for _, f := range w.Fabrics {
		if f.Name == name || strconv.Itoa(f.ID) == text {
			return f
		}
	}
	return nil
}

func viewFabric(f *world.Fabric, w *world.World) rest.Object {
	vlans := []rest.Object{}
	for _, v := range world.VLANsOf(w, f) {
		vlans = append(vlans, view.VLAN(v, w))
	}
	return rest.Object{"id": f.ID, "name": f.Name, "class_type": rest.TextOrNull(f.ClassType), "vlans": vlans, "resource_uri": rest.URI("fabrics", f.ID)}
}

func listFabrics(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, f := range c.World.Fabrics {
		views = append(views, viewFabric(f, c.World))
	}
	return rest.OKReply(views)
}

func readFabric(c *request.Call, f *world.Fabric) rest.Reply {
	return rest.OKReply(viewFabric(f, c.World))
}

var (
	groupNamePattern    = regexp.MustCompile(`^[\pL\pN_-]+$`)
	reservedNamePattern = regexp.MustCompile(`^(fabric|space)-\d+$`)
)

// groupNameProblem is the reason why a fabric or a space cannot have a name. kind tells
// which it is, and id is -1 for a new one (models/fabric.py, models/space.py).
func groupNameProblem(kind, name string, id int, isTaken bool) string {
	title := strings.ToUpper(kind[:1]) + kind[1:]
	isOwn := id >= 0 && name == fmt.Sprintf("%s-%d", kind, id)
	switch {
	case name == "":
	case len(name) > maxName:
		return fmt.Sprintf("Ensure this value has at most %d characters (it has %d).", maxName, len(name))
	case !groupNamePattern.MatchString(name):
		return fmt.Sprintf("Invalid %s name: %s.", kind, name)
	case kind == "space" && name == "undefined", reservedNamePattern.MatchString(name) && strings.HasPrefix(name, kind) && !isOwn:
		return fmt.Sprintf("Reserved %s name.", kind)
	case isTaken:
		return fmt.Sprintf("%s with this Name already exists.", title)
	}
	return ""
}

// maxName is the greatest length of a name in MAAS's database.
const maxName = 256

func fabricNameProblem(w *world.World, name string, self *world.Fabric) string {
	id := -1
	if self != nil {
		id = self.ID
	}
	isTaken := slices.ContainsFunc(w.Fabrics, func(f *world.Fabric) bool { return f.Name == name && f != self })
	return groupNameProblem("fabric", name, id, isTaken)
}

// createFabric makes a fabric with its default VLAN.
func createFabric(c *request.Call) rest.Reply {
	name := c.Field("name")
	if problem := fabricNameProblem(c.World, name, nil); problem != "" {
		return rest.BadFieldReply("name", problem)
	}
	f := world.NewFabric(c.World, name)
	f.ClassType = c.Field("class_type")
	c.World.Fabrics = append(c.World.Fabrics, f)
	addVLAN(c.World, f)
	return rest.OKReply(viewFabric(f, c.World))
}

// addVLAN gives a fabric its default VLAN.
func addVLAN(w *world.World, f *world.Fabric) *world.VLAN {
	v := &world.VLAN{ID: w.NextID("vlan"), MTU: world.DefaultMTU, Name: "Default VLAN", Fabric: f}
	w.VLANs = append(w.VLANs, v)
	return v
}

func updateFabric(c *request.Call, f *world.Fabric) rest.Reply {
	if problem := fabricNameProblem(c.World, c.Field("name"), f); problem != "" {
		return rest.BadFieldReply("name", problem)
	}
	if c.HasField("name") {
		f.Name = c.Field("name")
		if f.Name == "" {
			f.Name = fmt.Sprintf("fabric-%d", f.ID)
		}
	}
	if c.HasField("class_type") {
		f.ClassType = c.Field("class_type")
	}
	return rest.OKReply(viewFabric(f, c.World))
}

// deleteFabric refuses to delete the default fabric, and fabrics with subnets or
// interfaces (models/fabric.py, delete).
func deleteFabric(c *request.Call, f *world.Fabric) rest.Reply {
	w := c.World
	var subnets, interfaces []string
	for _, v := range world.VLANsOf(w, f) {
		for _, n := range world.SubnetsOn(w, v) {
			subnets = append(subnets, n.CIDR.String())
		}
		world.VisitInterfacesOn(w, v, func(m *world.Machine, n *world.NIC) {
			interfaces = append(interfaces, fmt.Sprintf("%s (%s) on %s", n.Name, n.Kind, m.Hostname))
		})
	}
	switch {
	case f.ID == 0:
		return rest.BadTextReply("This fabric is the default fabric, it cannot be deleted.")
	case len(subnets) > 0:
		return rest.BadTextReply("Can't delete fabric; the following subnets are still present: " + strings.Join(subnets, ", "))
	case len(interfaces) > 0:
		return rest.BadTextReply("Can't delete fabric; the following interfaces are still connected: " + strings.Join(interfaces, ", "))
	}
	w.VLANs = slices.DeleteFunc(w.VLANs, func(v *world.VLAN) bool { return v.Fabric == f })
	w.Fabrics = slices.DeleteFunc(w.Fabrics, func(other *world.Fabric) bool { return other == f })
	return rest.DeletedReply()
}
