package e2elxd

import (
	"context"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// TestHost brings hosts about, and sees from outside what became of them.
func TestHost(t *testing.T) {
	w := newWorld(t, "plain")
	spec := w.spec("plain", func(s *engine.HostSpec) {
		s.LXD.StoragePools = map[string]cloudinit.StoragePool{"default": {Driver: cloudinit.Dir}}
	})
	began := time.Now()
	step, m := w.begin(t, spec)
	t.Log("installed after", time.Since(began))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	host, err := engine.Wait(ctx, step)
	t.Log("ready after", time.Since(began))
	if err != nil {
		t.Error(err)
	}
	t.Logf("%+v", host.VMHost)
	t.Log(m.booted(t))
	t.Log(m.must(t, "ls /run/maas-vendor-data; lxc storage list; ip -br a; lxc config trust list"))
}
