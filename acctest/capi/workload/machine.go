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

// machine is one of MAAS's machines that runs what it was deployed with.
type machine struct {
	hostname string
	userData []byte
	plan     plan
	cluster  *Cluster
	server   *apiServer // of a control plane that is on
	at       string     // its host:port, as the other machines know it
	joined   bool       // the node was registered
	on       bool       // the kubelet reports
}

// imageVersion finds the version of the kubelet in the name of an image, like
// "custom/ubuntu-v1.36.2". Of an image that tells none, it is the cluster's.
var imageVersion = regexp.MustCompile(`v1\.\d+\.\d+`)

// boots tells whether a machine runs what was deployed on it. Those whose
// power MAAS cannot see were turned on by hand.
func boots(m sim.Machine) bool {
	on := m.PowerState == "on" || m.PowerState == "unknown"
	return m.StatusName == "Deployed" && on && len(m.IPAddresses) > 0
}

// errSwap is the kubelet's own word for a machine with swap (cm/container_manager_linux.go).
var errSwap = errors.New("the kubelet does not start: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")

// boot lets the machine go as far as it gets: the error is what it waits for.
func (w *Workloads) boot(ctx context.Context, m *machine, seen sim.Machine) error {
	if m.on {
		return nil
	}
	if m.cluster == nil {
		if err := w.begin(ctx, m); err != nil {
			return err
		}
	}
	if seen.SwapOn && m.plan.failsOnSwap() {
		return errSwap
	}
	ip := seen.IPAddresses[0]
	if m.plan.controlPlane && m.server == nil {
		if err := w.serve(m, ip); err != nil {
			return err
		}
	}
	if err := w.reach(ctx, m.plan.endpoint, m.cluster.ca.pool); err != nil {
		return fmt.Errorf("the kubelet cannot reach the endpoint %s: %w", m.plan.endpoint, err)
	}
	if err := w.join(ctx, m, seen, ip); err != nil {
		return err
	}
	m.cluster.setMember(m.plan.node.Name, m.plan.controlPlane)
	m.on = true
	return m.cluster.report(ctx, m.plan.node.Name, true)
}

// begin reads the user-data, and finds the cluster.
func (w *Workloads) begin(ctx context.Context, m *machine) error {
	files, commands, err := boot.WrittenBy(m.userData, m.hostname)
	if err != nil {
		return err
	}
	if m.plan, err = readPlan(sim.CloudInit{Files: files, Commands: commands}, m.hostname); err != nil {
		return err
	}
	m.cluster, err = w.clusterFor(ctx, m.plan)
	if err != nil {
		m.cluster = nil
	}
	return err
}

// join registers the node, once: a kubelet that comes back finds it.
func (w *Workloads) join(ctx context.Context, m *machine, seen sim.Machine, ip string) error {
	if m.joined {
		return nil
	}
	version := or(imageVersion.FindString(seen.Image), m.cluster.Version)
	if err := m.cluster.register(ctx, m.plan, version, ip); err != nil {
		return err
	}
	m.joined = true
	return nil
}

// serve starts the API server of a machine with an address.
func (w *Workloads) serve(m *machine, ip string) error {
	at := m.plan.address(ip)
	listen := at
	if w.maps {
		listen = "127.0.0.1:0"
	}
	server, err := m.cluster.serve(listen, ip, m.plan.node.Name)
	if err != nil {
		return err
	}
	m.server, m.at = server, at
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mapped[at] = server.address
	return nil
}

// halt is a machine that stops: by a command, a power cut or its release.
func (w *Workloads) halt(ctx context.Context, m *machine) error {
	if m.server != nil {
		m.server.stop()
		m.server = nil
		w.mu.Lock()
		delete(w.mapped, m.at)
		w.mu.Unlock()
	}
	if m.cluster == nil {
		return nil
	}
	m.on = false
	m.cluster.setMember(m.plan.node.Name, false)
	return m.cluster.report(ctx, m.plan.node.Name, false)
}

// sameAs tells whether the machine is deployed with what it runs.
func (m *machine) sameAs(userData []byte) bool { return bytes.Equal(m.userData, userData) }
