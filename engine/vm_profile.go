package engine

import (
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
	case h.MAASMakesVMs():
		return CheckProfileOfMAAS(name)
	}
	return Terminal(&Error{
		Type: ProfileNotFound, Host: h.Name, Message: fmt.Sprintf("the project %q has no profile %q", h.Project, name),
		Hint: fmt.Sprintf("It has: %s. Make one on the host: lxc profile create %s --project %s.", ListNames(h.Profiles), name, h.Project),
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

// offered are the profiles that a VM on the host may ask for.
func (h VMHost) offered() []string {
	if h.MAASMakesVMs() {
		return []string{StandardProfile}
	}
	return h.Profiles
}

// ListNames is a list for people, "none" if it is empty.
func ListNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
