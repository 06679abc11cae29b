package acctest_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addressInLAN is the nth address of the subnet "lan".
func (x *target) addressInLAN(t *testing.T, n byte) string {
	t.Helper()
	prefix, err := netip.ParsePrefix(x.lanSubnet(t).CIDR)
	if err != nil {
		t.Fatal(err)
	}
	address := prefix.Masked().Addr().As4()
	address[3] += n
	return netip.AddrFrom4(address).String()
}

// setLANGateway gives the subnet "lan" a gateway.
func (x *target) setLANGateway(t *testing.T) {
	t.Helper()
	x.callAsOperator(t, "PUT", fmt.Sprintf("subnets/%d/", x.lanSubnet(t).ID), nil, "gateway_ip="+x.addressInLAN(t, 1))
}

// readAddresses are a machine's interfaces that have an address or an MTU of
// their own: "static lan 10.77.0.30, MTU 1400". The one with the link of the
// machine's default gateway says so.
func (x *target) readAddresses(t *testing.T, hostname string) map[string]string {
	t.Helper()
	var machine struct {
		Gateways struct {
			IPv4 struct {
				Link int `json:"link_id"`
			} `json:"ipv4"`
		} `json:"default_gateways"`
		Interfaces []struct {
			Name   string `json:"name"`
			Params struct {
				MTU int `json:"mtu"`
			} `json:"params"`
			Links []struct {
				ID     int    `json:"id"`
				Mode   string `json:"mode"`
				IP     string `json:"ip_address"`
				Subnet struct {
					Name string `json:"name"`
				} `json:"subnet"`
			} `json:"links"`
		} `json:"interface_set"`
	}
	x.callAsOperator(t, "GET", "machines/"+x.findMachine(t, hostname).SystemID+"/", &machine)
	all := map[string]string{}
	for _, n := range machine.Interfaces {
		var parts []string
		for _, l := range n.Links {
			if l.Mode == "link_up" {
				continue
			}
			if l.Mode == "dhcp" {
				l.IP = "" // the server chooses it
			}
			parts = append(parts, strings.TrimRight(l.Mode+" "+l.Subnet.Name+" "+l.IP, " "))
			if l.ID == machine.Gateways.IPv4.Link {
				parts = append(parts, "gateway")
			}
		}
		if n.Params.MTU != 0 {
			parts = append(parts, fmt.Sprintf("MTU %d", n.Params.MTU))
		}
		if parts != nil {
			all[n.Name] = strings.Join(parts, ", ")
		}
	}
	return all
}

// TestAccWorkflowHostLinks gives the bond, the VLAN interface and the bridges
// of a host addresses, a gateway and an MTU. Another address replaces the host.
// Without the lines the host keeps its network. A destroy restores the NICs.
func TestAccWorkflowHostLinks(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		network string            // FIRST, SECOND and THIRD are addresses in lan
		lxd     string            // where LXD listens, if that is not everywhere
		want    map[string]string // once the host is registered
	}{
		"Bond": {
			network: `bonds   = { bond0 = { interfaces = ["eth1"], links = [{ mode = "static", subnet = "lan", ip = "FIRST", default_gateway = true }] } }
    bridges = { br0 = { parent = "eth0", mtu = 1400, links = [{ mode = "static", subnet = "lan", ip = "SECOND" }] } }`,
			want: map[string]string{"bond0": "static lan FIRST, gateway", "br0": "static lan SECOND, MTU 1400", "eth0": "MTU 1400"},
		},
		"VLAN": {
			network: `vlans   = { "eth1.100" = { parent = "eth1", vlan = 100, mtu = 1450, links = [{ mode = "static", subnet = "tagged", ip = "10.90.0.9", default_gateway = true }] } }
    bridges = { br0 = { parent = "eth0", links = [{ mode = "static", subnet = "lan", ip = "FIRST", default_gateway = false }] } }`,
			lxd:  `lxd = { listen_address = "FIRST" }`,
			want: map[string]string{"eth1.100": "static tagged 10.90.0.9, gateway, MTU 1450", "br0": "static lan FIRST", "eth1": "MTU 1450"},
		},
		"Bridges": {
			network: `bridges = {
      br0 = { parent = "eth0", links = [{ mode = "dhcp", subnet = "lan" }] }
      br1 = { parent = "eth1", links = [{ mode = "static", subnet = "lan", ip = "FIRST", default_gateway = true }] }
    }`,
			want: map[string]string{"br0": "dhcp lan", "br1": "static lan FIRST, gateway"},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, addSecondNICs)
			x.makeTaggedSubnet(t)
			x.setLANGateway(t)
			addresses := strings.NewReplacer("FIRST", x.addressInLAN(t, 30), "SECOND", x.addressInLAN(t, 31), "THIRD", x.addressInLAN(t, 32))
			for name, text := range tc.want {
				tc.want[name] = addresses.Replace(text)
			}
			before := x.readAddresses(t, "node1")
			with := func(network string) string {
				return x.config(hostOnNode1(addresses.Replace("network = {\n    "+network+"\n  }"), addresses.Replace(tc.lxd)))
			}
			w := newWorkspace(t, with(tc.network))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
			if diff := cmp.Diff(tc.want, x.readAddresses(t, "node1")); diff != "" {
				t.Errorf("the interfaces (-want +got):\n%s", diff)
			}
			w.configure(t, with(strings.Replace(tc.network, `ip = "FIRST"`, `ip = "THIRD"`, 1)))
			if got := joinActions(w.planActionsOn(t, hostAddress)); got != "delete,create" {
				t.Errorf("another address is %s, and not a replacement", got)
			}
			w.configure(t, x.config(hostOnNode1(addresses.Replace(tc.lxd))))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
			if diff := cmp.Diff(tc.want, x.readAddresses(t, "node1")); diff != "" {
				t.Errorf("without the lines (-want +got):\n%s", diff)
			}
			if n, counted := x.countDeployments(); counted && n != 1 {
				t.Errorf("it was deployed %d times", n)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if diff := cmp.Diff(before, x.readAddresses(t, "node1")); diff != "" {
				t.Errorf("given back (-want +got):\n%s", diff)
			}
		})
	}
}
