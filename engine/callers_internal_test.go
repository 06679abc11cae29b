package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// twoHosts are a Composer that lists two hosts, of which one has huge pages.
type twoHosts struct{ Composer }

func (twoHosts) Hosts(context.Context) ([]VMHost, error) {
	host := func(id string, pages int64) VMHost {
		return VMHost{
			Name: id, HostKey: id, MachineID: id, Version: "6.5", Cores: Amount{Total: 8}, MemoryMiB: Amount{Total: 16384},
			CPUOvercommit: 1, MemoryOvercommit: 1, HugePagesMiB: Amount{Total: pages},
			StoragePools: []StoragePool{{Name: "default", TotalBytes: 1e12, AvailableBytes: 1e12, Default: true}},
		}
	}
	return []VMHost{host("plain", 0), host("huge", 4096)}, nil
}

// TestHugePagesArePlaced: a VM that is backed by huge pages goes where they are,
// as far as LXD tells.
func TestHugePagesArePlaced(t *testing.T) {
	v := &vms{Config: Config{Composer: twoHosts{}}}
	for memory, want := range map[int64]int{2048: 1, 8192: 0} {
		spec := VMSpec{Name: "web", Cores: 1, MemoryMiB: memory, HugePages: true, Disks: []Disk{{Name: "root", SizeGB: 8}}}
		need, err := v.placementNeed(t.Context(), "k", spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := v.place(t.Context(), need)
		if len(found.hosts) != want || want > 0 && found.hosts[0].Name != "huge" {
			t.Errorf("%d MiB: placed on %+v, %v", memory, found.hosts, err)
		}
	}
	hosts, _ := twoHosts{}.Hosts(t.Context())
	if err := fits(hosts[1], VMSpec{Cores: 1, MemoryMiB: 8192, HugePages: true}); err == nil {
		t.Error("a host that is named has room for more huge pages than it has")
	}
}

// TestHostNetsExpire: what a host is linked to is read again where nothing fits.
func TestHostNetsExpire(t *testing.T) {
	now := time.Unix(1000, 0)
	n := newHostNets(func() time.Time { return now })
	n.known["m1"] = hostNet{until: now.Add(hostNetsTTL)}
	n.expire(time.Second)
	if len(n.known) != 1 {
		t.Error("what was just read is read again")
	}
	now = now.Add(2 * time.Second)
	n.expire(time.Second)
	if len(n.known) != 0 {
		t.Error("a subnet that was linked a moment ago is missing for five minutes")
	}
}

// hanging is a Registrar that does not answer before the end.
type hanging struct {
	Registrar
	end chan struct{}
}

func (h hanging) Endpoint(context.Context, VMHost) (Endpoint, error) {
	<-h.end
	return Endpoint{Project: "p"}, nil
}

// TestProjectsHeedContext: a caller whose ctx has ended does not wait for the call
// that it shares.
func TestProjectsHeedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{end: make(chan struct{})}
		time.AfterFunc(3*time.Second, func() { close(h.end) })
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := newHostProjects().of(ctx, h, []VMHost{{ID: 1, HostKey: "m1"}})
		if took := time.Since(began); took > time.Second || err == nil {
			t.Errorf("it came back after %v: %v", took, err)
		}
		<-h.end
	})
}

// TestScarcityCountsFromScarcity: a wait for something else takes nothing of the
// time that is given to a lack of room.
func TestScarcityCountsFromScarcity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f failures
		short := &Error{Type: InsufficientResources}
		if _, over := f.after(0, ErrBusy); over {
			t.Fatal("the first failure ends the waiting")
		}
		time.Sleep(25 * time.Second)
		if _, over := f.after(0, short); over {
			t.Error("the first lack of room ends the waiting, as something else had failed for 25 s")
		}
		time.Sleep(scarcity + time.Second)
		if _, over := f.after(0, short); !over {
			t.Error("room has been missing for longer than scarcity, and the waiting goes on")
		}
	})
}
