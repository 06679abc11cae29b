// Package host is the kind Host: machines that run LXD, or existing LXD servers, registered as
// VM hosts. Until its machine is Deployed, a host is a machine (package machine).
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Kind implements the verbs of engine.Kind for hosts: a Machine, and its VM host in MAAS.
type Kind struct {
	*stepBase
	otherHostSteps
	networkSteps
	registrationSteps
	deleteSteps
}

// stepBase is what all steps of the kind use.
type stepBase struct {
	*machine.Kind
	region         *region.Region
	inventoryLooks *region.Tries // at inventories that are still empty
	vmLooks        *region.Tries // at VMs on a host that is being removed
	silentLXDLooks *region.Tries // looks at LXDs that do not answer yet
	reports        firstBootReports
}

// The steps of the kind, by subject: the other VM hosts of an LXD, the network below the VMs,
// the registration of a VM host, and its removal.
type (
	otherHostSteps    struct{ *stepBase }
	networkSteps      struct{ *stepBase }
	registrationSteps struct {
		*stepBase
		otherHostSteps
	}
	deleteSteps struct {
		*stepBase
		otherHostSteps
	}
)

// New returns the kind Host on the kind Machine. It makes no call.
func New(machines *machine.Kind, in *region.Region) *Kind {
	p := &stepBase{Kind: machines, region: in, inventoryLooks: region.NewTries(), vmLooks: region.NewTries(), silentLXDLooks: region.NewTries()}
	n := otherHostSteps{p}
	return &Kind{stepBase: p, otherHostSteps: n, networkSteps: networkSteps{p}, registrationSteps: registrationSteps{p, n}, deleteSteps: deleteSteps{p, n}}
}

// Verbs returns the verbs of the kind Host.
func (h *Kind) Verbs() engine.Verbs[engine.HostSpec, engine.Host] {
	return engine.Verbs[engine.HostSpec, engine.Host]{Observe: h.observe, Reconcile: h.reconcile, Delete: h.delete, Check: h.obstacles}
}

// observe implements Kind.Observe.
func (h *Kind) observe(ctx context.Context, ref engine.Ref) (engine.Host, error) {
	m, err := h.FindMachine(ctx, ref)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Host{}, err
	}
	ref.Key = m.CurrentKey(ref.Key)
	record, findErr := h.findVMHost(ctx, ref.Key, m)
	if findErr != nil && !errors.Is(findErr, engine.ErrNotFound) {
		return engine.Host{}, findErr
	}
	if err != nil && findErr != nil {
		return engine.Host{}, fmt.Errorf("MAAS has neither a machine nor a VM host of %s: %w", ref.Key, engine.ErrNotFound)
	}
	seen := asHost(m, record, ref.Key)
	lost, err := h.HasLostMarks(ctx, ref, m)
	if lost {
		seen.Key, seen.Ours = ref.Key, true
	}
	return seen, err
}

func asHost(m engine.Machine, record engine.VMHost, key engine.Key) engine.Host {
	seen := machine.AsBareMetal(m, key)
	return engine.Host{
		Machine: m, VMHost: record, Ours: seen.Ours, Finished: seen.Finished, Registered: isRegisteredFor(record, key, m),
		Key: engine.Key(m.OwnerData[engine.KeyData]), FormerKey: engine.Key(m.OwnerData[engine.FormerKeyData]), Address: m.OwnerData[engine.AddressData], Fingerprint: m.OwnerData[engine.FingerprintData],
		ServerFingerprint: m.OwnerData[engine.ServerFingerprintData],
	}
}

// resultFromMachine turns the result for the machine into the result for the host.
func resultFromMachine(key engine.Key, res engine.Result[engine.BareMetal], record engine.VMHost) engine.Result[engine.Host] {
	return engine.Result[engine.Host]{
		Object: asHost(res.Object.Machine, record, key), SystemID: res.SystemID, Changed: res.Changed,
		Done: res.Done, After: res.After, Reason: res.Reason, Message: res.Message,
	}
}

// reconcile implements Kind.Reconcile.
func (h *Kind) reconcile(ctx context.Context, ref engine.Ref, want engine.HostSpec) (engine.Result[engine.Host], error) {
	if err := h.checkSpec(ctx, ref, want); err != nil {
		return engine.Result[engine.Host]{}, err
	}
	h.leaveName(ref, ref.CurrentKey())
	if want.Address != "" {
		return h.reconcileServer(ctx, ref, want)
	}
	if res, waits := h.waitForName(ref, want, nil); waits {
		return res, nil
	}
	res, err := h.ReconcileStep(ctx, ref, want.Machine, h.machinePreparation(want))
	if res, waits := h.waitForName(ref, want, err); waits {
		return res, nil
	}
	if err != nil || !res.Done {
		return resultFromMachine(ref.Key, res, engine.VMHost{}), err
	}
	m := res.Object.Machine
	if m.Status.Phase() != engine.PhaseDeployed || ref.Finished && !res.Object.Ours {
		// It was finished once, and is now in a state that people must resolve, or somebody
		// else's.
		record, err := h.findVMHost(ctx, ref.Key, m)
		if errors.Is(err, engine.ErrNotFound) {
			err = nil
		}
		return resultFromMachine(ref.Key, res, record), err
	}
	ref.SystemID, ref.Key = m.SystemID, m.CurrentKey(ref.Key)
	return h.reconcileRegistration(ctx, ref, want, m)
}

// checkSpec refuses an impossible spec, whatever state the host is in.
func (h *Kind) checkSpec(ctx context.Context, ref engine.Ref, want engine.HostSpec) error {
	if err := want.Validate(); err != nil {
		return err
	}
	if want.ServerFingerprint != "" && h.Probe == nil {
		return uncheckableCertificateError("only MAAS reaches it")
	}
	if err := h.CheckMayCompose(ctx); err != nil {
		return err
	}
	if err := h.checkZoneAndPool(ctx, want); err != nil {
		return err
	}
	if h.CheckKeyTransport != nil && want.Credentials.Key != "" && !ref.Finished {
		return h.CheckKeyTransport()
	}
	return nil
}

// machinePreparation is what a machine needs to become a VM host.
func (h *Kind) machinePreparation(want engine.HostSpec) machine.Preparation {
	return machine.Preparation{
		AdoptionData: map[string]string{engine.ProjectData: want.Project},
		Check: func(ctx context.Context, m engine.Machine) error {
			return h.checkHardwareAndNetwork(ctx, withPoolSizes(want, m), m)
		},
		PrepareNetwork: func(ctx context.Context, m engine.Machine) (engine.Machine, error) {
			if err := checkHardware(withPoolSizes(want, m), m); err != nil {
				return m, err
			}
			m, err := h.ensureNetwork(ctx, m, want)
			if err != nil {
				return m, err
			}
			return h.Annotate(ctx, m, map[string]string{engine.FingerprintData: want.Credentials.Fingerprint()})
		},
		CompleteDeployment: func(m engine.Machine) (*engine.Deployment, error) {
			what := *want.Machine.Deploy
			data, err := withPoolSizes(want, m).UserData()
			what.UserData = data
			return &what, errors.Join(err, what.Validate())
		},
	}
}

// reconcileServer registers an existing LXD server. MAAS finds or makes its machine when it
// registers it.
func (h *Kind) reconcileServer(ctx context.Context, ref engine.Ref, want engine.HostSpec) (engine.Result[engine.Host], error) {
	var m engine.Machine
	if ref.SystemID != "" {
		var err error
		if m, err = h.Machines.Machine(ctx, ref.SystemID); err != nil {
			if errors.Is(err, engine.ErrNotFound) {
				err = engine.MarkTerminal(err)
			}
			return engine.Result[engine.Host]{}, err
		}
		ref.Key = m.CurrentKey(ref.Key)
	}
	return h.reconcileRegistration(ctx, ref, want, m)
}

// endpointOf is the address and project of the host's LXD.
func endpointOf(want engine.HostSpec, m engine.Machine) (engine.Endpoint, error) {
	if want.Address != "" {
		return engine.Endpoint{Address: engine.Endpoint{Address: want.Address}.URL(), Project: want.Project}, nil
	}
	ip := addressOf(m, want)
	if only, err := netip.ParseAddr(want.LXD.ListenAddress); err == nil && !only.IsUnspecified() {
		ip = only.String()
	}
	if ip == "" {
		return engine.Endpoint{}, fmt.Errorf("MAAS knows no address of %s yet: %w", m.Hostname, engine.ErrBusy)
	}
	port := cmp.Or(want.LXD.ListenPort, cloudinit.DefaultPort)
	return engine.Endpoint{Address: "https://" + net.JoinHostPort(ip, strconv.Itoa(port)), Project: want.Project}, nil
}

// registeredEndpoint is where the LXD of a registered host answers. The note of a finished or adopted host
// counts: somebody may have registered it by an address that MAAS does not list for its machine.
func registeredEndpoint(ref engine.Ref, want engine.HostSpec, m engine.Machine) (engine.Endpoint, error) {
	noted := m.OwnerData[engine.AddressData]
	if noted == "" || want.Address != "" || !want.Machine.Adopt && !ref.Finished {
		return endpointOf(want, m)
	}
	return engine.Endpoint{Address: engine.Endpoint{Address: noted}.URL(), Project: want.Project}, nil
}

// addressOf is the address of the machine on the interface of its default gateway, else on its
// bridge, else on the interface that it boots from. Otherwise it is the first one that MAAS
// knows.
func addressOf(m engine.Machine, want engine.HostSpec) string {
	first := func(links []engine.InterfaceLink) string {
		for _, l := range links {
			if l.IP != "" {
				return l.IP
			}
		}
		return ""
	}
	if ip := gatewayAddress(m, want.Network); ip != "" {
		return ip
	}
	for _, b := range m.Bridges {
		if ip := first(b.Links); ip != "" && (want.Bridge == nil || want.Bridge.Name == b.Name) {
			return ip
		}
	}
	for _, i := range m.Interfaces {
		if ip := first(i.Links); ip != "" && i.ID == m.BootInterface {
			return ip
		}
	}
	if len(m.IPAddresses) > 0 {
		return m.IPAddresses[0]
	}
	return ""
}

// hasGateway tells whether one of the machine's gateways is in a subnet. If MAAS does not tell
// the gateways, any subnet counts.
func hasGateway(m engine.Machine, cidr string) bool {
	subnet, err := netip.ParsePrefix(cidr)
	return len(m.Gateways) == 0 || err == nil && slices.ContainsFunc(m.Gateways, func(g string) bool {
		ip, err := netip.ParseAddr(g)
		return err == nil && subnet.Contains(ip)
	})
}

// gatewayAddress is the address of the link that the spec chose for the default gateway, empty
// if there is none.
func gatewayAddress(m engine.Machine, want *engine.NetworkSpec) string {
	for _, i := range want.Interfaces() {
		for _, l := range i.Links {
			child := findChild(m, i.Name)
			if !l.DefaultGateway || child == nil {
				continue
			}
			for _, have := range child.Links {
				if have.IP != "" && have.Mode == l.Mode && (!l.IP.IsValid() || l.IP.String() == have.IP) && hasGateway(m, have.Subnet) {
					return have.IP
				}
			}
		}
	}
	return ""
}
