package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/boot"
)

// machine is one of MAAS's machines that runs its user-data.
type machine struct {
	hostname         string
	userData         []byte
	plan             plan
	cluster          *Cluster
	server           *apiServer // of a control plane machine that is on
	apiServerAddress string     // host:port, as the other machines know it
	joined           bool       // the node was registered
	kubeletRuns      bool       // the kubelet reports
}

// imageVersion finds the kubelet's version in the name of an image, like
// "custom/ubuntu-v1.36.2". If the name has none, the version is the cluster's.
var imageVersion = regexp.MustCompile(`v1\.\d+\.\d+`)

// isRunning reports whether a machine runs what was deployed on it. Machines
// whose power MAAS cannot see count as on.
func isRunning(m sim.Machine) bool {
	on := m.PowerState == "on" || m.PowerState == "unknown"
	return m.StatusName == "Deployed" && on && len(m.IPAddresses) > 0
}

// errSwapOn is the kubelet's own error for a machine with swap
// (cm/container_manager_linux.go).
var errSwapOn = errors.New("the kubelet does not start: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")

// bootMachine takes the machine as far as it gets. The error says what it waits
// for.
func (w *Workloads) bootMachine(ctx context.Context, m *machine, seen sim.Machine) error {
	if m.kubeletRuns {
		return nil
	}
	if m.cluster == nil {
		if err := w.readUserData(ctx, m); err != nil {
			return err
		}
	}
	if seen.SwapOn && m.plan.failsOnSwap() {
		return errSwapOn
	}
	ip := seen.IPAddresses[0]
	if m.plan.controlPlane && m.server == nil {
		if err := w.serveAPI(m, ip); err != nil {
			return err
		}
	}
	if err := w.checkEndpoint(ctx, m.plan.endpoint, m.cluster.ca.pool); err != nil {
		return fmt.Errorf("the kubelet cannot reach the endpoint %s: %w", m.plan.endpoint, err)
	}
	if err := w.joinNode(ctx, m, seen, ip); err != nil {
		return err
	}
	m.cluster.setEtcdMember(m.plan.node.Name, m.plan.controlPlane)
	m.kubeletRuns = true
	return m.cluster.reportNodeReady(ctx, m.plan.node.Name, true)
}

// readUserData reads the user-data, and finds the cluster.
func (w *Workloads) readUserData(ctx context.Context, m *machine) error {
	files, commands, err := boot.FilesAndCommands(m.userData, m.hostname)
	if err != nil {
		return err
	}
	if m.plan, err = readPlan(sim.CloudInit{Files: files, Commands: commands}, m.hostname); err != nil {
		return err
	}
	m.cluster, err = w.findOrInitCluster(ctx, m.plan)
	if err != nil {
		m.cluster = nil
	}
	return err
}

// joinNode registers the node once. A kubelet that comes back finds it.
func (w *Workloads) joinNode(ctx context.Context, m *machine, seen sim.Machine, ip string) error {
	if m.joined {
		return nil
	}
	version := valueOr(imageVersion.FindString(seen.Image), m.cluster.Version)
	if err := m.cluster.registerNode(ctx, m.plan, version, ip); err != nil {
		return err
	}
	m.joined = true
	return nil
}

// serveAPI starts the API server of a machine with an address.
func (w *Workloads) serveAPI(m *machine, ip string) error {
	at := m.plan.apiServerAddress(ip)
	listen := at
	if w.mapsAddresses {
		listen = "127.0.0.1:0"
	}
	server, err := m.cluster.startAPIServer(listen, ip, m.plan.node.Name)
	if err != nil {
		return err
	}
	m.server, m.apiServerAddress = server, at
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listenAddresses[at] = server.address
	return nil
}

// haltMachine stops a machine: by a command, a power cut or its release.
func (w *Workloads) haltMachine(ctx context.Context, m *machine) error {
	if m.server != nil {
		m.server.stop()
		m.server = nil
		w.mu.Lock()
		delete(w.listenAddresses, m.apiServerAddress)
		w.mu.Unlock()
	}
	if m.cluster == nil {
		return nil
	}
	m.kubeletRuns = false
	m.cluster.setEtcdMember(m.plan.node.Name, false)
	return m.cluster.reportNodeReady(ctx, m.plan.node.Name, false)
}

// hasUserData reports whether the machine still has the user-data with which it
// was deployed.
func (m *machine) hasUserData(userData []byte) bool { return bytes.Equal(m.userData, userData) }
