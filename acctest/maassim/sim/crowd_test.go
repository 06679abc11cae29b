package sim_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestManyLifecyclesAtOnce runs the lifecycles of 60 VMs at a time over sockets. Nothing must be left.
func TestManyLifecyclesAtOnce(t *testing.T) {
	t.Parallel()
	m := sim.Model{Latency: sim.Latency{Compose: 4 * time.Millisecond, Commission: 10 * time.Millisecond, Deploy: 10 * time.Millisecond, Release: 5 * time.Millisecond, PowerOn: 2 * time.Millisecond, PowerOff: 2 * time.Millisecond}}
	for i := range 6 {
		m.Hosts = append(m.Hosts, sim.HostModel{Name: fmt.Sprintf("h%d", i+1), Cores: 64, MemoryMiB: 1 << 18})
	}
	server := sim.StartServer(t, m)
	// Without room for idle connections the transport opens and closes them at random
	// times, and so their total is random.
	client := &http.Transport{MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16}
	t.Cleanup(client.CloseIdleConnections)
	c := &maasClient{t: t, sim: server.Sim, key: server.APIKey(), base: server.URL, via: client}
	var lives sync.WaitGroup
	for i := range 60 {
		lives.Go(func() { c.liveVM(fmt.Sprintf("vm%d", i), i%6+1) })
	}
	lives.Wait()
	if left := server.Instances(); len(left) != 0 {
		t.Errorf("left in LXD: %+v", left)
	}
	if left := server.Machines(); len(left) != 6 {
		t.Errorf("left in MAAS: %+v", left)
	}
	if got := server.Journal().Connections; got > 16 {
		t.Errorf("%d connections", got)
	}
}

// liveVM runs a VM's lifecycle. An error ends it.
func (c *maasClient) liveVM(hostname string, host int) {
	out := c.call("POST", fmt.Sprintf("vm-hosts/%d/?op=compose", host), "hostname="+hostname)
	if out.status != 200 {
		c.t.Errorf("%s: compose: %d %s", hostname, out.status, out.text)
		return
	}
	var id string
	for _, m := range c.sim.Machines() {
		if m.Hostname == hostname {
			id = m.SystemID
		}
	}
	path := "machines/" + id + "/"
	c.waitForStatus(path, "Ready")
	c.wantCall(path+"?op=deploy", 200)
	c.waitForStatus(path, "Deployed")
	c.wantCall(path+"?op=release", 200)
	c.waitForStatus(path, "Ready")
	if out := c.call("DELETE", path); out.status != 204 {
		c.t.Errorf("%s: delete: %d %s", hostname, out.status, out.text)
	}
}

func (c *maasClient) wantCall(path string, status int) {
	if out := c.call("POST", path); out.status != status {
		c.t.Errorf("%s: %d %s", path, out.status, out.text)
	}
}

// waitForStatus polls for a status.
func (c *maasClient) waitForStatus(path, status string) {
	for range 2000 {
		for _, m := range c.sim.Machines() {
			if "machines/"+m.SystemID+"/" == path && m.StatusName == status {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
	c.t.Errorf("%s never became %s: %.200s", path, status, c.call("GET", path).text)
}
