package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// probeAgain is how often an LXD is asked that does not answer yet.
const probeAgain = 10 * time.Second

// probeAfter is the pause before the next look at an LXD that has not answered at
// so many looks: 1, 1, 1, 2, 2, 4, 4, 8, 8 and then 10 s. A first boot may be over
// soon, and else takes minutes.
func probeAfter(looks int) time.Duration {
	return min(probeAgain, time.Second<<min(max(0, looks-2)/2, 4))
}

// record finds the VM host of a key: by the tag that Register left with it, by
// what its machine says, or by the machine itself. It is ErrNotFound if there
// is none.
func (h *hosts) record(ctx context.Context, key Key, m Machine) (VMHost, error) {
	all, err := h.Composer.Hosts(ctx)
	if err != nil {
		return VMHost{}, err
	}
	noted, _ := strconv.Atoi(m.OwnerData[vmHostData])
	var onMachine []VMHost
	for _, r := range all {
		switch {
		case slices.Contains(r.Tags, marker(key)), noted != 0 && r.ID == noted && (r.MachineID == "" || r.MachineID == m.SystemID):
			return r, nil
		case m.SystemID != "" && r.MachineID == m.SystemID:
			onMachine = append(onMachine, r)
		}
	}
	return h.sameProject(ctx, m, onMachine)
}

// registeredFor tells that the VM host, where there is one, is the key's. Where
// MAAS has no VM hosts, it is what its machine says.
func (h VMHost) registeredFor(key Key, m Machine) bool {
	ours := Key(m.OwnerData[keyData]) == key
	if h.ID != 0 {
		return slices.Contains(h.Tags, marker(key)) || ours && m.OwnerData[vmHostData] == strconv.Itoa(h.ID)
	}
	return ours && h.MachineID != "" && h.MachineID == m.SystemID
}

// sameProject finds the VM host of the machine's project. A machine may have
// several VM hosts, of a project each.
func (h *hosts) sameProject(ctx context.Context, m Machine, found []VMHost) (VMHost, error) {
	project := m.OwnerData[projectData]
	for _, r := range found {
		if project == "" {
			break
		}
		e, err := h.Registrar.Endpoint(ctx, r)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return VMHost{}, err
		}
		if err == nil && e.Project == project {
			return r, nil
		}
	}
	return VMHost{}, fmt.Errorf("MAAS has no VM host on %s: %w", m.Hostname, ErrNotFound)
}

// registered takes the VM host one step towards the spec: known to MAAS, with
// version, pools and cores, set as wanted. The machine is unknown for an LXD
// server that MAAS has not seen yet.
func (h *hosts) registered(ctx context.Context, ref Ref, want HostSpec, m Machine) (Result[Host], error) {
	m, err := h.noteProject(ctx, ref.Key, want, m)
	if err != nil {
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	}
	record, err := h.record(ctx, ref.Key, m)
	switch {
	case errors.Is(err, ErrNotFound):
		return h.register(ctx, ref, want, m)
	case err != nil:
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	case !ready(record):
		return h.awaitInventory(ctx, ref.Key, want, record, m)
	}
	return h.known(ctx, ref, want, m, record)
}

// noteProject writes on our machine which project it is registered with, before
// it is.
func (h *hosts) noteProject(ctx context.Context, key Key, want HostSpec, m Machine) (Machine, error) {
	if Key(m.OwnerData[keyData]) != key {
		return m, nil
	}
	return h.annotate(ctx, m, map[string]string{projectData: want.Project})
}

// ready reports whether MAAS has seen the LXD and its hardware. The answer to
// a registration says neither.
func ready(r VMHost) bool {
	return r.Version != "" && r.Cores.Total > 0 && r.MemoryMiB.Total > 0 && len(r.StoragePools) > 0 && r.MachineID != ""
}

func waiting(key Key, m Machine, record VMHost, reason, message string) Result[Host] {
	return Result[Host]{
		Object: hostAs(m, record, key), systemID: m.SystemID, After: probeAgain, Reason: reason, Message: message,
	}
}

// register makes the VM host, unless its project holds VMs: MAAS would take
// them over and power-cycle them.
func (h *hosts) register(ctx context.Context, ref Ref, want HostSpec, m Machine) (Result[Host], error) {
	e, err := want.endpoint(m)
	if err != nil {
		return waiting(ref.Key, m, VMHost{}, "NoAddress", err.Error()), nil
	}
	if err := want.trusts(m); err != nil {
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	}
	if m.SystemID == "" { // or an address that is nobody's would be waited for
		if err := h.Registrar.Locate(ctx, e); err != nil {
			return waiting(ref.Key, m, VMHost{}, "", ""), err
		}
	}
	ours := m.OwnerData[stateData] == stateInProgress && !want.Machine.Adopt
	takesOver, err := h.Registrar.TakesOver(ctx)
	if err != nil {
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	}
	server, err := h.probe(ctx, ref, want, m, e)
	switch {
	case errors.Is(err, ErrForbidden) && want.Address != "":
		return waiting(ref.Key, m, VMHost{}, "", ""), want.untrusted(e, err)
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrForbidden): // a first boot trusts late
		res := waiting(ref.Key, m, VMHost{}, "WaitingForLXD", h.absent(ctx, want, m, e, err))
		res.After = probeAfter(h.absences.count(ref.Key))
		return res, nil
	case err != nil:
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	case want.AdoptExistingVMs, !takesOver:
	case server == nil && !ours:
		return waiting(ref.Key, m, VMHost{}, "", ""), &Refusal{
			Message: fmt.Sprintf("cannot see whether project %q of the LXD at %s holds VMs already, which MAAS would take over and power-cycle", want.Project, e.Address),
			Hint:    "Let the LXD be reached from here, or set adopt_existing_vms if that is what you want.", Err: ErrConflict,
		}
	case server != nil && len(server.Instances) > 0:
		return waiting(ref.Key, m, VMHost{}, "", ""), &Refusal{
			Message: fmt.Sprintf("project %q of the LXD at %s holds instances already: %s", want.Project, e.Address, strings.Join(server.Instances, ", ")),
			Hint: "MAAS would take them over and power-cycle them. Delete them, or move them to another project; if that is what you want, set adopt_existing_vms (Terraform), " +
				"or register the host in MAAS yourself (Cluster API).", Err: ErrConflict,
		}
	}
	if m, err = h.noteServer(ctx, ref.Key, m, server); err != nil {
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	}
	return h.post(ctx, ref, want, m, e)
}

// absent says what is waited for where an LXD does not let us in. On a machine
// that somebody else deployed no first boot of ours tells more.
func (h *hosts) absent(ctx context.Context, want HostSpec, m Machine, e Endpoint, cause error) string {
	message := fmt.Sprintf("LXD at %s is not there yet: %v", e.Address, cause)
	switch {
	case want.Machine.Adopt && errors.Is(cause, ErrForbidden):
		return fmt.Sprintf("LXD at %s is there, and does not trust the client certificate %s yet", e.Address, want.Credentials.Fingerprint())
	case want.Machine.Adopt:
		return message
	}
	return h.firstBootSays(ctx, message, m)
}

func (h *hosts) post(ctx context.Context, ref Ref, want HostSpec, m Machine, e Endpoint) (Result[Host], error) {
	r := Registration{
		Name: want.name(m), MachineID: m.SystemID, Endpoint: e, Credentials: want.Credentials, Zone: want.Zone, Pool: want.Pool,
		Tags:          append(slices.Clone(want.Tags), marker(ref.Key)), // by which the next look finds it, whatever is lost
		CPUOvercommit: want.CPUOvercommit, MemoryOvercommit: want.MemoryOvercommit,
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	made, err := h.Registrar.Register(ctx, r)
	switch {
	case errors.Is(err, ErrConflict):
		return h.registeredBefore(ctx, ref.Key, m, r, err)
	case err != nil:
		return waiting(ref.Key, m, VMHost{}, "", ""), fmt.Errorf("cannot register the LXD at %s: %w", e.Address, refusedHost(err))
	}
	h.Log.InfoContext(ctx, "registered VM host", "name", r.Name, "address", e.Address, "id", made.ID)
	res := waiting(ref.Key, m, made, "Registered", "the inventory of "+r.Name+" is taken")
	res.After = shortly
	return res, nil
}

func (want HostSpec) name(m Machine) string {
	switch {
	case want.Name != "":
		return want.Name
	case m.Hostname != "":
		return m.Hostname
	}
	return lxdName(want.Address)
}

// lxdName is a name for a server that is known by its address only.
func lxdName(address string) string {
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

// registeredBefore names the VM host that MAAS has for an address already, or
// finds that it is ours by now.
func (h *hosts) registeredBefore(ctx context.Context, key Key, m Machine, r Registration, refusal error) (Result[Host], error) {
	h.Names.Refresh(ListHosts)
	if _, err := h.record(ctx, key, m); err == nil {
		res := waiting(key, m, VMHost{}, "Registered", r.Name+" is registered by now")
		res.After = shortly
		return res, nil
	}
	all, err := h.Composer.Hosts(ctx)
	if err != nil {
		return waiting(key, m, VMHost{}, "", ""), err
	}
	for _, other := range all {
		e, err := h.Registrar.Endpoint(ctx, other)
		if err != nil || e.Project != r.Project || canonical(e.Address) != r.Address {
			continue
		}
		if res, ours := h.begun(ctx, key, other); ours {
			return res, nil
		}
		return waiting(key, m, other, "", ""), &SpecError{
			Field:   "address",
			Message: fmt.Sprintf("MAAS has project %q of the LXD at %s already, as VM host %s%s", e.Project, e.Address, other.Name, other.number()),
			Hint:    fmt.Sprintf("Import it by the system id of its machine, %s, or remove that VM host in MAAS.", other.MachineID), Err: ErrConflict,
		}
	}
	return waiting(key, m, VMHost{}, "", ""), fmt.Errorf("cannot register the LXD at %s: %w", r.Address, refusal)
}

// begun goes on with a VM host that has lost the tag of its birth, where a run
// died before it noted on the machine that it was finished.
func (h *hosts) begun(ctx context.Context, key Key, record VMHost) (Result[Host], bool) {
	m, err := h.Machines.Machine(ctx, record.MachineID)
	seen := metalAs(m, key)
	if err != nil || !seen.Ours || seen.Finished {
		return Result[Host]{}, false
	}
	res := waiting(key, m, record, "Registered", record.Name+" was registered by an earlier run")
	res.After = shortly
	return res, true
}
