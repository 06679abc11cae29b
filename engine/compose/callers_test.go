package compose

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// twoHosts are a Composer that lists two hosts, of which one has huge pages.
type twoHosts struct{ engine.Composer }

func (twoHosts) Hosts(context.Context) ([]engine.VMHost, error) {
	host := func(id string, pages int64) engine.VMHost {
		return engine.VMHost{
			Name: id, HostKey: id, MachineID: id, Version: "6.5", Cores: engine.Amount{Total: 8}, MemoryMiB: engine.Amount{Total: 16384},
			CPUOvercommit: 1, MemoryOvercommit: 1, HugePagesMiB: engine.Amount{Total: pages},
			StoragePools: []engine.StoragePool{{Name: "default", TotalBytes: 1e12, AvailableBytes: 1e12, Default: true}},
		}
	}
	return []engine.VMHost{host("plain", 0), host("huge", 4096)}, nil
}

// TestHugePagesArePlaced: a VM that is backed by huge pages goes where they are,
// as far as LXD tells.
func TestHugePagesArePlaced(t *testing.T) {
	v := &Finder{Config: engine.Config{Composer: twoHosts{}}}
	for memory, want := range map[int64]int{2048: 1, 8192: 0} {
		spec := engine.VMSpec{Name: "web", Cores: 1, MemoryMiB: memory, HugePages: true, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}}
		need, err := v.placementNeed(t.Context(), "k", spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := v.findFittingSites(t.Context(), need, spec, LeavingVM{})
		if len(found.hosts) != want || want > 0 && found.hosts[0].Name != "huge" {
			t.Errorf("%d MiB: placed on %+v, %v", memory, found.hosts, err)
		}
	}
	hosts, _ := twoHosts{}.Hosts(t.Context())
	if err := CheckRoom(hosts[1], engine.VMSpec{Cores: 1, MemoryMiB: 8192, HugePages: true}); err == nil {
		t.Error("a host that is named has room for more huge pages than it has")
	}
}

// TestHostNetsExpire: what a host is linked to is read again where nothing fits.
func TestHostNetsExpire(t *testing.T) {
	now := time.Unix(1000, 0)
	n := newHostNetworks(func() time.Time { return now })
	n.known["m1"] = hostNetwork{until: now.Add(networksTTL)}
	n.dropOlderThan(time.Second)
	if len(n.known) != 1 {
		t.Error("what was just read is read again")
	}
	now = now.Add(2 * time.Second)
	n.dropOlderThan(time.Second)
	if len(n.known) != 0 {
		t.Error("a subnet that was linked a moment ago is missing for five minutes")
	}
}

// hangingRegistrar is a Registrar that does not answer before the end.
type hangingRegistrar struct {
	engine.Registrar
	end chan struct{}
}

func (h hangingRegistrar) Endpoint(context.Context, engine.VMHost) (engine.Endpoint, error) {
	<-h.end
	return engine.Endpoint{Project: "p"}, nil
}

// TestProjectsHeedContext: a caller whose ctx has ended does not wait for the call
// that it shares.
func TestProjectsHeedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hangingRegistrar{end: make(chan struct{})}
		time.AfterFunc(3*time.Second, func() { close(h.end) })
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := newHostProjects().readProjects(ctx, h, []engine.VMHost{{ID: 1, HostKey: "m1"}})
		if took := time.Since(began); took > time.Second || err == nil {
			t.Errorf("it came back after %v: %v", took, err)
		}
		<-h.end
	})
}
