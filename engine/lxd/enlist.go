package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// maxMACTries bounds the MACs that are tried if MAAS has given one to another machine.
// LXD's range has only 2^24 MACs. So among 1,000 VMs, one in thirty gets a MAC that another
// VM would get too.
const maxMACTries = 4

// macParameter is MAAS's parameter for MACs, as its error names it.
const macParameter = "mac_addresses"

// enlistInstance enlists the instance as a machine, or finds the machine that was made from
// it before. The machine's description tells its owner.
func (c *Composer) enlistInstance(ctx context.Context, s *session, p *plan) (string, error) {
	for tried := 1; ; tried++ {
		systemID, failure := c.Enlister.Enlist(ctx, p.enlistment(s.target.key))
		if failure == nil {
			return systemID, nil
		}
		unclear, taken := errors.Is(failure, engine.ErrUnclear), isParameterRefused(failure, macParameter)
		if !unclear && !taken {
			return "", failure
		}
		machines, err := c.Enlister.MachinesWithMACs(ctx, p.macs...)
		if err != nil {
			return "", fmt.Errorf("cannot tell whether %s was enlisted: %w: %w", p.comp.Hostname, engine.ErrUnclear, err)
		}
		ours := slices.IndexFunc(machines, func(m engine.Machine) bool { return m.Description == p.comp.Description })
		switch {
		case ours >= 0:
			return machines[ours].SystemID, nil
		case !taken:
			return "", failure // it may still appear
		case tried == maxMACTries || len(machines) == 0:
			return "", macTakenError(p, machines, failure)
		}
		if err := wantedMACTakenError(p, machines); err != nil {
			return "", err
		}
		c.Log.InfoContext(ctx, "another machine has the MAC, choosing another", "name", p.comp.Hostname, "mac", p.macs, "machine", machines[0].SystemID)
		if err := s.renewMACs(p); err != nil {
			return "", hostError(s.explainError(err), p.host.Name)
		}
	}
}

// isParameterRefused reports whether MAAS refused this parameter.
func isParameterRefused(err error, parameter string) bool {
	refusal, ok := errors.AsType[engine.FieldError](err)
	return ok && len(refusal.Fields()[parameter]) > 0
}

func macTakenError(p *plan, machines []engine.Machine, failure error) error {
	if len(machines) == 0 { // refused for another reason, or the machine is gone by now
		return failure
	}
	return &engine.Error{
		Type: engine.VMCreationFailed, Host: p.host.Name, Err: engine.ErrConflict,
		Message: fmt.Sprintf("MAAS has given the MAC of %s, %s, to machine %s (%s)", p.comp.Hostname, p.macs[0], machines[0].Hostname, machines[0].SystemID),
		Hint:    "If that machine is a leftover of this VM, delete it in MAAS; or choose another name: the MACs depend on it.",
	}
}

// wantedMACTakenError says that another machine has a MAC from the spec. It is nil if the
// taken MAC was chosen here.
func wantedMACTakenError(p *plan, machines []engine.Machine) error {
	for _, nic := range p.comp.Interfaces {
		for _, m := range machines {
			if nic.MAC == "" || !slices.ContainsFunc(m.Interfaces, func(i engine.MachineInterface) bool { return i.MAC == nic.MAC }) {
				continue
			}
			return &engine.SpecError{
				Field: nic.Field("mac_address"), Message: fmt.Sprintf("machine %s (system id %s) has the MAC address %s in MAAS", m.Hostname, m.SystemID, nic.MAC),
				Hint: "Choose another one, or leave it out.", Err: engine.ErrConflict,
			}
		}
	}
	return nil
}

// renewMACs gives the instance other MACs.
func (s *session) renewMACs(p *plan) error {
	path := s.projectPath("instances", p.post.Name)
	var have api.Instance
	etag, err := s.get(path, &have)
	if err != nil {
		return err
	}
	p.salt++
	p.chooseMACs()
	put := have.Writable()
	for n, mac := range p.macs {
		name := nicName(n)
		put.Devices[name]["hwaddr"] = mac
	}
	return s.send(http.MethodPut, path, put, etag)
}

// enlistment returns the machine to enlist. MAAS uses the same key pair for the LXD as we
// do.
func (p plan) enlistment(key fleetkey.Key) engine.Enlistment {
	return engine.Enlistment{
		Hostname: p.comp.Hostname, Architecture: p.comp.Architecture, MACs: p.macs,
		Instance: engine.Instance{
			Endpoint: engine.Endpoint{Address: p.host.Address, Project: p.host.Project}, Name: p.post.Name,
		},
		Credentials: key.Credentials, Description: p.comp.Description,
		Zone: p.comp.Zone, Pool: p.comp.Pool, Domain: p.comp.Domain,
	}
}
