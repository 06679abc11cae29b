package sim

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
)

// realLXDTimeout bounds a look at a real LXD.
const realLXDTimeout = 10 * time.Second

// lookAtReal is the LXD of a machine whose first boot is real, if one listens at
// the BMC's address, as it shows itself to MAAS's certificate; else the problem
// in the words of MAAS's LXD driver. Only its inventory is taken: VMs that are
// composed there are the simulator's own. It lets time pass.
func (w *world) lookAtReal(b *bmc, who string) (*lxdServer, string) {
	m := w.realMachineAt(b.address)
	if m == nil {
		return nil, connectionProblem(b)
	}
	w.sim.mu.Unlock()
	found, err := askLXD(b)
	w.sim.mu.Lock()
	switch {
	case errors.Is(err, errUntrusted):
		return nil, who + "Certificate is not trusted and no password was given"
	case err != nil:
		return nil, connectionProblem(b)
	case m.status != StatusDeployed:
		return nil, connectionProblem(b)
	}
	if l := w.lxds[lxdAddress(b.address)]; l != nil {
		return l, l.unfit()
	}
	l := w.realServer(m, b, found)
	return l, l.unfit()
}

// realMachineAt is the Deployed machine with a real first boot that has the
// address, nil for none.
func (w *world) realMachineAt(address string) *machine {
	u, err := url.Parse("https://" + lxdAddress(address))
	if err != nil {
		return nil
	}
	for _, m := range w.machines {
		if m.firstBoot == BootReal && m.status == StatusDeployed && slices.Contains(m.addresses(), u.Hostname()) {
			return m
		}
	}
	return nil
}

// realServer is what MAAS then knows of the LXD.
func (w *world) realServer(m *machine, b *bmc, found *realInventory) *lxdServer {
	l := &lxdServer{
		address: lxdAddress(b.address), name: m.hostname, condition: OK, version: found.server.Environment.ServerVersion,
		cores: int(found.resources.CPU.Total), memoryMiB: int64(found.resources.Memory.Total >> 20),
		trusted: []trust{{certificate: b.certificate, restricted: true, projects: []string{b.project}}},
		osystem: m.osystem, series: m.series, mac: m.nics[0].mac, bridgeMACs: map[*subnet]string{},
		projects: map[string]map[string]*instance{}, metal: m, lxdWorld: newLXDWorld(),
	}
	for _, p := range found.pools {
		l.pools = append(l.pools, StoragePoolModel{Name: p.Name, Driver: p.Driver, SizeBytes: int64(found.space[p.Name].Space.Total)})
	}
	for _, n := range m.nics {
		if s := w.subnetOn(n.vlan); s != nil && n.kind == "bridge" {
			l.subnets, l.bridgeMACs[s] = append(l.subnets, s), n.mac
		}
	}
	l.ensureProject("default")
	l.ensureProject(b.project)
	w.lxds[l.address] = l
	return l
}

// realInventory is what MAAS's driver asks an LXD for (drivers/pod/lxd.py).
type realInventory struct {
	server    api.Server
	resources api.Resources
	pools     []api.StoragePool
	space     map[string]api.ResourcesStoragePool
}

var errUntrusted = errors.New("the LXD does not trust the certificate")

// askLXD takes the inventory. As MAAS does, it believes any certificate.
func askLXD(b *bmc) (*realInventory, error) {
	pair, err := tls.X509KeyPair([]byte(b.certificate), []byte(b.key))
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: realLXDTimeout, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	root := "https://" + lxdAddress(b.address)
	found := &realInventory{space: map[string]api.ResourcesStoragePool{}}
	if err := ask(client, root+"/1.0", &found.server); err != nil {
		return nil, err
	}
	if found.server.Auth != "trusted" {
		return nil, errUntrusted
	}
	project := "?project=" + url.QueryEscape(b.project)
	err = errors.Join(
		ask(client, root+"/1.0/instances"+project, nil),
		ask(client, root+"/1.0/resources", &found.resources),
		ask(client, root+"/1.0/storage-pools?recursion=1", &found.pools),
	)
	for _, p := range found.pools {
		var space api.ResourcesStoragePool
		err = errors.Join(err, ask(client, root+"/1.0/storage-pools/"+p.Name+"/resources", &space))
		found.space[p.Name] = space
	}
	return found, err
}

// ask reads one answer of LXD.
func ask(client *http.Client, address string, into any) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return err
	}
	var envelope api.ResponseRaw
	envelope.Metadata = into
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&envelope); err != nil {
		return fmt.Errorf("%s is not the answer of an LXD: %w", address, err)
	}
	if envelope.Error != "" {
		return fmt.Errorf("%s: %s", address, strings.TrimSpace(envelope.Error))
	}
	return nil
}
