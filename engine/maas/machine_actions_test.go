package maas

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

func TestMachineActions(t *testing.T) {
	t.Parallel()
	name, empty := "web2", ""
	cases := map[string]struct {
		reason string
		do     func(context.Context, *Client) error
		route  string
		form   string
	}{
		"Commission": {"Hardware tests of a VM are a waste.",
			func(ctx context.Context, c *Client) error { return c.Machines.Commission(ctx, "abc123") },
			"POST machines/abc123/?op=commission", "testing_scripts=none"},
		"DeployDefault": {"MAAS has defaults for all.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.Deploy(ctx, "abc123", engine.Deployment{})
			},
			"POST machines/abc123/?op=deploy", ""},
		"Deploy": {"User-data goes as base64.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.Deploy(ctx, "abc123", engine.Deployment{Image: "ubuntu/noble", Kernel: "ga-24.04", UserData: []byte("\xff\x00>"), Ephemeral: true})
			},
			"POST machines/abc123/?op=deploy", "distro_series=ubuntu/noble&ephemeral_deploy=true&hwe_kernel=ga-24.04&user_data=/wA+"},
		"Release": {"Disks are not erased, and nothing is forced.",
			func(ctx context.Context, c *Client) error { return c.Machines.Release(ctx, "abc123", engine.EraseNone) },
			"POST machines/abc123/?op=release", "erase=false"},
		"Abort": {"No parameters.",
			func(ctx context.Context, c *Client) error { return c.Machines.Abort(ctx, "abc123") },
			"POST machines/abc123/?op=abort", ""},
		"RescueMode": {"No parameters.",
			func(ctx context.Context, c *Client) error { return c.Machines.EnterRescueMode(ctx, "abc123") },
			"POST machines/abc123/?op=rescue_mode", ""},
		"ExitRescueMode": {"No parameters.",
			func(ctx context.Context, c *Client) error { return c.Machines.ExitRescueMode(ctx, "abc123") },
			"POST machines/abc123/?op=exit_rescue_mode", ""},
		"PowerOff": {"No parameters: MAAS's way is to stop at once.",
			func(ctx context.Context, c *Client) error { return c.Machines.PowerOff(ctx, "abc123") },
			"POST machines/abc123/?op=power_off", ""},
		"PowerOn": {"No parameters: user-data is of the first boot.",
			func(ctx context.Context, c *Client) error { return c.Machines.PowerOn(ctx, "abc123") },
			"POST machines/abc123/?op=power_on", ""},
		"Lock": {"No parameters.",
			func(ctx context.Context, c *Client) error { return c.Machines.Lock(ctx, "abc123") },
			"POST machines/abc123/?op=lock", ""},
		"Unlock": {"No parameters.",
			func(ctx context.Context, c *Client) error { return c.Machines.Unlock(ctx, "abc123") },
			"POST machines/abc123/?op=unlock", ""},
		"Update": {"Only what is given, even if it is empty.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.Update(ctx, "abc123", engine.MachineUpdate{Hostname: &name, Description: &empty})
			},
			"PUT machines/abc123/", "description=&hostname=web2"},
		"UpdatePlace": {"Names, where compose wants numbers.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.Update(ctx, "abc123", engine.MachineUpdate{Zone: &name, Pool: &name, Domain: &name})
			},
			"PUT machines/abc123/", "domain=web2&pool=web2&zone=web2"},
		"Link": {"The subnet by number; other links give way.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.SetInterfaceAddress(ctx, "abc123", 77, engine.Subnet{ID: 1, CIDR: "10.77.0.0/24"}, "10.77.0.20")
			},
			"POST nodes/abc123/interfaces/77/?op=link_subnet", "force=true&ip_address=10.77.0.20&mode=STATIC&subnet=1"},
		"LinkAuto": {"Without an address MAAS chooses one when it deploys.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.SetInterfaceAddress(ctx, "abc123", 77, engine.Subnet{ID: 1, CIDR: "10.77.0.0/24"}, "")
			},
			"POST nodes/abc123/interfaces/77/?op=link_subnet", "force=true&mode=AUTO&subnet=1"},
		"Allocate": {"This machine and no other.",
			func(ctx context.Context, c *Client) error { return c.Machines.Allocate(ctx, "abc123", "fleet-1") },
			"POST machines/?op=allocate", "agent_name=fleet-1&system_id=abc123"},
		"Annotate": {"Each key is a parameter; empty ones go.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.Annotate(ctx, "abc123", map[string]string{"role": "db", "old": ""})
			},
			"POST machines/abc123/?op=set_owner_data", "old=&role=db"},
		"CreateBridge": {"On one interface.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.CreateBridge(ctx, "abc123", 77, "br-123456789012")
			},
			"POST nodes/abc123/interfaces/?op=create_bridge", "name=br-123456789012&parent=77"},
		"CreateBond": {"Of several interfaces.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.CreateChild(ctx, "abc123", engine.ChildInterfaceRequest{Kind: engine.ChildBond, Name: "bond0", Parents: []int{77, 78}, MTU: 9000, Bond: engine.BondMode{Mode: "802.3ad", LACPRate: "slow", HashPolicy: "layer3+4"}})
			},
			"POST nodes/abc123/interfaces/?op=create_bond", "bond_lacp_rate=slow&bond_mode=802.3ad&bond_xmit_hash_policy=layer3+4&mtu=9000&name=bond0&parents=77&parents=78"},
		"CreateVLAN": {"On one interface.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.CreateChild(ctx, "abc123", engine.ChildInterfaceRequest{Kind: engine.ChildVLAN, Name: "bond0.5", Parents: []int{77}, VLAN: 12})
			},
			"POST nodes/abc123/interfaces/?op=create_vlan", "name=bond0.5&parent=77&vlan=12"},
		"DeleteInterface": {"By its number.",
			func(ctx context.Context, c *Client) error { return c.Machines.DeleteInterface(ctx, "abc123", 77) },
			"DELETE nodes/abc123/interfaces/77/", ""},
		"ClearMTU": {"An empty MTU means that there is none.",
			func(ctx context.Context, c *Client) error { return c.Machines.SetMTU(ctx, "abc123", 77, 0) },
			"PUT nodes/abc123/interfaces/77/", "mtu="},
		"LinkTo": {"In the place of other links.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.LinkInterface(ctx, "abc123", 77, engine.LinkRequest{Mode: "static", Subnet: engine.Subnet{ID: 1}, IP: "10.0.0.5", DefaultGateway: true})
			},
			"POST nodes/abc123/interfaces/77/?op=link_subnet", "default_gateway=true&force=true&ip_address=10.0.0.5&mode=STATIC&subnet=1"},
		"LinkBeside": {"A second link.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.LinkInterface(ctx, "abc123", 77, engine.LinkRequest{Mode: "auto", Subnet: engine.Subnet{ID: 2}, KeepOthers: true})
			},
			"POST nodes/abc123/interfaces/77/?op=link_subnet", "mode=AUTO&subnet=2"},
		"LinkUp": {"Without a subnet.",
			func(ctx context.Context, c *Client) error {
				return c.Machines.LinkInterface(ctx, "abc123", 77, engine.LinkRequest{Mode: "link_up"})
			},
			"POST nodes/abc123/interfaces/77/?op=link_subnet", "force=true&mode=LINK_UP"},
		"Untag": {"By the tag, not by the machine.",
			func(ctx context.Context, c *Client) error { return c.Machines.Untag(ctx, "abc123", "blue") },
			"POST tags/blue/?op=update_nodes", "remove=abc123"},
		"Decompose": {"Without parameters.",
			func(ctx context.Context, c *Client) error { return c.Hosts.Decompose(ctx, "abc123") },
			"DELETE machines/abc123/", ""},
		"Sync": {"By the host's number.",
			func(ctx context.Context, c *Client) error { return c.Hosts.SyncHost(ctx, engine.VMHost{ID: 8}, "") },
			"POST vm-hosts/8/?op=refresh", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", "{}")
			if err := tc.do(t.Context(), testClient(t, f)); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff([]string{tc.route}, f.routes()); diff != "" {
				t.Fatalf("%s: requests (-want +got):\n%s", tc.reason, diff)
			}
			form, err := url.QueryUnescape(f.requests()[0].Form.Encode())
			if diff := cmp.Diff(tc.form, form); diff != "" || err != nil {
				t.Errorf("%s: form (-want +got), %v:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestUpdateOfNothingCallsNothing(t *testing.T) {
	t.Parallel()
	f := newConstantFake(500, "text/plain", "")
	if err := testClient(t, f).Machines.Update(t.Context(), "abc123", engine.MachineUpdate{}); err != nil || len(f.requests()) != 0 {
		t.Errorf("got %v after %v", err, f.routes())
	}
}

func TestLargeUserDataArrivesWhole(t *testing.T) {
	t.Parallel()
	f := newConstantFake(200, "application/json", "{}")
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * 7)
	}
	if err := testClient(t, f).Machines.Deploy(t.Context(), "abc123", engine.Deployment{UserData: data}); err != nil {
		t.Fatal(err)
	}
	got, err := base64.StdEncoding.DecodeString(f.requests()[0].Form.Get("user_data"))
	if err != nil || string(got) != string(data) {
		t.Errorf("%d of %d bytes arrived, %v", len(got), len(data), err)
	}
}

func TestLinkOfATakenAddress(t *testing.T) {
	t.Parallel()
	f := newConstantFake(404, "text/plain; charset=utf-8", "The IP address 10.77.0.20 is already in use.")
	err := testClient(t, f).Machines.SetInterfaceAddress(t.Context(), "abc123", 77, engine.Subnet{ID: 1, CIDR: "10.77.0.0/24"}, "10.77.0.20")
	if errorKinds(err) != "ErrConflict" {
		t.Errorf("got %v (%s), want ErrConflict alone", err, errorKinds(err))
	}
	f = newConstantFake(404, "text/plain; charset=utf-8", "No Interface matches the given query.")
	err = testClient(t, f).Machines.SetInterfaceAddress(t.Context(), "abc123", 77, engine.Subnet{ID: 1, CIDR: "10.77.0.0/24"}, "")
	if errorKinds(err) != "ErrNotFound" {
		t.Errorf("without an address: got %v (%s), want ErrNotFound alone", err, errorKinds(err))
	}
}

func TestQueryPower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newConstantFake(200, "application/json", `{"state":"error"}`)
		c := testClient(t, f)
		for range 2 {
			if state, err := c.Machines.QueryPower(t.Context(), "abc123"); err != nil || state != "error" {
				t.Errorf("got %q, %v", state, err)
			}
		}
		want := []string{"GET machines/abc123/?op=query_power_state", "GET machines/abc123/?op=query_power_state"}
		if diff := cmp.Diff(want, f.routes()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

func TestTagMachine(t *testing.T) {
	t.Parallel()
	const add, create, look = "POST tags/blue/?op=update_nodes", "POST tags/", "GET machines/"
	added := jsonReply(map[string]int{"added": 1, "removed": 0})
	none := jsonReply(map[string]int{"added": 0, "removed": 0})
	missing := statusReply(404, "text/plain", "No Tag matches the given query.")
	created := jsonReply(map[string]string{"name": "blue"})
	exists := statusReply(400, "application/json", `{"name":["Tag with this Name already exists."]}`)
	there := jsonReply([]map[string]string{{"system_id": "abc123"}})
	gone := jsonReply([]map[string]string{})
	cases := map[string]struct {
		reason  string
		answers []func() *http.Response // of adding, in order
		create  func() *http.Response
		look    func() *http.Response
		calls   int
		want    string
	}{
		"There":      {"One call when the tag exists.", []func() *http.Response{added}, nil, nil, 1, ""},
		"New":        {"The first of its name makes it.", []func() *http.Response{missing, added}, created, nil, 3, ""},
		"Raced":      {"Another client was faster.", []func() *http.Response{missing, added}, exists, nil, 3, ""},
		"BadName":    {"MAAS refuses the name.", []func() *http.Response{missing, missing}, exists, nil, 3, "ErrInvalid"},
		"Vanished":   {"Somebody deletes what we make.", []func() *http.Response{missing, missing}, created, nil, 3, "ErrNotFound"},
		"Forbidden":  {"Making tags is an administrator's right.", []func() *http.Response{missing}, statusReply(403, "text/plain", "x"), nil, 2, "ErrForbidden"},
		"NoMachine":  {"MAAS ignores ids that it does not know.", []func() *http.Response{none}, nil, gone, 3, "ErrNotFound"},
		"HadItSince": {"A count of none is no proof of absence.", []func() *http.Response{none}, nil, there, 2, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newRouteFake(map[string]func() *http.Response{create: tc.create, look: tc.look, add: func() *http.Response {
					next := tc.answers[0]
					tc.answers = tc.answers[1:]
					return next()
				}})
				err := testClient(t, f).Machines.Tag(t.Context(), "abc123", "blue")
				if errorKinds(err) != tc.want || (err == nil) != (tc.want == "") || len(f.requests()) != tc.calls {
					t.Errorf("%s: got %v after %v", tc.reason, err, f.routes())
				}
			})
		})
	}
}

func TestUntagWhatIsNotThere(t *testing.T) {
	t.Parallel()
	c := testClient(t, newConstantFake(404, "text/plain", "No Tag matches the given query."))
	if err := c.Machines.Untag(t.Context(), "abc123", "blue"); err != nil {
		t.Error(err)
	}
	c = testClient(t, newConstantFake(404, "text/html", "x"))
	if err := c.Machines.Untag(t.Context(), "abc123", "blue"); errorKinds(err) != "ErrUnavailable" {
		t.Errorf("a proxy's 404: got %v", err)
	}
}
