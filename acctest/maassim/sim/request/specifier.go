package request

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// specifiers are the functions that select objects of a kind, by the prefix of a
// specifier. The empty prefix is for specifiers without one (maasserver/utils/orm.py,
// get_specifiers_q).
type specifiers[T any] map[string]func(w *world.World, value string) (choice[T], *rest.Reply)

// choice tells whether an object is selected.
type choice[T any] func(T) bool

// choose combines specifiers as MAAS does. Each adds objects to the selection. With & it
// limits the selection instead, and with ! or not_ it selects all other objects.
func (kinds specifiers[T]) choose(w *world.World, specs []string) (choice[T], *rest.Reply) {
	var chosen choice[T]
	for _, spec := range specs {
		spec, join := splitJoin(strings.TrimSpace(spec))
		kind, value, isSpecified := strings.Cut(spec, ":")
		if !isSpecified || kinds[kind] == nil {
			kind, value = "", spec
		}
		next, bad := kinds[kind](w, strings.TrimSpace(value))
		if bad != nil {
			return nil, bad
		}
		chosen = joinChoices(chosen, next, join)
	}
	if chosen == nil {
		chosen = func(T) bool { return true }
	}
	return chosen, nil
}

// splitJoin separates a specifier from the sign that tells how to combine it.
func splitJoin(spec string) (rest string, join byte) {
	for prefix, join := range map[string]byte{"|": '|', "&": '&', "!": '!', "not_": '!'} {
		if rest, has := strings.CutPrefix(spec, prefix); has {
			return rest, join
		}
	}
	return spec, '|'
}

func joinChoices[T any](chosen, next choice[T], join byte) choice[T] {
	switch {
	case chosen == nil && join == '!':
		return func(o T) bool { return !next(o) }
	case chosen == nil:
		return next
	case join == '&':
		return func(o T) bool { return chosen(o) && next(o) }
	case join == '!':
		return func(o T) bool { return chosen(o) && !next(o) }
	}
	return func(o T) bool { return chosen(o) || next(o) }
}

// allSpecifiers are the specifiers in one text, all of which must match.
func allSpecifiers(text string) (specs []string) {
	for spec := range strings.SplitSeq(text, ",") {
		specs = append(specs, "&"+strings.TrimSpace(spec))
	}
	return specs
}

// numberOrName reads a specifier of an object by its id, also as kind-id, or by its name
// (_add_default_query).
func numberOrName(kind, text string) (id int, isNumber bool) {
	for _, digits := range []string{text, strings.TrimPrefix(text, kind+"-")} {
		if id, err := strconv.ParseInt(digits, 0, 32); err == nil {
			return int(id), true
		}
	}
	return 0, false
}

// byText makes a specifier that compares one text.
func byText[T any](text func(T) string) func(*world.World, string) (choice[T], *rest.Reply) {
	return func(_ *world.World, value string) (choice[T], *rest.Reply) {
		return func(o T) bool { return text(o) == value }, nil
	}
}

// The specifiers of each kind (models/fabric.py, space.py, vlan.py, subnet.py and
// resourcepool.py, get_specifiers_q). They refer to each other, so init sets them.
var (
	fabricSpecifiers specifiers[*world.Fabric]
	vlanSpecifiers   specifiers[*world.VLAN]
	subnetSpecifiers specifiers[*world.Subnet]
)

func init() {
	fabricSpecifiers = specifiers[*world.Fabric]{
		"": byNumberOrName("fabric", func(f *world.Fabric) (int, string) { return f.ID, f.Name }), "name": byText(func(f *world.Fabric) string { return f.Name }),
		"class": byText(func(f *world.Fabric) string { return f.ClassType }),
	}
	vlanSpecifiers = specifiers[*world.VLAN]{
		"": vlanByVIDOrName, "id": byText(func(v *world.VLAN) string { return strconv.Itoa(v.ID) }), "name": byText(func(v *world.VLAN) string { return v.Name }),
		"vid": byVID(func(v *world.VLAN) *world.VLAN { return v }), "space": bySpace(func(v *world.VLAN) *world.VLAN { return v }),
		"fabric": byFabric(func(v *world.VLAN) *world.VLAN { return v }), "subnet": vlanBySubnet,
	}
	subnetSpecifiers = specifiers[*world.Subnet]{
		"": subnetByAny, "cidr": subnetByCIDR, "name": byText(func(n *world.Subnet) string { return n.Name }),
		"id": byText(func(n *world.Subnet) string { return strconv.Itoa(n.ID) }), "ip": subnetByAddress,
		"vid": byVID(vlanOfSubnet), "space": bySpace(vlanOfSubnet), "fabric": byFabric(vlanOfSubnet), "vlan": byVLAN(vlanOfSubnet),
	}
}

func vlanOfSubnet(n *world.Subnet) *world.VLAN { return n.VLAN }

func byNumberOrName[T any](kind string, known func(T) (int, string)) func(*world.World, string) (choice[T], *rest.Reply) {
	return func(_ *world.World, value string) (choice[T], *rest.Reply) {
		id, isNumber := numberOrName(kind, value)
		return func(o T) bool {
			have, name := known(o)
			return isNumber && have == id || !isNumber && name == value
		}, nil
	}
}

// readVID reads a VLAN's VID and checks its range as models/vlan.py does.
func readVID(text string) (int, *rest.Reply) {
	if strings.EqualFold(text, "untagged") {
		return 0, nil
	}
	vid, err := strconv.ParseInt(text, 0, 32)
	var bad rest.Reply
	switch {
	case err != nil:
		bad = rest.InternalErrorReply(fmt.Sprintf("invalid literal for int() with base 10: '%s'", text))
	case vid < 0 || vid >= 0xfff:
		bad = rest.BadModelReply(rest.FormErrors{"__all__": {"VLAN tag (VID) out of range (0-4094; 0 for untagged.)"}})
	default:
		return int(vid), nil
	}
	return 0, &bad
}

func vlanByVIDOrName(w *world.World, value string) (choice[*world.VLAN], *rest.Reply) {
	if _, err := strconv.ParseInt(value, 0, 32); err != nil && value != "untagged" {
		return func(v *world.VLAN) bool { return v.Name == value }, nil
	}
	return vlanSpecifiers["vid"](w, value)
}

func vlanBySubnet(w *world.World, value string) (choice[*world.VLAN], *rest.Reply) {
	chosen, bad := subnetSpecifiers.choose(w, allSpecifiers(value))
	return func(v *world.VLAN) bool { return slices.ContainsFunc(world.SubnetsOn(w, v), chosen) }, bad
}

func byVID[T any](vlan func(T) *world.VLAN) func(*world.World, string) (choice[T], *rest.Reply) {
	return func(_ *world.World, value string) (choice[T], *rest.Reply) {
		vid, bad := readVID(value)
		return func(o T) bool { v := vlan(o); return v != nil && v.VID == vid }, bad
	}
}

func byVLAN[T any](vlan func(T) *world.VLAN) func(*world.World, string) (choice[T], *rest.Reply) {
	return func(w *world.World, value string) (choice[T], *rest.Reply) {
		chosen, bad := vlanSpecifiers.choose(w, allSpecifiers(value))
		return func(o T) bool { v := vlan(o); return v != nil && chosen(v) }, bad
	}
}

func byFabric[T any](vlan func(T) *world.VLAN) func(*world.World, string) (choice[T], *rest.Reply) {
	return func(w *world.World, value string) (choice[T], *rest.Reply) {
		chosen, bad := fabricSpecifiers.choose(w, allSpecifiers(value))
		return func(o T) bool { v := vlan(o); return v != nil && chosen(v.Fabric) }, bad
	}
}

// bySpace needs an existing space or the undefined one.
func bySpace[T any](vlan func(T) *world.VLAN) func(*world.World, string) (choice[T], *rest.Reply) {
	return func(w *world.World, value string) (choice[T], *rest.Reply) {
		var wanted *world.Space
		if value != "undefined" {
			var bad *rest.Reply
			if wanted, bad = SpaceBySpecifier(w, value); bad != nil {
				return nil, bad
			}
		}
		return func(o T) bool { v := vlan(o); return v != nil && v.Space == wanted }, nil
	}
}

func subnetByAny(w *world.World, value string) (choice[*world.Subnet], *rest.Reply) {
	if id, isNumber := numberOrName("subnet", value); isNumber {
		return func(n *world.Subnet) bool { return n.ID == id }, nil
	}
	if _, err := netip.ParsePrefix(value); err == nil {
		return subnetByCIDR(w, value)
	}
	return func(n *world.Subnet) bool { return n.Name == value }, nil
}

func subnetByCIDR(_ *world.World, value string) (choice[*world.Subnet], *rest.Reply) {
	cidr, err := netip.ParsePrefix(value)
	if ip, isAddress := netip.ParseAddr(value); isAddress == nil {
		cidr, err = netip.PrefixFrom(ip, ip.BitLen()), nil // a network with one address
	}
	if err != nil {
		bad := rest.InternalErrorReply("invalid IPNetwork " + value)
		return nil, &bad
	}
	return func(n *world.Subnet) bool { return n.CIDR == cidr.Masked() }, nil
}

func subnetByAddress(_ *world.World, value string) (choice[*world.Subnet], *rest.Reply) {
	ip, err := netip.ParseAddr(value)
	if err != nil {
		bad := rest.InternalErrorReply(fmt.Sprintf("failed to detect a valid IP address from '%s'", value))
		return nil, &bad
	}
	return func(n *world.Subnet) bool { return n.CIDR.Contains(ip) }, nil
}

// exactlyOne is the only selected object. It returns an error if there are none or several
// (get_object_by_specifiers_or_raise).
func exactlyOne[T any](found []T, kind string) (T, *rest.Reply) {
	var none T
	switch len(found) {
	case 0:
		bad := rest.NoObjectReply(kind)
		return none, &bad
	case 1:
		return found[0], nil
	}
	bad := rest.ErrorReply(http.StatusForbidden, "Too many "+kind+" objects match the given query.")
	return none, &bad
}

// SubnetBySpecifier is the subnet that a specifier of a path or a form selects.
func SubnetBySpecifier(w *world.World, text string) (*world.Subnet, *rest.Reply) {
	found, bad := SubnetsBySpecifiers(w, allSpecifiers(text))
	if bad != nil {
		return nil, bad
	}
	return exactlyOne(found, "Subnet")
}

// SubnetsBySpecifiers are the subnets that any of the specifiers selects.
func SubnetsBySpecifiers(w *world.World, specs []string) ([]*world.Subnet, *rest.Reply) {
	return filterChosen(w, subnetSpecifiers, w.Subnets, specs)
}

// VLANsBySpecifiers are the VLANs that any of the specifiers selects.
func VLANsBySpecifiers(w *world.World, specs []string) ([]*world.VLAN, *rest.Reply) {
	return filterChosen(w, vlanSpecifiers, w.VLANs, specs)
}

func filterChosen[T any](w *world.World, kinds specifiers[T], all []T, specs []string) (found []T, bad *rest.Reply) {
	chosen, bad := kinds.choose(w, specs)
	if bad != nil {
		return nil, bad
	}
	return slices.DeleteFunc(slices.Clone(all), func(o T) bool { return !chosen(o) }), nil
}

// SpaceBySpecifier is the space that a specifier selects.
func SpaceBySpecifier(w *world.World, text string) (*world.Space, *rest.Reply) {
	known := specifiers[*world.Space]{
		"": byNumberOrName("space", func(s *world.Space) (int, string) { return s.ID, s.Name }), "name": byText(func(s *world.Space) string { return s.Name }),
	}
	found, bad := filterChosen(w, known, rest.SortedValues(w.Spaces), allSpecifiers(text))
	if bad != nil {
		return nil, bad
	}
	return exactlyOne(found, "Space")
}

// PoolBySpecifier is the resource pool that a specifier selects.
func PoolBySpecifier(w *world.World, text string) (*world.Pool, *rest.Reply) {
	known := specifiers[*world.Pool]{"": byNumberOrName("resourcepool", func(p *world.Pool) (int, string) { return p.ID, p.Name }), "name": byText(func(p *world.Pool) string { return p.Name })}
	found, bad := filterChosen(w, known, rest.SortedValues(w.Pools), allSpecifiers(text))
	if bad != nil {
		return nil, bad
	}
	return exactlyOne(found, "ResourcePool")
}
