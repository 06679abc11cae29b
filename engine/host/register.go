package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
)

// probeInterval is how often to ask an LXD that does not answer yet.
const probeInterval = 10 * time.Second

// probePause is the pause before the next look at an LXD that has not answered so many looks.
// The pauses are 1, 1, 1.5, 2 and so on to 4.5 s, then 8, and then 10 s. A first boot may be
// over soon, or take minutes. A boot of 11 to 23 s costs at most a third of waiting time in
// addition. Pauses that double would cost half as much in addition, with one look less.
func probePause(looks int) time.Duration {
	switch {
	case looks <= 9:
		return max(time.Second, time.Duration(looks)*time.Second/2)
	case looks == 10:
		return 8 * time.Second
	}
	return probeInterval
}

// findVMHost finds the VM host of a key: by the tag that Register put on it, by the notes of
// its machine, or by the machine itself. It is ErrNotFound if there is none.
func (h *stepBase) findVMHost(ctx context.Context, key engine.Key, m engine.Machine) (engine.VMHost, error) {
	all, err := h.Composer.Hosts(ctx)
	if err != nil {
		return engine.VMHost{}, err
	}
	noted := m.NotedVMHostID()
	var onMachine []engine.VMHost
	for _, r := range all {
		switch {
		case slices.Contains(r.Tags, engine.MarkerOf(key)), noted != 0 && r.ID == noted && (r.MachineID == "" || r.MachineID == m.SystemID):
			return r, nil
		case m.SystemID != "" && r.MachineID == m.SystemID:
			onMachine = append(onMachine, r)
		}
	}
	return h.findOfSameProject(ctx, m, onMachine)
}

// isRegisteredFor tells that the VM host is the key's. Where MAAS has no VM hosts, the notes of
// its machine tell.
func isRegisteredFor(h engine.VMHost, key engine.Key, m engine.Machine) bool {
	ours := engine.Key(m.OwnerData[engine.KeyData]) == key
	if h.MAASMakesVMs() {
		return slices.Contains(h.Tags, engine.MarkerOf(key)) || ours && m.NotedVMHostID() == h.ID
	}
	return ours && h.MachineID != "" && h.MachineID == m.SystemID
}

// findOfSameProject finds the VM host of the machine's project. A machine may have several VM
// hosts, each of another project.
func (h *stepBase) findOfSameProject(ctx context.Context, m engine.Machine, found []engine.VMHost) (engine.VMHost, error) {
	project := m.OwnerData[engine.ProjectData]
	for _, r := range found {
		if project == "" {
			break
		}
		e, err := h.Registrar.Endpoint(ctx, r)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return engine.VMHost{}, err
		}
		if err == nil && e.Project == project {
			return r, nil
		}
	}
	return engine.VMHost{}, fmt.Errorf("MAAS has no VM host on %s: %w", m.Hostname, engine.ErrNotFound)
}

// reconcileRegistration takes the VM host one step towards the spec: it must be known to MAAS,
// with version, pools, cores and the wanted settings. The machine is unknown for an LXD server
// that MAAS has not seen yet.
func (h *registrationSteps) reconcileRegistration(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine) (engine.Result[engine.Host], error) {
	m, err := h.noteProject(ctx, ref.Key, want, m)
	if err != nil {
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
	}
	record, err := h.findVMHost(ctx, ref.Key, m)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
	}
	return actionsIn(situationOf(record, err == nil)).reconcile.step(h, ctx, ref, want, m, record)
}

// noteProject notes on our machine the project that it is about to be registered with.
func (h *stepBase) noteProject(ctx context.Context, key engine.Key, want engine.HostSpec, m engine.Machine) (engine.Machine, error) {
	if engine.Key(m.OwnerData[engine.KeyData]) != key {
		return m, nil
	}
	return h.Annotate(ctx, m, map[string]string{engine.ProjectData: want.Project})
}

func waitingResult(key engine.Key, m engine.Machine, record engine.VMHost, reason, message string) engine.Result[engine.Host] {
	return engine.Result[engine.Host]{
		Object: asHost(m, record, key), SystemID: m.SystemID, After: probeInterval, Reason: reason, Message: message,
	}
}

// register makes the VM host, unless its project holds VMs: MAAS would take them over and
// power-cycle them.
func (h *registrationSteps) register(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, _ engine.VMHost) (engine.Result[engine.Host], error) {
	e, err := endpointOf(want, m)
	if err != nil {
		return waitingResult(ref.Key, m, engine.VMHost{}, "NoAddress", err.Error()), nil
	}
	if err := checkTrust(want, m); err != nil {
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
	}
	if m.SystemID == "" { // otherwise it would wait for an address that nobody has
		if err := h.Registrar.CheckMachineExists(ctx, e); err != nil {
			return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
		}
	}
	server, err := h.probeLXD(ctx, ref, want, m, e)
	switch {
	case errors.Is(err, engine.ErrForbidden) && want.Address != "":
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), untrustedError(want, e, err)
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrForbidden): // during a first boot, the LXD trusts the key late
		res := waitingResult(ref.Key, m, engine.VMHost{}, "WaitingForLXD", h.absentLXDMessage(ctx, want, m, e, err))
		res.After = probePause(h.silentLXDLooks.Count(ref.Key))
		return res, nil
	case err == nil:
		err = h.checkInstances(ctx, want, m, e, server)
	}
	if err != nil {
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
	}
	if m.SystemID == "" {
		if err := h.checkOwners(ctx, ref.Key, e, server); err != nil {
			return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
		}
	}
	if m, err = h.noteServer(ctx, ref.Key, m, server); err != nil {
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
	}
	return h.sendRegistration(ctx, ref, want, m, e)
}

// checkInstances refuses to register an LXD whose project holds instances, or may hold them,
// unless the spec allows it.
func (h *registrationSteps) checkInstances(ctx context.Context, want engine.HostSpec, m engine.Machine, e engine.Endpoint, server *engine.LXDServer) error {
	takesOver, err := h.Registrar.AdoptsExistingVMs(ctx)
	installedByUs := m.OwnerData[engine.StateData] == engine.StateInProgress && !want.Machine.Adopt
	switch {
	case err != nil:
		return err
	case want.AdoptExistingVMs, !takesOver:
		return nil
	case server == nil && !installedByUs:
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot check whether project %q of the LXD at %s holds VMs; MAAS would take them over and power-cycle them", want.Project, e.Address),
			Hint:    "Make the LXD reachable from here.", Ways: []engine.Way{engine.WayAdoptVMs}, Err: engine.ErrConflict,
		}
	case server != nil && len(server.Instances) > 0:
		return &engine.Refusal{
			Message: fmt.Sprintf("project %q of the LXD at %s holds instances already: %s", want.Project, e.Address, strings.Join(server.Instances, ", ")),
			Hint:    "MAAS would take them over and power-cycle them. If others made them, delete them or move them to another project.",
			Ways:    []engine.Way{engine.WayComposeAgain, engine.WayAdoptVMs}, Err: engine.ErrConflict,
		}
	}
	return nil
}

// absentLXDMessage says what the step waits for while an LXD refuses us. If somebody else
// deployed the machine, no first boot of ours can report more.
func (h *registrationSteps) absentLXDMessage(ctx context.Context, want engine.HostSpec, m engine.Machine, e engine.Endpoint, cause error) string {
	message := fmt.Sprintf("LXD at %s is not there yet: %v", e.Address, cause)
	switch {
	case want.Machine.Adopt && errors.Is(cause, engine.ErrForbidden):
		return fmt.Sprintf("LXD at %s answers, but does not trust the client certificate %s yet", e.Address, want.Credentials.Fingerprint())
	case want.Machine.Adopt:
		return message
	}
	return h.withFirstBootReport(ctx, message, m)
}

func (h *registrationSteps) sendRegistration(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, e engine.Endpoint) (engine.Result[engine.Host], error) {
	r := engine.Registration{
		Name: vmHostName(want, m), MachineID: m.SystemID, Endpoint: e, Credentials: want.Credentials, Zone: want.Zone, Pool: want.Pool,
		Tags:          append(slices.Clone(want.Tags), engine.MarkerOf(ref.Key)), // by which the next look finds it, even without the ledger
		CPUOvercommit: want.CPUOvercommit, MemoryOvercommit: want.MemoryOvercommit,
	}
	ctx, cancel := engine.WithGrace(ctx)
	defer cancel()
	made, err := h.Registrar.Register(ctx, r)
	switch {
	case errors.Is(err, engine.ErrConflict):
		return h.handleRegisteredBefore(ctx, ref.Key, m, r, err)
	case err != nil:
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), fmt.Errorf("cannot register the LXD at %s: %w", e.Address, hostSpecErrors(err))
	}
	h.Log.InfoContext(ctx, "registered a VM host", "name", r.Name, "address", e.Address, "id", made.ID)
	res := waitingResult(ref.Key, m, made, "Registered", "the inventory of "+r.Name+" is taken")
	res.After = engine.TransitionPollInterval
	return res, nil
}

func vmHostName(want engine.HostSpec, m engine.Machine) string {
	switch {
	case want.Name != "":
		return want.Name
	case m.Hostname != "":
		return m.Hostname
	}
	return nameFromAddress(want.Address)
}

// nameFromAddress is a name for a server of which only the address is known.
func nameFromAddress(address string) string {
	_, host, found := strings.Cut(address, "://")
	if !found {
		host = address
	}
	return "lxd-" + strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSuffix(host, ":8443"))), "-")
}

// handleRegisteredBefore names the VM host that MAAS already has for an address, or finds that
// it is ours now.
func (h *registrationSteps) handleRegisteredBefore(ctx context.Context, key engine.Key, m engine.Machine, r engine.Registration, refusal error) (engine.Result[engine.Host], error) {
	h.Names.Refresh(engine.ListHosts)
	if _, err := h.findVMHost(ctx, key, m); err == nil {
		res := waitingResult(key, m, engine.VMHost{}, "Registered", r.Name+" is registered now")
		res.After = engine.TransitionPollInterval
		return res, nil
	}
	all, err := h.Composer.Hosts(ctx)
	if err != nil {
		return waitingResult(key, m, engine.VMHost{}, "", ""), err
	}
	for _, other := range all {
		e, err := h.Registrar.Endpoint(ctx, other)
		if err != nil || e.Project != r.Project || e.URL() != r.Address {
			continue
		}
		if res, ours := h.resumeRegistration(ctx, key, other); ours {
			return res, nil
		}
		return waitingResult(key, m, other, "", ""), &engine.SpecError{
			Field:   fieldpath.New("address"),
			Message: fmt.Sprintf("MAAS has project %q of the LXD at %s already, as VM host %s%s", e.Project, e.Address, other.Name, idText(other)),
			Hint:    "Remove that VM host in MAAS.",
			Ways:    []engine.Way{engine.WayImport.ForMachine(other.MachineID)}, Err: engine.ErrConflict,
		}
	}
	return waitingResult(key, m, engine.VMHost{}, "", ""), fmt.Errorf("cannot register the LXD at %s: %w", r.Address, refusal)
}

// resumeRegistration continues with a VM host that has lost its first tag, after a run that
// died before it marked the machine as finished.
func (h *registrationSteps) resumeRegistration(ctx context.Context, key engine.Key, record engine.VMHost) (engine.Result[engine.Host], bool) {
	m, err := h.Machines.Machine(ctx, record.MachineID)
	seen := machine.AsBareMetal(m, key)
	if err != nil || !seen.Ours || seen.Finished {
		return engine.Result[engine.Host]{}, false
	}
	res := waitingResult(key, m, record, "Registered", record.Name+" was registered by an earlier run")
	res.After = engine.TransitionPollInterval
	return res, true
}
