package driver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// realLXDTimeout limits the time to read a real LXD's inventory.
const realLXDTimeout = 10 * time.Second

// discoverRealLXD finds the LXD of a machine whose first boot is real, at the BMC's
// address. It connects with MAAS's certificate. If that fails it returns the problem in
// the words of MAAS's LXD driver. It reads only the inventory, because VMs composed there
// are simulated. Time passes meanwhile.
func discoverRealLXD(w *world.World, b *world.BMC, who string) (*world.LXD, string) {
	m := realMachineAt(w, b.Address)
	if m == nil {
		return nil, ConnectionProblem(b)
	}
	w.Keeper.Unlock()
	found, err := readRealInventory(b)
	w.Keeper.Lock()
	switch {
	case errors.Is(err, errUntrusted):
		return nil, who + "Certificate is not trusted and no password was given"
	case err != nil:
		return nil, ConnectionProblem(b)
	case m.Status != world.StatusDeployed:
		return nil, ConnectionProblem(b)
	}
	if l := w.LXDs[world.NormalizeLXDAddress(b.Address)]; l != nil {
		return l, requirementProblem(l)
	}
	l := newRealServer(w, m, b, found)
	return l, requirementProblem(l)
}

// realMachineAt is the Deployed machine with a real first boot that has the address, or
// nil.
func realMachineAt(w *world.World, address string) *world.Machine {
	u, err := url.Parse("https://" + world.NormalizeLXDAddress(address))
	if err != nil {
		return nil
	}
	for _, m := range w.Machines {
		if m.FirstBoot == world.BootReal && m.Status == world.StatusDeployed && slices.Contains(m.Addresses(), u.Hostname()) {
			return m
		}
	}
	return nil
}

// newRealServer is MAAS's knowledge of the LXD after that.
func newRealServer(w *world.World, m *world.Machine, b *world.BMC, found *realInventory) *world.LXD {
	l := &world.LXD{
		Address: world.NormalizeLXDAddress(b.Address), Name: m.Hostname, Condition: world.ConditionOK, Architecture: m.Architecture, Version: found.server.Environment.ServerVersion,
		Cores: int(found.resources.CPU.Total), MemoryMiB: int64(found.resources.Memory.Total >> 20),
		Trusted: []daemon.Trust{{Certificate: b.Certificate, Restricted: true, Projects: []string{b.Project}}},
		Osystem: m.Osystem, Series: m.Series, MAC: m.NICs[0].MAC, BridgeMACs: map[*world.Subnet]string{},
		Projects: map[string]map[string]*world.Instance{}, Metal: m, LXDObjects: world.NewLXDObjects(),
	}
	for _, p := range found.pools {
		l.Pools = append(l.Pools, daemon.StoragePool{Name: p.Name, Driver: p.Driver, SizeBytes: int64(found.space[p.Name].Space.Total)})
	}
	for _, n := range m.NICs {
		if s := w.SubnetOn(n.VLAN); s != nil && n.Kind == "bridge" {
			l.Subnets, l.BridgeMACs[s] = append(l.Subnets, s), n.MAC
		}
	}
	l.EnsureProject("default")
	l.EnsureProject(b.Project)
	w.LXDs[l.Address] = l
	return l
}

// realInventory is what MAAS's driver reads from an LXD (drivers/pod/lxd.py).
type realInventory struct {
	server    api.Server
	resources api.Resources
	pools     []api.StoragePool
	space     map[string]api.ResourcesStoragePool
}

var errUntrusted = errors.New("the LXD does not trust the certificate")

// readRealInventory reads the inventory. Like MAAS, it accepts any server certificate.
func readRealInventory(b *world.BMC) (*realInventory, error) {
	pair, err := tls.X509KeyPair([]byte(b.Certificate), []byte(b.Key))
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: realLXDTimeout, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	root := "https://" + world.NormalizeLXDAddress(b.Address)
	found := &realInventory{space: map[string]api.ResourcesStoragePool{}}
	if err := getJSON(client, root+"/1.0", &found.server); err != nil {
		return nil, err
	}
	if found.server.Auth != "trusted" {
		return nil, errUntrusted
	}
	project := "?project=" + url.QueryEscape(b.Project)
	err = errors.Join(
		getJSON(client, root+"/1.0/instances"+project, nil),
		getJSON(client, root+"/1.0/resources", &found.resources),
		getJSON(client, root+"/1.0/storage-pools?recursion=1", &found.pools),
	)
	for _, p := range found.pools {
		var space api.ResourcesStoragePool
		err = errors.Join(err, getJSON(client, root+"/1.0/storage-pools/"+p.Name+"/resources", &space))
		found.space[p.Name] = space
	}
	return found, err
}

// getJSON reads one answer of an LXD.
func getJSON(client *http.Client, address string, into any) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, rest.MaxBody))
	if err != nil {
		return err
	}
	var envelope api.ResponseRaw
	envelope.Metadata = into
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&envelope); err != nil {
		return fmt.Errorf("%s is not an answer of LXD: %w", address, err)
	}
	if envelope.Error != "" {
		return fmt.Errorf("%s: %s", address, strings.TrimSpace(envelope.Error))
	}
	return nil
}
