package check_test

import (
	"context"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// newClient is a client of the site's MAAS.
func (x testSite) newClient(t *testing.T) *maas.Client {
	t.Helper()
	c, err := maas.New(maas.Config{URL: x.URL, APIKey: x.APIKey()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// onlyHost is the VM host, and the record that its machine ought to have.
func onlyHost(t *testing.T, c *maas.Client) (engine.VMHost, engine.HostRecord) {
	t.Helper()
	c.Names.Refresh(engine.ListHosts)
	hosts, err := c.Hosts.Hosts(t.Context())
	if err != nil || len(hosts) == 0 {
		t.Fatalf("%+v, %v", hosts, err)
	}
	h := hosts[0]
	e, err := c.Hosts.Endpoint(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return h, engine.HostRecord{
		Name: h.Name, Endpoint: e, Zone: h.Zone, Pool: h.Pool, Tags: h.Tags, DefaultStoragePool: h.DefaultPool(),
		CPUOvercommit: h.CPUOvercommit, MemoryOvercommit: h.MemoryOvercommit,
	}
}

// noteHostRecord makes the machine of the VM host say the record.
func noteHostRecord(t *testing.T, c *maas.Client, h engine.VMHost, record engine.HostRecord) {
	t.Helper()
	if err := c.Machines.Annotate(t.Context(), h.MachineID, record.OwnerData()); err != nil {
		t.Fatal(err)
	}
	if err := c.Machines.Tag(t.Context(), h.MachineID, engine.HostTag); err != nil {
		t.Fatal(err)
	}
}

// composeVM makes a VM with that description.
func composeVM(t *testing.T, c *maas.Client, h engine.VMHost, name, description string) {
	t.Helper()
	id, err := c.Hosts.Compose(t.Context(), h, engine.Composition{
		Hostname: name, Cores: 1, MemoryMiB: 1024, Architecture: "amd64/generic", Disks: []engine.Disk{{SizeGB: 8}},
		BeforeSend: func(ctx context.Context) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Machines.Update(t.Context(), id, engine.MachineUpdate{Description: &description}); err != nil {
		t.Fatal(err)
	}
}

// TestCheckUpgrade says what is lost, and writes nothing.
func TestCheckUpgrade(t *testing.T) {
	t.Parallel()
	const key = engine.Key("default/web")
	const asksLXD = "trusts the key pair for project maas"
	noted := func(change func(*engine.HostRecord)) func(*testing.T, testSite, *maas.Client) {
		return func(t *testing.T, _ testSite, c *maas.Client) {
			h, record := onlyHost(t, c)
			if change != nil {
				change(&record)
			}
			noteHostRecord(t, c, h, record)
		}
	}
	vm := func(description string) func(*testing.T, testSite, *maas.Client) {
		return func(t *testing.T, x testSite, c *maas.Client) {
			noted(nil)(t, x, c)
			h, _ := onlyHost(t, c)
			composeVM(t, c, h, "web", description)
			x.Settle()
		}
	}
	cases := map[string]struct {
		reason string
		model  func(*sim.Model)
		env    map[string]string
		first  func(*testing.T, testSite, *maas.Client)
		status int
		says   []string
	}{
		"Noted": {
			reason: "The machine of the host says all of it.", first: noted(nil),
			says: []string{
				"ok    VM host node1: its machine node1 (", "records all that MAAS would drop: zone default, pool default, over-commit 1 of cores and 1 of memory, project maas",
				"note  VM host node1: the certificate of its LXD is not recorded", "trusts the key pair for project maas", "ok    1 VM hosts and 0 VMs", "check upgrade: passed\n",
			},
		},
		"MadeInLXD": {
			reason: "The machine notes a host of which MAAS has no VM host.",
			model: func(m *sim.Model) {
				m.Machines = append(m.Machines, sim.MachineModel{Hostname: "inlxd", Status: "Deployed"})
			},
			first: func(t *testing.T, x testSite, c *maas.Client) {
				noted(nil)(t, x, c)
				h, record := onlyHost(t, c)
				found, err := c.Machines.MachinesNamed(t.Context(), "inlxd")
				if err != nil || len(found) != 1 {
					t.Fatalf("%+v, %v", found, err)
				}
				record.Name, h.MachineID = "inlxd", found[0].SystemID
				noteHostRecord(t, c, h, record)
			},
			says: []string{"ok    1 VM hosts and 0 VMs", "ok    VM host inlxd: machine inlxd (", "VM host inlxd: its LXD", asksLXD, "check upgrade: passed\n"},
		},
		"NothingNoted": {
			reason: "Registered by hand.", status: setting.CodeFailed,
			says: []string{"FAIL  VM host node1: MAAS would drop values that its machine node1 (", "the tag maaslxd-host; the address of the LXD", "Import it as a maaslxd_vm_host and apply. Or write the records by hand", asksLXD},
		},
		"NoTag": {
			reason: "Nobody finds it.", status: setting.CodeFailed,
			first: func(t *testing.T, _ testSite, c *maas.Client) {
				h, record := onlyHost(t, c)
				noteHostRecord(t, c, h, record)
				if err := c.Machines.Untag(t.Context(), h.MachineID, engine.HostTag); err != nil {
					t.Fatal(err)
				}
			},
			says: []string{"does not record: the tag maaslxd-host\n", asksLXD},
		},
		"Changed": {
			reason: "Somebody has changed it in MAAS since.", status: setting.CodeFailed,
			first: noted(func(r *engine.HostRecord) {
				r.CPUOvercommit, r.Zone, r.Tags, r.Address, r.DefaultStoragePool = 4, "az1", append(r.Tags, "blue"), "https://10.9.9.9:8443", ""
			}),
			says: []string{
				asksLXD, "Import it as a maaslxd_vm_host", "(recorded: https://10.9.9.9:8443)", "zone default (recorded: az1)", "over-commit of cores 1 (recorded: 4)", "default storage pool default (recorded: none)", "(recorded: blue",
			},
		},
		"ChangedOurs": {
			reason: "A configuration manages this VM host.", status: setting.CodeFailed,
			first: func(t *testing.T, x testSite, c *maas.Client) {
				noted(func(r *engine.HostRecord) { r.Zone = "az1" })(t, x, c)
				h, _ := onlyHost(t, c)
				if err := c.Machines.Annotate(t.Context(), h.MachineID, map[string]string{engine.KeyData: "default/vm-hosts/node1"}); err != nil {
					t.Fatal(err)
				}
			},
			says: []string{"zone default (recorded: az1)", "Change its maaslxd_vm_host, for example a tag, and apply", asksLXD},
		},
		"NothingNotedUntrusted": {
			reason: "Both faults of a host that was registered by hand show in one rehearsal.", status: setting.CodeFailed,
			first: func(t *testing.T, x testSite, _ *maas.Client) {
				if err := x.DistrustCertificate("node1", x.key.Certificate); err != nil {
					t.Fatal(err)
				}
			},
			says: []string{"does not record: the tag maaslxd-host", "does not trust the client certificate", "check upgrade: failed (2)"},
		},
		"NoPair": {
			reason: "Without the fleet's key pair, only a part can be checked.", first: noted(nil), env: map[string]string{"MAASLXD_LXD_CLIENT_CERT": "", "MAASLXD_LXD_CLIENT_KEY": ""},
			says: []string{"skip  no LXD server was asked", "--lxd-client-cert", "passed, with 1 skipped"},
		},
		"HalfAPair": {
			reason: "It is a mistake.", env: map[string]string{"MAASLXD_LXD_CLIENT_KEY": ""}, status: setting.CodeUsage,
			says: []string{"--lxd-client-cert: the key pair of the fleet is missing"},
		},
		"Untrusted": {
			reason: "Only MAAS may use the LXD until now.", status: setting.CodeFailed,
			first: func(t *testing.T, x testSite, c *maas.Client) {
				noted(nil)(t, x, c)
				if err := x.DistrustCertificate("node1", x.key.Certificate); err != nil {
					t.Fatal(err)
				}
			},
			says: []string{"does not trust the client certificate"},
		},
		"OtherServer": {
			reason: "The one that is noted must answer.", status: setting.CodeFailed,
			first: noted(nil), says: []string{"shows the certificate", "but is known by"},
		},
		"Finished": {
			reason: "A VM of ours.", first: vm(engine.DescriptionWithMark("", key, true)),
			says: []string{"ok    VM web (", `) on node1, of "default/web": MAAS would drop its host and the storage pools of its disks (default)`, "1 VM hosts and 1 VMs"},
		},
		"InProgress": {
			reason: "Nobody could tell where it is.", first: vm(engine.DescriptionWithMark("", key, false)), status: setting.CodeFailed,
			says: []string{`on node1 was begun for "default/web" and is not finished`, "Apply again until it is finished, or destroy it."},
		},
		"Stranger": {
			reason: "It stays a machine.", first: vm("by hand"), says: []string{"note  VM web (", "carries no mark"},
		},
		"Gone": {
			reason: "It is over.", first: func(t *testing.T, x testSite, c *maas.Client) {
				noted(nil)(t, x, c)
				if err := x.Upgrade(); err != nil {
					t.Fatal(err)
				}
			},
			says: []string{"note  this MAAS no longer has VM hosts", "ok    VM host node1: machine node1 (", "trusts the key pair"},
		},
		"GoneUnmarked": {
			reason: "Nobody recorded the VM host before the upgrade.", first: func(t *testing.T, x testSite, c *maas.Client) {
				if err := x.Upgrade(); err != nil {
					t.Fatal(err)
				}
			},
			says: []string{"skip  no machine has the tag maaslxd-host", "passed, with 1 skipped"},
		},
		"User": {
			reason: "Only an administrator sees the power parameters.", env: map[string]string{"MAAS_API_KEY": sim.DefaultUserKey}, status: setting.CodeFailed,
			says: []string{"is not an administrator"},
		},
		"NoMAAS": {reason: "Which one?", env: map[string]string{"MAAS_ENDPOINT": ""}, status: setting.CodeUsage, says: []string{"--maas-endpoint: it is missing"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTestSite(t, func(m *sim.Model) {
				registerHost(m)
				m.MAASVersion = sim.Version37
				if tc.model != nil {
					tc.model(m)
				}
			})
			c := x.newClient(t)
			if tc.first != nil {
				tc.first(t, x, c)
			}
			if name == "OtherServer" {
				h, _ := onlyHost(t, c)
				if err := c.Machines.Annotate(t.Context(), h.MachineID, engine.ServerNote(strings.Repeat("ab", 32))); err != nil {
					t.Fatal(err)
				}
			}
			x.ResetJournal()
			said, status := runCheck(t.Context(), x.withEnv(tc.env), "upgrade")
			wantOutput(t, said, status, tc.status, tc.says...)
			for _, call := range x.Journal().Calls {
				if !strings.HasPrefix(call.Route, "GET ") {
					t.Errorf("%s\n%s was sent", tc.reason, call.Route)
				}
			}
			if strings.Contains(said, "PRIVATE") || strings.Contains(said, x.APIKey()) {
				t.Error("it says a secret")
			}
		})
	}
}
