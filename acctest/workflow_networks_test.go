package acctest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seenLink is an interface's link as MAAS shows it, without what MAAS chooses
// itself.
type seenLink struct{ Mode, Subnet, IP string }

// readLinks are the links of a machine's interfaces, in the order of their ids.
// It leaves out addresses other than the fixed ones.
func (x *target) readLinks(t *testing.T, name string, fixed ...string) (links [][]seenLink) {
	t.Helper()
	var m struct {
		Interfaces []struct {
			Links []struct {
				Mode   string `json:"mode"`
				IP     string `json:"ip_address"`
				Subnet struct {
					Name string `json:"name"`
				} `json:"subnet"`
			} `json:"links"`
		} `json:"interface_set"`
	}
	if err := json.Unmarshal(x.callMAAS(t, http.MethodGet, "machines/"+x.findMachine(t, name).SystemID+"/", ""), &m); err != nil {
		t.Fatal(err)
	}
	for _, i := range m.Interfaces {
		var seen []seenLink
		for _, l := range i.Links {
			if !slices.Contains(fixed, l.IP) {
				l.IP = ""
			}
			seen = append(seen, seenLink{l.Mode, l.Subnet.Name, l.IP})
		}
		links = append(links, seen)
	}
	return links
}

// addIPv6Subnet puts a subnet's VLAN into a space, and adds an IPv6 subnet to
// it. It returns the name of its fabric.
func (x *target) addIPv6Subnet(t *testing.T, subnet, space, second, cidr string) (fabric string) {
	t.Helper()
	var subnets []struct {
		Name string `json:"name"`
		VLAN struct {
			ID     int    `json:"id"`
			Fabric string `json:"fabric"`
		} `json:"vlan"`
	}
	if err := json.Unmarshal(x.callMAAS(t, http.MethodGet, "subnets/", ""), &subnets); err != nil {
		t.Fatal(err)
	}
	x.postForm(t, "spaces/", url.Values{"name": {space}})
	for _, s := range subnets {
		if s.Name == subnet {
			id := strconv.Itoa(s.VLAN.ID)
			x.callMAAS(t, http.MethodPut, "vlans/"+id+"/", url.Values{"space": {space}}.Encode())
			x.postForm(t, "subnets/", url.Values{"name": {second}, "cidr": {cidr}, "vlan": {id}})
			return s.VLAN.Fabric
		}
	}
	t.Fatalf("MAAS has no subnet %s", subnet)
	return ""
}

// TestAccWorkflowNetworks chooses the networks of a VM by space, fabric and
// VLAN. One interface gets a second address of IPv6, and another one none. A
// typo leaves the VM unchanged.
func TestAccWorkflowNetworks(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	fabric := x.addIPv6Subnet(t, "lan", "dmz", "lan6", "fd00:77::/64")
	const name = "web"
	const v6 = "fd00:77::10"
	second := fmt.Sprintf(`addresses = [{ subnet = "lan6", ip = %q }]`, v6)
	vm := func(eth0, eth1 string) string {
		return x.config(x.vm(name, fmt.Sprintf(`interfaces = { eth0 = { %s }, eth1 = { %s } }`, eth0, eth1), x.deploy()))
	}
	const dark = `subnet = "dark", mode = "link_up"`
	w := newWorkspace(t, vm(`space = "dmz", `+second, dark))
	applied := func(want [][]seenLink) {
		t.Helper()
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.run(t, "plan", "-detailed-exitcode", "-no-color")
		if diff := cmp.Diff(want, x.readLinks(t, name, v6)); diff != "" {
			t.Errorf("links (-want +got):\n%s", diff)
		}
	}
	planned := func(eth0, eth1, action string) {
		t.Helper()
		w.configure(t, vm(eth0, eth1))
		if got := joinActions(w.planActions(t)); got != action {
			t.Errorf("the plan of %s and %s wants %s, not %s", eth0, eth1, got, action)
		}
	}
	up := []seenLink{{"link_up", "", ""}} // as commissioning leaves it
	applied([][]seenLink{{{"auto", "lan", ""}, {"static", "lan6", v6}}, up})
	made := x.findMachine(t, name)
	planned(fmt.Sprintf(`vlan = 0, fabric = %q, mode = "auto", `, fabric)+second, dark, "update")
	applied([][]seenLink{{{"auto", "lan", ""}, {"static", "lan6", v6}}, up})
	for typo, want := range map[string]string{
		`subnet = "lon"`:                 `MAAS knows no subnet "lon" Known: lan (10.77.0.0/24), dark (10.78.0.0/24), lan6 (fd00:77::/64)`,
		`subnet = "LAN"`:                 `MAAS knows no subnet "LAN" Did you mean "lan"`,
		`fabric = "fabrik"`:              `MAAS knows no fabric "fabrik" Known: ` + fabric,
		`space = "DMZ"`:                  `MAAS knows no space "DMZ" Did you mean "dmz"`,
		`vlan = 4000`:                    `MAAS knows no VLAN "4000" Known: 0`,
		`subnet = "dark", space = "dmz"`: `subnet dark is not in space dmz`,
		`vlan = 0`:                       `subnets are on VLAN 0 Name one by subnet`, // the removed lines no longer count
		`subnet = "lan", addresses = [{ subnet = "dark" }]`:               `addresses is on another VLAN than 10.77.0.0/24`,
		`subnet = "lan", mode = "dhcp", addresses = [{ subnet = "lan" }]`: `an interface with DHCP cannot have another address of the same family`,
	} {
		w.configure(t, vm(typo, dark))
		w.wantRefusedPlan(t, "Cannot replace VM web "+want)
	}
	if m := x.findMachine(t, name); m.SystemID != made.SystemID {
		t.Errorf("the VM is another one now: %+v", m)
	}
	planned(`subnet = "lan", mode = "dhcp", `+second, dark, "delete,create")
	applied([][]seenLink{{{"dhcp", "lan", ""}, {"static", "lan6", v6}}, up})
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowNetworksContradict reports each contradiction before MAAS is
// called.
func TestAccWorkflowNetworksContradict(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	cases := map[string]struct{ reason, eth0, want string }{
		"NoNetwork":     {"An interface needs a subnet, a space, a fabric or a VLAN.", `mode = "auto"`, `eth0 names no network Give a subnet`},
		"UnknownMode":   {"MAAS has four modes.", `subnet = "lan", mode = "bootp"`, `mode value must be one of "auto" "dhcp" "static" "link_up"`},
		"DHCPWithIP":    {"DHCP gives the address, so it cannot be fixed.", `subnet = "lan", mode = "dhcp", ip = "10.77.0.42"`, `mode dhcp has no fixed address, but 10.77.0.42 is given`},
		"UpWithMore":    {"An interface with the mode link_up has no addresses.", `subnet = "lan", mode = "link_up", addresses = [{ subnet = "lan" }]`, `is only up has no addresses`},
		"NothingIsOn":   {"MAAS deploys no VM without an address.", `subnet = "lan", mode = "link_up"`, `no interface gets an address`},
		"AddressTwice":  {"Two links cannot share an address.", `subnet = "lan", ip = "10.77.0.42", addresses = [{ subnet = "lan", ip = "10.77.0.42" }]`, `10.77.0.42 is the address of eth0 already`},
		"NoAddresses":   {"An empty list is probably a mistake.", `subnet = "lan", addresses = []`, `addresses list must contain at least 1`},
		"HugeVLAN":      {"The highest VLAN is 4094.", `vlan = 4095`, `vlan value must be between 0 and 4094`},
		"EmptySpace":    {"An empty name names no space.", `space = ""`, `space It is empty`},
		"AddressSlip":   {"The text is not an IP address.", `subnet = "lan", addresses = [{ subnet = "lan", ip = "ten" }]`, `not an IP address`},
		"NoSubnetThere": {"A further address needs a subnet.", `subnet = "lan", addresses = [{ ip = "10.77.0.42" }]`, `attribute "subnet" is required`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			w := newWorkspace(t, x.config(x.vm("web", fmt.Sprintf(`interfaces = { eth0 = { %s } }`, tc.eth0), x.deploy())))
			w.wantCommandFailure(t, tc.want, "plan", "-no-color")
		})
	}
}

// TestAccWorkflowSecondAddressMode gives an interface a second address of each
// mode. Another mode makes the VM anew. Without the line, the mode stays.
func TestAccWorkflowSecondAddressMode(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	x.addIPv6Subnet(t, "lan", "dmz", "lan6", "fd00:77::/64")
	vm := func(mode string) string {
		return x.config(x.vm("web", `interfaces = { eth0 = { subnet = "lan", addresses = [{ subnet = "lan6", `+mode+` }] } }`, x.deploy()))
	}
	w := newWorkspace(t, vm(`mode = "auto"`))
	for _, step := range []struct{ mode, action, seen string }{
		{`mode = "auto"`, "create", "auto"}, {`mode = "static"`, "delete,create", "static"}, {``, "update", "static"}, {`mode = "dhcp"`, "delete,create", "dhcp"},
	} {
		w.configure(t, vm(step.mode))
		if got := joinActions(w.planActions(t)); got != step.action {
			t.Errorf("the plan of %q wants %s, not %s", step.mode, got, step.action)
		}
		w.run(t, "apply", "-no-color", "actions")
		w.run(t, "plan", "-detailed-exitcode", "-no-color")
		if diff := cmp.Diff([][]seenLink{{{"auto", "lan", ""}, {step.seen, "lan6", ""}}}, x.readLinks(t, "web")); diff != "" {
			t.Errorf("links with %q (-want +got):\n%s", step.mode, diff)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
