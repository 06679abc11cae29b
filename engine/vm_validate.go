package engine

import (
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// Limits of a spec.
const (
	// MinMemoryMiB is the least memory that MAAS composes a VM with
	// (forms/pods.py, ComposeMachineForm).
	MinMemoryMiB = 1024
	// MaxUserDataBytes keeps a deploy request, in which user-data travels as
	// URL-encoded base64, below 1 MiB: what nginx lets through unless told
	// otherwise.
	MaxUserDataBytes = 512 << 10
	// MaxDiskGB, 1 PB, only catches slips of the pen.
	MaxDiskGB = 1_000_000
)

// Validate checks what can be checked without asking MAAS. The error is a
// *SpecError.
func (s VMSpec) Validate() error {
	switch {
	case digit.MatchString(s.Name) && label.MatchString(s.Name):
		return &SpecError{
			Field: "name", Message: fmt.Sprintf("%q begins with a digit, which LXD refuses in the name of an instance", s.Name),
			Hint: "Put a letter before it.",
		}
	case !label.MatchString(s.Name):
		return &SpecError{
			Field:   "name",
			Message: fmt.Sprintf("%q is no hostname that both MAAS and LXD take", s.Name),
			Hint:    "Use 1 to 63 lower-case letters, digits and hyphens, without a dot; the domain has an attribute of its own.",
		}
	case len(s.PinnedCores) == 0 && s.Cores < 1:
		return &SpecError{Field: "cores", Message: fmt.Sprintf("%d is too few", s.Cores), Hint: "A VM needs at least 1 core."}
	case s.MemoryMiB < MinMemoryMiB:
		return &SpecError{
			Field: "memory_mib", Message: fmt.Sprintf("%d MiB is too little", s.MemoryMiB),
			Hint: fmt.Sprintf("MAAS composes VMs with at least %d MiB.", MinMemoryMiB),
		}
	case len(s.Disks) == 0:
		return &SpecError{Field: "disks", Message: "there is no root disk", Hint: "Give at least a root disk."}
	}
	return errors.Join(s.Placement.validate(), s.validateDisks(), s.validateInterfaces(), s.validateAddresses(), s.Deploy.Validate())
}

func (p Placement) validate() error {
	switch p.Strategy {
	case "", placement.Spread, placement.Pack:
		return nil
	}
	return &SpecError{
		Field: "placement.strategy", Message: fmt.Sprintf("%q is no strategy", p.Strategy),
		Hint: fmt.Sprintf("Use %q or %q.", placement.Spread, placement.Pack),
	}
}

func (s VMSpec) validateDisks() error {
	for _, d := range s.Disks {
		if d.SizeGB < 1 || d.SizeGB > MaxDiskGB {
			return &SpecError{
				Field: "disks." + d.Name + ".size_gb", Message: fmt.Sprintf("a disk of %d GB makes no sense", d.SizeGB),
				Hint: fmt.Sprintf("A disk has 1 to %d GB.", MaxDiskGB),
			}
		}
	}
	return nil
}

func (s VMSpec) validateInterfaces() error {
	for _, i := range s.Interfaces {
		if !label.MatchString(i.Name) {
			return &SpecError{
				Field: "interfaces." + i.Name, Message: fmt.Sprintf("%q is no label of an interface", i.Name),
				Hint: `Use lower-case letters, digits and hyphens: "eth0".`,
			}
		}
	}
	return nil
}
