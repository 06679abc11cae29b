package check_test

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/capi-bridge/check"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// testSite is a MAAS with the LXD of one node, which the fleet's pair opens.
type testSite struct {
	*sim.Server
	key fleetkey.Key
	env map[string]string
}

// newTestSite has an LXD with an empty project, which MAAS does not know.
func newTestSite(t *testing.T, change ...func(*sim.Model)) testSite {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m := sim.Model{
		Zones: []string{"az1"}, Pools: []string{"vms"}, LXDListen: sim.LXDListenAuto,
		Hosts: []sim.HostModel{{
			Name: "node1", Cores: 8, MemoryMiB: 16384, Project: "maas", Unregistered: true, TrustedCertificates: []string{key.Certificate},
		}},
	}
	for _, c := range change {
		c(&m)
	}
	x := testSite{Server: sim.StartServer(t, m), key: key}
	x.env = map[string]string{
		"MAAS_ENDPOINT": x.URL, "MAAS_API_KEY": x.APIKey(), "NODE_IP": x.LXDs()[0].Listening[0], "ZONE": "az1", "RESOURCE_POOL": "vms",
		"MAASLXD_LXD_CLIENT_CERT": key.Certificate, "MAASLXD_LXD_CLIENT_KEY": key.Key,
	}
	return x
}

// registerHost makes it one that MAAS knows.
func registerHost(m *sim.Model) { m.Hosts[0].Unregistered = false }

// runCheck runs a check, and returns what it said and its status.
func runCheck(ctx context.Context, env map[string]string, args ...string) (said string, status int) {
	var out bytes.Buffer
	err := check.Run(ctx, setting.Program{
		Name: "capi-bridge check", Args: args, Getenv: func(key string) string { return env[key] }, Stdout: &out, Stderr: &out, Version: "test",
	})
	status = setting.ExitCode(err, &out)
	return out.String(), status
}

// withEnv is the environment with changes; empty values take away.
func (x testSite) withEnv(change map[string]string) map[string]string {
	env := maps.Clone(x.env)
	maps.Copy(env, change)
	return env
}

// wantOutput fails unless the status is as wanted and the words are in the text.
func wantOutput(t *testing.T, said string, status, want int, words ...string) {
	t.Helper()
	if status != want {
		t.Errorf("status %d, want %d:\n%s", status, want, said)
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("want %q in:\n%s", word, said)
		}
	}
}

// listLeftovers is what a check may leave behind in MAAS and in LXD.
func (x testSite) listLeftovers() map[string]any {
	names := []string{}
	for _, m := range x.Machines() {
		names = append(names, m.Hostname)
	}
	all := map[string]any{"machines": names}
	for _, l := range x.LXDs() {
		all[l.Name] = []any{l.Projects, len(l.Trusted)}
	}
	return all
}

func TestVMHost(t *testing.T) {
	t.Parallel()
	x := newTestSite(t)
	before := x.listLeftovers()
	said, status := runCheck(t.Context(), x.env, "vm-host")
	wantOutput(t, said, status, 0, "ok    MAAS registered it, and knows LXD 5.21.3, 8 cores, 16384 MiB", "ok    MAAS has removed it again", "check vm-host: passed\n")
	if diff := cmp.Diff(before, x.listLeftovers()); diff != "" {
		t.Errorf("it left something behind: -before +after:\n%s", diff)
	}
	journal := x.Journal()
	if journal.Count("POST vm-hosts/") != 1 || journal.Count("DELETE vm-hosts/{id}/") != 1 {
		t.Errorf("got %+v", journal.Routes)
	}
	for _, c := range journal.Calls {
		if c.Route == "POST vm-hosts/" && (c.Form["zone"][0] != "az1" || c.Form["pool"][0] != "vms" || c.Form["project"][0] != "maas") {
			t.Errorf("it was registered as %v", c.Form)
		}
	}
	if strings.Contains(said, "PRIVATE") || strings.Contains(said, x.APIKey()) {
		t.Error("it says a secret")
	}
}

// TestVMHostFails says what is wrong, and leaves nothing behind.
func TestVMHostFails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		model  func(*sim.Model)
		env    map[string]string
		before func(t *testing.T, x testSite)
		status int
		says   []string
		never  bool // that it must not be registered
	}{
		"Unreachable": {
			reason: "Nothing listens there.", env: map[string]string{"NODE_IP": "127.0.0.1:1"}, never: true,
			status: setting.CodeFailed, says: []string{"FAIL  nothing listens at 127.0.0.1:1"},
		},
		"Untrusted": {
			reason: "LXD was not told of the pair.", model: func(m *sim.Model) { m.Hosts[0].TrustedCertificates = nil }, never: true,
			status: setting.CodeFailed, says: []string{"does not trust the client certificate", "lxc config trust add"},
		},
		"OnlyMAASCannot": {
			reason: "MAAS answers a registration with success, reached or not.",
			before: func(t *testing.T, x testSite) {
				x.AddFault(sim.Fault{Method: "POST", Path: "vm-hosts/*", Op: "refresh", Kind: sim.FaultStatus, Status: 503, Body: "Failed talking to pod: Error connecting to 10.0.0.5"})
				if err := x.SetRackCondition(sim.ConditionUnreachable); err != nil {
					t.Fatal(err)
				}
			},
			status: setting.CodeFailed, says: []string{"FAIL  MAAS has registered it but cannot use it", "MAAS has removed it again"},
		},
		"Instances": {
			reason: "MAAS would take them over.", model: func(m *sim.Model) { m.Hosts[0].Instances = []string{"precious"} }, never: true,
			says: []string{"skip  project maas holds precious", "passed, with 1 skipped"},
		},
		"Known": {
			reason: "There is nothing to try.", model: registerHost, never: true,
			says: []string{"ok    MAAS already has it, as VM host node1: LXD 5.21.3, 8 cores"},
		},
		"OtherProject": {
			reason: "The machine of both would go with the second one.", model: registerHost, env: map[string]string{"LXD_PROJECT": "default"}, never: true,
			says: []string{"skip  MAAS already has project maas of this LXD"},
		},
		"MachineKnown": {
			reason: "MAAS rewrites the interfaces of a machine that it knows.",
			model: func(m *sim.Model) {
				m.Hosts[0].MAC = "52:54:00:aa:bb:01"
				m.Machines = []sim.MachineModel{{Hostname: "node1", Cores: 8, MemoryMiB: 16384, MAC: "52:54:00:aa:bb:01"}}
			},
			never: true, says: []string{"skip  MAAS already knows its machine, node1"},
		},
		"Zone": {
			reason: "There is no such zone.", env: map[string]string{"ZONE": "az9"}, never: true,
			status: setting.CodeFailed, says: []string{"FAIL  MAAS has no zone az9; it has ", "--zone"},
		},
		"NoAdministrator": {
			reason: "Only administrators register.", env: map[string]string{"MAAS_API_KEY": sim.DefaultUserKey}, never: true,
			status: setting.CodeFailed, says: []string{"is not an administrator"},
		},
		"Gone": {
			reason: "There are no VM hosts any more.", model: func(m *sim.Model) { m.MAASVersion = sim.VersionGone }, never: true,
			status: setting.CodeFailed, says: []string{"FAIL  this MAAS no longer has VM hosts", "check lxd --address"},
		},
		"ReplyLost": {
			reason: "What may have been made is looked for, and removed.",
			before: func(t *testing.T, x testSite) {
				x.AddFault(sim.Fault{Method: "POST", Path: "vm-hosts/", Op: "-", When: sim.FaultAfterEffect, Kind: sim.FaultLostReply, Times: 1})
			},
			status: setting.CodeFailed, says: []string{"FAIL  "},
		},
		"NoPair": {
			reason: "A registration needs it.", env: map[string]string{"MAASLXD_LXD_CLIENT_KEY": ""}, never: true,
			status: setting.CodeUsage, says: []string{"--lxd-client-cert: the key pair of the fleet is missing"},
		},
		"NoNode": {
			reason: "Which one?", env: map[string]string{"NODE_IP": ""}, never: true,
			status: setting.CodeUsage, says: []string{"--node-ip: it is missing"},
		},
		"NoMAAS": {
			reason: "Which one?", env: map[string]string{"MAAS_ENDPOINT": ""}, never: true,
			status: setting.CodeUsage, says: []string{"--maas-endpoint: it is missing"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTestSite(t, func(m *sim.Model) {
				if tc.model != nil {
					tc.model(m)
				}
			})
			if tc.before != nil {
				tc.before(t, x)
			}
			before := x.listLeftovers()
			said, status := runCheck(t.Context(), x.withEnv(tc.env), "vm-host")
			wantOutput(t, said, status, tc.status, tc.says...)
			if diff := cmp.Diff(before, x.listLeftovers()); diff != "" {
				t.Errorf("%s\nit left something behind: -before +after:\n%s", tc.reason, diff)
			}
			made, gone := x.Journal().Count("POST vm-hosts/"), x.Journal().Count("DELETE vm-hosts/{id}/")
			if tc.never && made != 0 || made != gone {
				t.Errorf("%s\nregistered %d times, removed %d times\n%s", tc.reason, made, gone, said)
			}
		})
	}
}

// TestVMHostInterrupted: who is interrupted removes what was made all the same,
// and the next check what a killed one left.
func TestVMHostInterrupted(t *testing.T) {
	t.Parallel()
	x := newTestSite(t, func(m *sim.Model) { m.Latency.Inventory = time.Hour })
	// It is interrupted once it waits for what MAAS learns of the host, however slow
	// the machine is.
	interrupted := func() (string, int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := x.Journal().Count("GET vm-hosts/")
		go func() {
			for x.Journal().Count("GET vm-hosts/") < seen+4 && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
		}()
		return runCheck(ctx, x.env, "vm-host", "--timeout", "1m")
	}
	before := x.listLeftovers()
	said, status := interrupted()
	wantOutput(t, said, status, setting.CodeFailed, "MAAS does not know the resources of", "MAAS has removed it again")
	if diff := cmp.Diff(before, x.listLeftovers()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	x.AddFault(sim.Fault{Method: "DELETE", Path: "vm-hosts/*", Kind: sim.FaultStatus, Status: 400, Body: "no", Times: 1})
	said, status = interrupted()
	wantOutput(t, said, status, setting.CodeFailed, "cannot remove VM host maaslxd-check-", "remove it in MAAS")
	x.Settle()
	said, status = interrupted()
	wantOutput(t, said, status, setting.CodeFailed, "removed VM host maaslxd-check-", ", which an earlier check had left behind")
	if diff := cmp.Diff(before, x.listLeftovers()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func TestMAAS(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		model  func(*sim.Model)
		env    map[string]string
		args   []string
		status int
		says   []string
	}{
		"Good": {reason: "A MAAS to work with.", model: registerHost, says: []string{
			"ok    MAAS 3.", "ok    admin is an administrator", "ok    zone az1 exists", "ok    resource pool vms exists", "ok    images: ubuntu/",
			"ok    1 LXD VM hosts", "note  VM host node1: LXD 5.21.3, 0 of 8 cores used", "check maas: passed\n",
		}},
		"Gone":      {reason: "The next major version works, too.", model: func(m *sim.Model) { m.MAASVersion = sim.VersionGone }, says: []string{"note  this MAAS no longer has VM hosts", "passed"}},
		"User":      {reason: "Rights are missing.", env: map[string]string{"MAAS_API_KEY": sim.DefaultUserKey}, status: 1, says: []string{"FAIL  ", "is not an administrator", "sudo maas apikey"}},
		"Key":       {reason: "The key is nobody's.", env: map[string]string{"MAAS_API_KEY": "a:b:c"}, status: 1, says: []string{"FAIL  "}},
		"BadKey":    {reason: "It is no key at all.", env: map[string]string{"MAAS_API_KEY": "abc"}, status: 2, says: []string{"--maas-api-key: an API key has three parts"}},
		"Away":      {reason: "Nothing listens.", env: map[string]string{"MAAS_ENDPOINT": "http://127.0.0.1:1/MAAS"}, status: 1, says: []string{"FAIL  ", "Check host and port in --maas-endpoint"}},
		"Image":     {reason: "It is not imported.", args: []string{"--image", "ubuntu/plucky"}, status: 1, says: []string{"FAIL  MAAS has no image ubuntu/plucky; it has ubuntu/"}},
		"Pool":      {reason: "MAAS has no such resource pool.", args: []string{"--resource-pool", "gold"}, status: 1, says: []string{"FAIL  MAAS has no resource pool gold; it has default, vms"}},
		"TestHost":  {reason: "The seeds of the other check.", args: []string{"--test-vm-host"}, says: []string{"MAAS has removed it again", "check maas: passed"}},
		"APIURL":    {reason: "The provider's variable will do.", env: map[string]string{"MAAS_ENDPOINT": ""}, status: 2, says: []string{"--maas-endpoint: it is missing"}},
		"CannotYet": {reason: "A VM host that MAAS never reached.", model: func(m *sim.Model) { registerHost(m); m.Hosts[0].TrustedCertificates = nil }, says: []string{"check maas: passed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTestSite(t, func(m *sim.Model) {
				if tc.model != nil {
					tc.model(m)
				}
			})
			said, status := runCheck(t.Context(), x.withEnv(tc.env), append([]string{"maas"}, tc.args...)...)
			wantOutput(t, said, status, tc.status, tc.says...)
			if strings.Contains(said, x.APIKey()) {
				t.Error("it says the key")
			}
		})
	}
	x := newTestSite(t)
	said, status := runCheck(t.Context(), x.withEnv(map[string]string{"MAAS_ENDPOINT": "", "MAAS_API_URL": x.URL}), "maas")
	wantOutput(t, said, status, 0, "passed")
}

// TestLXDRemote looks at an LXD with the fleet's eyes.
func TestLXDRemote(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		model  func(*sim.Model)
		args   []string
		status int
		says   []string
	}{
		"Good": {reason: "All is there.", says: []string{
			"ok    it trusts the certificate, and shows ", "ok    LXD 5.21.3 on 8 cores and 16384 MiB", "ok    project maas is empty",
			"ok    storage pool default: zfs, 500 of 500 GB free", "ok    bridge maasbr0 exists", "check lxd: passed",
		}},
		"New":       {reason: "MAAS cannot compose there.", model: func(m *sim.Model) { m.Hosts[0].LXDVersion = "6.7" }, says: []string{"note  MAAS up to 3.8 cannot make VMs on LXD 6.7"}},
		"Project":   {reason: "No such project.", args: []string{"--project", "other"}, status: 1, says: []string{`has no project "other"`, "lxc project create other"}},
		"Pool":      {reason: "No such pool.", args: []string{"--storage-pool", "fast"}, status: 1, says: []string{"FAIL  there is no storage pool fast; LXD has default"}},
		"Bridge":    {reason: "No such bridge.", args: []string{"--network-bridge", "br9"}, status: 1, says: []string{"FAIL  there is no bridge br9; the machine has maasbr0"}},
		"Untrusted": {reason: "Nobody told it.", model: func(m *sim.Model) { m.Hosts[0].TrustedCertificates = nil }, status: 1, says: []string{"does not trust"}},
		"Other":     {reason: "Another server answers.", args: []string{"--server-fingerprint", strings.Repeat("ab", 32)}, status: 1, says: []string{"shows the certificate", "but is known by", "accept it: --server-fingerprint "}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTestSite(t, func(m *sim.Model) {
				m.Subnets = []sim.SubnetModel{{CIDR: "10.77.0.0/24"}}
				if tc.model != nil {
					tc.model(m)
				}
			})
			args := append([]string{"lxd", "--address", x.LXDs()[0].Listening[0], "--network-bridge", "maasbr0"}, tc.args...)
			said, status := runCheck(t.Context(), x.env, args...)
			wantOutput(t, said, status, tc.status, tc.says...)
		})
	}
}

// TestCheckNeedsAName: a check is named.
func TestCheckNeedsAName(t *testing.T) {
	t.Parallel()
	said, status := runCheck(t.Context(), nil)
	wantOutput(t, said, status, setting.CodeUsage, "no command is given", "vm-host")
	said, status = runCheck(t.Context(), nil, "help")
	wantOutput(t, said, status, 0, "lxd", "vm-host", "maas", "upgrade")
	said, status = runCheck(t.Context(), nil, "disk")
	wantOutput(t, said, status, setting.CodeUsage, `there is no command "disk"`)
	for _, name := range []string{"lxd", "vm-host", "maas", "upgrade"} {
		said, status := runCheck(t.Context(), nil, name, "--help")
		wantOutput(t, said, status, 0, "Flags, with the variables")
	}
	none := filepath.Join(t.TempDir(), "none")
	said, status = runCheck(t.Context(), map[string]string{"LXD_SOCKET": none}, "lxd")
	wantOutput(t, said, status, 1, "FAIL  there is no LXD at "+none, "check lxd: failed (1)")
}
