package network

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// vlanRoutes find a VLAN by its id, or by its fabric and VID.
var vlanRoutes = []request.Route{
	{Method: http.MethodGet, Path: "fabrics/{id}/vlans/", Handle: onFabric(listVLANs)},
	{Method: http.MethodPost, Path: "fabrics/{id}/vlans/", Handle: onFabric(createVLAN)},
	{Method: http.MethodGet, Path: "fabrics/{id}/vlans/{vid}/", Handle: onFabricVLAN(readVLAN)},
	{Method: http.MethodPut, Path: "fabrics/{id}/vlans/{vid}/", Handle: onFabricVLAN(updateVLAN)},
	{Method: http.MethodDelete, Path: "fabrics/{id}/vlans/{vid}/", Handle: onFabricVLAN(deleteVLAN)},
	{Method: http.MethodGet, Path: "vlans/{id}/", Handle: onVLAN(readVLAN)},
	{Method: http.MethodPut, Path: "vlans/{id}/", Handle: onVLAN(updateVLAN)},
	{Method: http.MethodDelete, Path: "vlans/{id}/", Handle: onVLAN(deleteVLAN)},
}

func onFabricVLAN(f func(*request.Call, *world.VLAN) rest.Reply) func(*request.Call) rest.Reply {
	return onFabric(func(c *request.Call, in *world.Fabric) rest.Reply {
		text := strings.TrimPrefix(c.Vars["vid"], "vid:")
		for _, v := range world.VLANsOf(c.World, in) {
			if strconv.Itoa(v.VID) == text || text == "untagged" && v.VID == 0 || v.Name == text {
				return f(c, v)
			}
		}
		return rest.NoObjectReply("VLAN")
	})
}

func onVLAN(f func(*request.Call, *world.VLAN) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		if _, wrong := rest.ReadID(c.Vars["id"]); wrong != nil {
			return *wrong
		}
		v := vlanWithID(c.World, c.Vars["id"])
		switch {
		case v == nil:
			bad := rest.NoObjectReply("VLAN")
			bad.Body = []byte("VLAN with specified ID does not exist.")
			return bad
		case c.Method != http.MethodGet && !c.User.Admin:
			return rest.ForbiddenReply()
		}
		return f(c, v)
	}
}

func vlanWithID(w *world.World, text string) *world.VLAN {
	for _, v := range w.VLANs {
		if strconv.Itoa(v.ID) == text {
			return v
		}
	}
	return nil
}

func listVLANs(c *request.Call, f *world.Fabric) rest.Reply {
	views := []rest.Object{}
	for _, v := range world.VLANsOf(c.World, f) {
		views = append(views, view.VLAN(v, c.World))
	}
	return rest.OKReply(views)
}

func readVLAN(c *request.Call, v *world.VLAN) rest.Reply { return rest.OKReply(view.VLAN(v, c.World)) }

func createVLAN(c *request.Call, f *world.Fabric) rest.Reply {
	v := &world.VLAN{MTU: world.DefaultMTU, Fabric: f, VID: -1}
	if bad := readVLANForm(c, v); bad != nil {
		return *bad
	}
	v.ID = c.World.NextID("vlan")
	c.World.VLANs = append(c.World.VLANs, v)
	return rest.OKReply(view.VLAN(v, c.World))
}

func updateVLAN(c *request.Call, v *world.VLAN) rest.Reply {
	changed := *v
	if bad := readVLANForm(c, &changed); bad != nil {
		return *bad
	}
	*v = changed
	return rest.OKReply(view.VLAN(v, c.World))
}

// Limits of a VLAN (models/vlan.py).
const (
	maxVID = 4094
	minMTU = 552 // Linux accepts no less
	maxMTU = 65535
)

// readVLANForm reads the fields of the form (forms/vlan.py).
func readVLANForm(c *request.Call, v *world.VLAN) *rest.Reply {
	errs := rest.FormErrors{}
	readVID(c, v, errs)
	readMTU(c, v, errs)
	if c.HasField("name") {
		v.Name = c.Field("name")
	}
	if text := c.Field("fabric"); text != "" {
		if f := findFabric(c.World, text); f != nil {
			v.Fabric = f
		} else {
			errs.Add("fabric", rest.InvalidChoice)
		}
	}
	readVLANSpace(c, v, errs)
	readDHCP(c, v, errs)
	isSame := func(other *world.VLAN) bool {
		return other.ID != v.ID && other.Fabric == v.Fabric && other.VID == v.VID
	}
	if len(errs) == 0 && slices.ContainsFunc(c.World.VLANs, isSame) {
		errs.Add("__all__", "A VLAN with the specified VID already exists in the destination fabric.")
	}
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadFormReply(errs)
	return &bad
}

func readVID(c *request.Call, v *world.VLAN, errs rest.FormErrors) {
	text := c.Field("vid")
	if text == "" {
		if v.VID < 0 {
			errs.Add("vid", rest.MsgRequired)
		}
		return
	}
	vid, err := strconv.Atoi(text)
	switch {
	case err != nil:
		errs.Add("vid", rest.MsgWhole)
	case vid < 0 || vid > maxVID:
		errs.Add("vid", "VID must be between 0 and 4094.")
	default:
		v.VID = vid
	}
}

func readMTU(c *request.Call, v *world.VLAN, errs rest.FormErrors) {
	text := c.Field("mtu")
	if text == "" {
		return
	}
	mtu, err := strconv.Atoi(text)
	switch {
	case err != nil:
		errs.Add("mtu", rest.MsgWhole)
	case mtu < minMTU:
		errs.Add("mtu", "Ensure this value is greater than or equal to 552.")
	case mtu > maxMTU:
		errs.Add("mtu", "MTU must be between 552 and 65535.")
	default:
		v.MTU = mtu
	}
}

func readVLANSpace(c *request.Call, v *world.VLAN, errs rest.FormErrors) {
	if !c.HasField("space") {
		return
	}
	text := c.Field("space")
	if text == "" || text == "undefined" {
		v.Space = nil
	} else if s := findSpace(c.World, text); s != nil {
		v.Space = s
	} else {
		errs.Add("space", rest.InvalidChoice)
	}
}

// readDHCP switches DHCP on only if the VLAN has a dynamic range and a rack controller to
// serve it. A VLAN with DHCP cannot relay to another one.
func readDHCP(c *request.Call, v *world.VLAN, errs rest.FormErrors) {
	if text := c.Field("relay_vlan"); text != "" {
		relay := vlanWithID(c.World, text)
		if relay == nil || relay.ID == v.ID || relay.Relay != nil || v.DHCP {
			errs.Add("relay_vlan", rest.InvalidChoice)
		} else {
			v.Relay = relay
		}
	} else if c.HasField("relay_vlan") {
		v.Relay = nil
	}
	if rack := c.Field("primary_rack"); rack != "" && rack != c.World.RackID && rack != world.RackHostname {
		errs.Add("primary_rack", rest.InvalidChoice)
	}
	if !c.HasField("dhcp_on") {
		return
	}
	isOn := rest.ReadBool(c.Field("dhcp_on"))
	isDynamic := func(r *world.IPRange) bool { return r.Kind == "dynamic" && r.Subnet.VLAN.ID == v.ID }
	switch {
	case !isOn:
	case !slices.ContainsFunc(c.World.IPRanges, isDynamic):
		errs.Add("dhcp_on", "dhcp can only be turned on when a dynamic IP range is defined.")
	case c.Field("primary_rack") == "" && !v.DHCP:
		errs.Add("__all__", "dhcp can only be turned on when a primary rack controller is set.")
	default:
		v.Relay = nil
	}
	v.DHCP = isOn
}

// deleteVLAN refuses to delete a fabric's default VLAN. Everything connected to the
// deleted VLAN moves to the default one.
func deleteVLAN(c *request.Call, v *world.VLAN) rest.Reply {
	w := c.World
	fallback := world.VLANsOf(w, v.Fabric)[0]
	if fallback == v {
		return rest.BadTextReply("This VLAN is the default VLAN in the fabric, it cannot be deleted.")
	}
	world.VisitInterfacesOn(w, v, func(_ *world.Machine, n *world.NIC) { n.VLAN = fallback })
	for _, n := range world.SubnetsOn(w, v) {
		n.VLAN = fallback
	}
	w.VLANs = slices.DeleteFunc(w.VLANs, func(other *world.VLAN) bool { return other == v })
	for _, other := range w.VLANs {
		if other.Relay == v {
			other.Relay = nil
		}
	}
	return rest.DeletedReply()
}
