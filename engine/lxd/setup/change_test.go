package setup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// TestApplyAtOnce: several runs that set up the same LXD at the same time all find it
// complete.
func TestApplyAtOnce(t *testing.T) {
	t.Parallel()
	runOnEachLXD(t, func(t *testing.T, f freshLXD) {
		h := f.newHost(t)
		const crowd = 6
		var all sync.WaitGroup
		reports, errs := make([]Report, crowd), make([]error, crowd)
		for n := range crowd {
			conn := f.connect(t)
			all.Go(func() { reports[n], errs[n] = Apply(t.Context(), conn, h, Options{}) })
		}
		all.Wait()
		for n, err := range errs {
			if err != nil || reports[n].OpenCount() != 0 {
				t.Errorf("got %v: %v", verdictsByObject(reports[n]), err)
			}
		}
		f.checkApplied(t, f.connect(t), h)
	})
}

// TestApplyGrows changes a host that was set up before: another certificate, a limit, a
// network, a profile with another name.
func TestApplyGrows(t *testing.T) {
	t.Parallel()
	runOnEachLXD(t, func(t *testing.T, f freshLXD) {
		conn, h := f.connect(t), f.newHost(t)
		if _, err := Apply(t.Context(), conn, h, Options{}); err != nil {
			t.Fatal(err)
		}
		next := makeKey(t)
		h.TrustedCertificates = append(h.TrustedCertificates, next.Certificate)
		h.Project.Limits = map[string]string{"memory": "8GiB"}
		h.Profile = cloudinit.Profile{Name: "maas", Network: "mxap0", Config: map[string]string{"limits.cpu": "2"}}
		h.Networks["mxap0"] = cloudinit.Network{Kind: cloudinit.Managed, IPv4Address: "10.99.7.1/24", NAT: true}
		report, err := Apply(t.Context(), conn, h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		changed := []string{}
		for _, s := range report.Steps {
			if s.Done {
				changed = append(changed, s.Object)
			}
		}
		want := []string{"network mxap0", "project maas", "profile maas of project maas", "certificate " + next.Fingerprint[:12]}
		if diff := cmp.Diff(want, changed); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if again, err := Apply(t.Context(), conn, h, Options{}); err != nil || again.ChangedCount() != 0 {
			t.Errorf("the second run: %v, %v", verdictsByObject(again), err)
		}
		h.Networks["mxap0"] = cloudinit.Network{Kind: cloudinit.Managed, IPv4Address: "10.99.8.1/24", NAT: true}
		if _, err := Apply(t.Context(), conn, h, Options{}); err == nil || !strings.Contains(err.Error(), `ipv4.address "10.99.7.1/24" instead of "10.99.8.1/24"`) {
			t.Errorf("another address of a network that is there: %v", err)
		}
		project, _, err := conn.GetProject("maas")
		if err != nil || project.Config["limits.memory"] != "8GiB" || project.Config["features.profiles"] != "true" {
			t.Errorf("got %+v, %v", project, err)
		}
	})
}

// TestApplyTrust: a certificate that LXD already knows keeps its rights.
func TestApplyTrust(t *testing.T) {
	t.Parallel()
	runOnEachLXD(t, func(t *testing.T, f freshLXD) {
		conn, h := f.connect(t), f.newHost(t)
		a := applier{}
		a.setup.Project.Name = "default"
		unlimited := makeKey(t)
		h.TrustedCertificates = append(h.TrustedCertificates, unlimited.Certificate)
		for _, certificate := range h.TrustedCertificates {
			post := a.certificateRequest(cloudinit.PublicCertificate{Fingerprint: fingerprintOf(t, certificate), PEM: certificate})
			if certificate == unlimited.Certificate {
				post.Restricted, post.Projects = false, nil
			}
			if err := conn.CreateCertificate(post); err != nil {
				t.Fatal(err)
			}
		}
		report, err := Apply(t.Context(), conn, h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		limited := fingerprintOf(t, h.TrustedCertificates[0])
		got := verdictsByObject(report)
		if got["certificate "+limited[:12]] != "done" || got["certificate "+unlimited.Fingerprint[:12]] != "keep" {
			t.Errorf("got %v", got)
		}
		trusted, _, err := conn.GetCertificate(limited)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Sort(trusted.Projects); !trusted.Restricted || !slices.Equal(trusted.Projects, []string{"default", "maas"}) {
			t.Errorf("got %+v", trusted)
		}
	})
}

// TestApplyListen changes LXD's listen address only if the options allow it.
func TestApplyListen(t *testing.T) {
	t.Parallel()
	f := newRealLXD(t) // the simulator's cannot move
	conn, h := f.connect(t), f.newHost(t)
	if _, err := Apply(t.Context(), conn, h, Options{}); err != nil {
		t.Fatal(err)
	}
	h.ListenPort = 9443
	report, err := Apply(t.Context(), conn, h, Options{})
	if err == nil || report.ChangedCount() != 0 || !strings.Contains(err.Error(), "LXD listens at [::]:8443 instead of [::]:9443") {
		t.Fatalf("got %v", err)
	}
	report, err = Apply(t.Context(), conn, h, Options{ChangeListen: true})
	if err != nil || report.ChangedCount() != 1 {
		t.Errorf("got %v, %v", verdictsByObject(report), err)
	}
	h.Networks["mxap0"] = cloudinit.Network{Kind: cloudinit.Managed, IPv4Address: "10.99.7.1/24"}
	h.Profile.Network = f.bridges[0]
	h.ListenAddress, h.ListenPort = "10.99.7.1", 53 // where the network's own DNS is by then
	report, err = Apply(t.Context(), conn, h, Options{ChangeListen: true})
	if err == nil || report.OpenCount() != 1 || report.ChangedCount() != 1 || !strings.Contains(err.Error(), "listening: LXD refused:") {
		t.Errorf("got %v, %v", verdictsByObject(report), err)
	}
	server, _, err := conn.GetServer()
	if err != nil || server.Config[listenKey] != "[::]:9443" {
		t.Errorf("LXD listens at %v, %v", server.Config[listenKey], err)
	}
}

// TestApplyBroken breaks calls to LXD. Apply inspects the result of each call, and a later
// run finishes the rest.
func TestApplyBroken(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  sim.Fault
		fails  string // empty: it does not
	}{
		"SavedAlthoughError": {
			reason: "LXD saves a profile and answers 500 where instances do not follow.",
			fault:  sim.Fault{Method: "PUT", Path: "lxd/node/1.0/profiles/*", When: sim.FaultAfterEffect, Kind: sim.FaultStatus, Status: 500, Times: 1},
		},
		"Raced": {
			reason: "Another change came between the look and the act.",
			fault:  sim.Fault{Method: "PUT", Path: "lxd/node/1.0/profiles/*", Kind: sim.FaultStatus, Status: 412, Times: 3},
		},
		"RacedForEver": {
			reason: "There is an end to it.",
			fault:  sim.Fault{Method: "PUT", Path: "lxd/node/1.0/profiles/*", Kind: sim.FaultStatus, Status: 412},
			fails:  "profile default of project maas: LXD refused",
		},
		"ReplyLost": {
			reason: "The pool was made, and nobody heard of it.",
			fault:  sim.Fault{Method: "POST", Path: "lxd/node/1.0/storage-pools", When: sim.FaultAfterEffect, Kind: sim.FaultLostReply, Times: 1},
		},
		"Refused": {
			reason: "The object is named, and LXD's own words.",
			fault:  sim.Fault{Method: "POST", Path: "lxd/node/1.0/storage-pools", Kind: sim.FaultStatus, Status: 500, Body: "mkfs: no room", Times: 1},
			fails:  "storage pool vms: LXD refused: mkfs: no room",
		},
		"LookRefused": {
			reason: "Nothing is done where a look fails.",
			fault:  sim.Fault{Method: "GET", Path: "lxd/node/1.0/certificates/*", Kind: sim.FaultStatus, Status: 403, Times: 1},
			fails:  "Run it as root",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newSimulatedLXD(t, "5.21.3")
			h := f.newHost(t)
			id := f.sim.AddFault(tc.fault)
			_, err := Apply(t.Context(), f.connect(t), h, Options{})
			said := ""
			if failure := (*engine.Error)(nil); errors.As(err, &failure) {
				said = failure.Message + " " + failure.Hint
			}
			if (err != nil) != (tc.fails != "") || !strings.Contains(said, tc.fails) {
				t.Errorf("%s\nwant %q, got %v", tc.reason, tc.fails, err)
			}
			f.sim.RemoveFault(id)
			if _, err := Apply(t.Context(), f.connect(t), h, Options{}); err != nil {
				t.Errorf("the next run: %v", err)
			}
			f.checkApplied(t, f.connect(t), h)
		})
	}
}

// TestApplyGivenUp: a caller whose ctx ends does not wait for an LXD that hangs.
func TestApplyGivenUp(t *testing.T) {
	t.Parallel()
	f := newSimulatedLXD(t, "5.21.3")
	f.sim.AddFault(sim.Fault{Method: "POST", Path: "lxd/node/1.0/projects", Kind: sim.FaultHang})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil && f.sim.Journal().LXD.Count("POST 1.0/projects") == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	_, err := Apply(ctx, f.dial(t, ctx), f.newHost(t), Options{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "project maas: given up") {
		t.Errorf("got %v", err)
	}
}

// TestApplyImpatient: LXD accepts a change that never shows.
func TestApplyImpatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, acts := applier{ctx: t.Context(), Options: Options{ChangeTimeout: time.Minute}}, 0
		begun := time.Now()
		step, err := a.applyPart(func() (finding, error) {
			return makeFinding("storage pool vms", "zfs", func() error { acts++; return nil }), nil
		})
		if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "storage pool vms: LXD accepted the change, but does not show it after 1m0s") {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(begun); acts != 1 || step.Done || waited < time.Minute || waited > 61*time.Second {
			t.Errorf("it was told %d times, waited for %s, done: %t", acts, waited, step.Done)
		}
	})
}

// TestApplyBadHost: a setting that cannot work is reported by field, before any call to
// LXD.
func TestApplyBadHost(t *testing.T) {
	t.Parallel()
	_, err := Apply(t.Context(), nil, cloudinit.Host{ListenPort: 70000, TrustedCertificates: []string{"x"}}, Options{})
	if got := cloudinit.FieldErrors(err); len(got) != 2 || got[0].Field.String() != "listen_port" || got[1].Field.String() != "trusted_certificates[0]" {
		t.Errorf("got %v", err)
	}
}

// TestUnsuitableLXD refuses LXDs that Apply cannot set up.
func TestUnsuitableLXD(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*api.Server)
		says   string
	}{
		"Good":      {reason: "A server that has everything.", change: func(*api.Server) {}},
		"Untrusted": {reason: "A socket of restricted users.", change: func(s *api.Server) { s.Auth = "untrusted" }, says: "lets this user connect, but not change anything"},
		"Clustered": {reason: "Pools of a cluster are made member by member.", change: func(s *api.Server) { s.Environment.ServerClustered = true }, says: "a member of a cluster"},
		"Old":       {reason: "LXD 4.0 lacks what VMs need.", change: func(s *api.Server) { s.APIExtensions = []string{"projects"} }, says: "too old: LXD 5.0 or newer is needed (it lacks the API extension virtual-machines)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &api.Server{}
			server.Auth, server.APIExtensions = "trusted", lxd.NeededExtensions()
			tc.change(server)
			err := checkUsable(server)
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s\nwant %q, got %v", tc.reason, tc.says, err)
			}
		})
	}
}

func TestDiskInUse(t *testing.T) {
	t.Parallel()
	disks := []api.ResourcesStorageDisk{
		{ID: "sda", DeviceID: "ata-one", Partitions: []api.ResourcesStorageDiskPartition{{ID: "sda1", Mounted: true}, {ID: "sda2"}}},
		{ID: "sdb", DeviceID: "ata-two", DevicePath: "pci-2", Mounted: true},
		{ID: "sdc", DeviceID: "ata-three", Partitions: []api.ResourcesStorageDiskPartition{{ID: "sdc1"}}},
		{ID: "sdd", DeviceID: "ata-four"},
	}
	cases := map[string]string{
		"/dev/sda": "it is mounted", "/dev/disk/by-id/ata-one": "it is mounted", "/dev/sda1": "it is mounted", "/dev/sda2": "",
		"/dev/sdb": "it is mounted", "/dev/disk/by-path/pci-2": "it is mounted", "/dev/disk/by-id/ata-three": "it has 1 partitions",
		"/dev/sdd": "", "/dev/disk/by-id/ata-four": "", "/dev/sdx": "", "tank": "", "": "",
	}
	for source, want := range cases {
		if got := describeDiskUse(disks, source); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

func TestNormalAddress(t *testing.T) {
	t.Parallel()
	for have, want := range map[string]string{
		"[::]:8443": "[::]:8443", ":8443": "[::]:8443", "[::]": "[::]:8443", "*:8443": "[::]:8443", "10.0.0.5": "10.0.0.5:8443",
		"10.0.0.5:9443": "10.0.0.5:9443", "0.0.0.0:8443": "0.0.0.0:8443", "[fd00::5]:8443": "[fd00::5]:8443", "fd00::5": "[fd00::5]:8443",
	} {
		if got := normalAddress(have); got != want {
			t.Errorf("%s: got %s, want %s", have, got, want)
		}
	}
}

// TestApplyNeverResizes: a pool in a file gets the requested size, and keeps it.
func TestApplyNeverResizes(t *testing.T) {
	t.Parallel()
	runOnEachLXD(t, func(t *testing.T, f freshLXD) {
		conn := f.connect(t)
		server, _, err := conn.GetServer()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(server.Environment.StorageSupportedDrivers, func(d api.ServerStorageDriverInfo) bool { return d.Name == "btrfs" }) {
			t.Skip("this LXD has no btrfs (apt-get install btrfs-progs)")
		}
		h := f.newHost(t, withPool("files", cloudinit.StoragePool{Driver: cloudinit.Btrfs, SizeGB: 5}))
		if _, err := Apply(t.Context(), conn, h, Options{}); err != nil {
			t.Fatal(err)
		}
		for size, want := range map[int64]string{5: "btrfs of 5GB", 20: "btrfs of 5GB, and keeps that size instead of 20GB"} {
			withPool("files", cloudinit.StoragePool{Driver: cloudinit.Btrfs, SizeGB: size})(&h)
			report, err := Apply(t.Context(), conn, h, Options{})
			if err != nil || report.ChangedCount() != 0 {
				t.Fatalf("got %v, %v", verdictsByObject(report), err)
			}
			if got := report.Steps[1].Detail; got != want {
				t.Errorf("asked for %d GB: got %q, want %q", size, got, want)
			}
		}
	})
}
