package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// StandardProfile is the LXD profile of a VM that asks for none, where the
// project has it. MAAS never gives another one (drivers/pod/lxd.py,
// LXD_MAAS_PROFILE).
const StandardProfile = "maas"

// CheckProfile says why a VM on the host cannot have the LXD profile; nil: it
// can, or asks for none. It is a *SpecError where MAAS makes the VMs, and else
// an *Error, ProfileNotFound.
func (h VMHost) CheckProfile(name string) error {
	switch {
	case name == "" || slices.Contains(h.offered(), name):
		return nil
	case h.byMAAS():
		return CheckProfileOfMAAS(name)
	}
	return Terminal(&Error{
		Type: ProfileNotFound, Host: h.Name, Message: fmt.Sprintf("the project %q has no profile %q", h.Project, name),
		Hint: fmt.Sprintf("It has: %s. Make one on the host: lxc profile create %s --project %s.", listed(h.Profiles), name, h.Project),
	})
}

// CheckProfileOfMAAS says why a VM that MAAS makes cannot have the LXD profile,
// by a *SpecError; nil: it can, or asks for none.
func CheckProfileOfMAAS(name string) error {
	if name == "" || name == StandardProfile {
		return nil
	}
	return &SpecError{
		Field: "profile", Message: fmt.Sprintf("a VM that MAAS composes cannot have the LXD profile %q: MAAS always uses its own, %q where the project has it", name, StandardProfile),
		Hint: `Leave it out, or let VMs be made in LXD itself (composer = "lxd").`, Err: ErrInvalid,
	}
}

// byMAAS tells that it is MAAS which makes the VMs of the host.
func (h VMHost) byMAAS() bool { return h.ID != 0 }

// offered are the profiles that a VM on the host may ask for.
func (h VMHost) offered() []string {
	if h.byMAAS() {
		return []string{StandardProfile}
	}
	return h.Profiles
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// withProfile refuses a profile that no host has: that is a slip of the pen
// rather than a lack of room. Where a host does not tell yet what it has,
// placement waits for that.
func withProfile(hosts []VMHost, profile string) error {
	const most = 5
	var refusal error
	var lines []string
	for _, h := range hosts {
		err := h.CheckProfile(profile)
		switch {
		case err == nil:
			return nil
		case h.byMAAS():
			return err
		case h.unusable() != "":
			continue
		case !h.reached():
			return nil
		}
		refusal = err
		lines = append(lines, fmt.Sprintf("host %s, project %q: %s", h.Name, h.Project, listed(h.Profiles)))
	}
	if len(lines) < 2 {
		return refusal
	}
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return Terminal(&Error{
		Type: ProfileNotFound, Message: fmt.Sprintf("no host has a profile %q in its project", profile),
		Hint: fmt.Sprintf("There are: %s. Make one on a host: lxc profile create %s --project PROJECT.", strings.Join(lines, "; "), profile),
	})
}

// lacksProfile tells that an error is about a profile that a host lacks, which
// may just have been made.
func lacksProfile(err error) bool {
	typed, ok := errors.AsType[*Error](err)
	return ok && typed.Type == ProfileNotFound
}
