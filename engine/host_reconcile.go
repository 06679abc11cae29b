package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// hosts implements the kind Host: a Machine, and its VM host in MAAS.
type hosts struct {
	*metal
	locks     *hostLocks
	names     *namesLeft
	looks     *tries // at inventories that do not come
	residents *tries // at VMs on a host that is to go
	absences  *tries // looks at LXDs that do not answer yet

	reports reports
}

// Validate checks what can be checked without asking MAAS. The error is a
// *SpecError.
func (s HostSpec) Validate() error {
	for _, ratio := range []struct {
		field string
		value float64
	}{{"cpu_overcommit", s.CPUOvercommit}, {"memory_overcommit", s.MemoryOvercommit}} {
		if !(ratio.value >= 0 && ratio.value <= 10) { // NaN too
			return &SpecError{Field: ratio.field, Message: fmt.Sprintf("%g is no over-commit ratio", ratio.value), Hint: "MAAS takes up to 10; 1 is none."}
		}
	}
	if err := s.validateServer(); err != nil {
		return err
	}
	switch {
	case s.Project == "":
		return &SpecError{Field: "project", Message: "there is no LXD project", Hint: `Name the one in which MAAS shall make VMs, such as "maas".`}
	case s.Credentials.Certificate == "" || s.Credentials.Key == "":
		return &SpecError{Field: "lxd_client_cert", Message: "there is no client certificate with its key", Hint: "LXD must know MAAS by a certificate that was given to both."}
	case s.Address != "":
		return nil
	case s.Machine.Deploy == nil && !s.Machine.Adopt:
		return &SpecError{Field: "deploy", Message: "a machine must be deployed to become a VM host", Hint: "Say what to deploy, or adopt a machine that is Deployed."}
	}
	if s.Machine.Adopt {
		return errors.Join(s.Machine.Validate(), s.Bridge.validate())
	}
	if err := s.Bridge.validate(); err != nil {
		return errors.Join(s.Machine.Validate(), err) // the first boot has a network of that name
	}
	return errors.Join(s.Machine.Validate(), s.validateFirstBoot())
}

// observe implements Kind.Observe.
func (h *hosts) observe(ctx context.Context, ref Ref) (Host, error) {
	m, err := h.look(ctx, ref)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Host{}, err
	}
	ref.Key = m.current(ref.Key)
	record, findErr := h.record(ctx, ref.Key, m)
	if findErr != nil && !errors.Is(findErr, ErrNotFound) {
		return Host{}, findErr
	}
	if err != nil && findErr != nil {
		return Host{}, fmt.Errorf("neither machine nor VM host of %s: %w", ref.Key, ErrNotFound)
	}
	return hostAs(m, record, ref.Key), nil
}

func hostAs(m Machine, record VMHost, key Key) Host {
	seen := metalAs(m, key)
	return Host{
		Machine: m, VMHost: record, Ours: seen.Ours, Finished: seen.Finished, Registered: record.registeredFor(key, m),
		Key: Key(m.OwnerData[keyData]), FormerKey: Key(m.OwnerData[formerData]), Address: m.OwnerData[addressData], Fingerprint: m.OwnerData[fingerprintData],
		ServerFingerprint: m.OwnerData[serverData],
	}
}

// hostResult turns what was seen of the machine into what was seen of the
// host.
func hostResult(key Key, res Result[BareMetal], record VMHost) Result[Host] {
	return Result[Host]{
		Object: hostAs(res.Object.Machine, record, key), systemID: res.systemID, changed: res.changed,
		Done: res.Done, After: res.After, Reason: res.Reason, Message: res.Message,
	}
}

// reconcile implements Kind.Reconcile.
func (h *hosts) reconcile(ctx context.Context, ref Ref, want HostSpec) (Result[Host], error) {
	if err := want.Validate(); err != nil {
		return Result[Host]{}, err
	}
	if want.ServerFingerprint != "" && h.Probe == nil {
		return Result[Host]{}, unprovable("only MAAS reaches it")
	}
	if err := h.capable(ctx); err != nil {
		return Result[Host]{}, err
	}
	if err := h.checkHostNames(ctx, want); err != nil {
		return Result[Host]{}, err
	}
	if h.MayTravel != nil && want.Credentials.Key != "" && !ref.Finished {
		if err := h.MayTravel(); err != nil {
			return Result[Host]{}, err
		}
	}
	h.leaveName(ref, ref.now())
	if want.Address != "" {
		return h.reconcileServer(ctx, ref, want)
	}
	if res, waits := h.waitForName(ref, want, nil); waits {
		return res, nil
	}
	res, err := h.reach(ctx, ref, want.Machine, h.preparation(want))
	if res, waits := h.waitForName(ref, want, err); waits {
		return res, nil
	}
	if err != nil || !res.Done {
		return hostResult(ref.Key, res, VMHost{}), err
	}
	m := res.Object.Machine
	if m.Status.Phase() != PhaseDeployed || ref.Finished && !res.Object.Ours {
		// It was finished once, and now it is in a state that is for people, or
		// someone else's.
		record, err := h.record(ctx, ref.Key, m)
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return hostResult(ref.Key, res, record), err
	}
	ref.SystemID, ref.Key = m.SystemID, m.current(ref.Key)
	return h.registered(ctx, ref, want, m)
}

// preparation is what a machine needs to become a VM host.
func (h *hosts) preparation(want HostSpec) preparation {
	return preparation{
		fits: func(ctx context.Context, m Machine) error { return h.fits(ctx, want.sized(m), m) },
		network: func(ctx context.Context, m Machine) (Machine, error) {
			if err := want.sized(m).fits(m); err != nil {
				return m, err
			}
			if want.Bridge != nil {
				var err error
				if m, err = h.bridge(ctx, m, *want.Bridge); err != nil {
					return m, err
				}
			}
			return h.annotate(ctx, m, map[string]string{fingerprintData: want.Credentials.Fingerprint()})
		},
		deployment: func(m Machine) (*Deployment, error) {
			what := *want.Machine.Deploy
			data, err := want.sized(m).UserData()
			what.UserData = data
			return &what, errors.Join(err, what.validate())
		},
	}
}

// reconcileServer registers an LXD server that runs already. Its machine is
// one that MAAS finds, or makes, when it registers it.
func (h *hosts) reconcileServer(ctx context.Context, ref Ref, want HostSpec) (Result[Host], error) {
	var m Machine
	if ref.SystemID != "" {
		var err error
		if m, err = h.Machines.Machine(ctx, ref.SystemID); err != nil {
			if errors.Is(err, ErrNotFound) {
				err = Terminal(err)
			}
			return Result[Host]{}, err
		}
		ref.Key = m.current(ref.Key)
	}
	return h.registered(ctx, ref, want, m)
}

// endpoint is where the host's LXD listens.
func (want HostSpec) endpoint(m Machine) (Endpoint, error) {
	if want.Address != "" {
		return Endpoint{Address: canonical(want.Address), Project: want.Project}, nil
	}
	ip := m.address(want.Bridge)
	if only, err := netip.ParseAddr(want.LXD.ListenAddress); err == nil && !only.IsUnspecified() {
		ip = only.String()
	}
	if ip == "" {
		return Endpoint{}, fmt.Errorf("MAAS knows no address of %s yet: %w", m.Hostname, ErrBusy)
	}
	port := cmp.Or(want.LXD.ListenPort, cloudinit.DefaultPort)
	return Endpoint{Address: "https://" + net.JoinHostPort(ip, strconv.Itoa(port)), Project: want.Project}, nil
}

// canonical spells an address in full, as we do for all hosts. MAAS compares
// addresses as texts, and would make two VM hosts of one LXD.
func canonical(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	rest = strings.ToLower(strings.TrimSuffix(rest, "/"))
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.Trim(rest, "[]"), strconv.Itoa(cloudinit.DefaultPort)
	}
	return "https://" + net.JoinHostPort(host, port)
}

// address is where the machine can be reached: on its bridge, else on the
// interface that it boots from, else at the first address that MAAS knows.
func (m Machine) address(bridge *BridgeSpec) string {
	first := func(links []InterfaceLink) string {
		for _, l := range links {
			if l.IP != "" {
				return l.IP
			}
		}
		return ""
	}
	for _, b := range m.Bridges {
		if ip := first(b.Links); ip != "" && (bridge == nil || bridge.Name == b.Name) {
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
