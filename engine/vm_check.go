package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
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

// label is one DNS label. MAAS would also take a dot, and LXD then refuses
// the instance.
var (
	label  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	number = regexp.MustCompile(`^[0-9]+$`)
)

// Validate checks what can be checked without asking MAAS. The error is a
// *SpecError.
func (s VMSpec) Validate() error {
	switch {
	case number.MatchString(s.Name):
		return &SpecError{
			Field: "name", Message: fmt.Sprintf("%q is a number, which LXD refuses as the name of an instance", s.Name),
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
	case s.Deploy != nil && len(s.Deploy.UserData) > MaxUserDataBytes:
		return &SpecError{
			Field:   "deploy.user_data",
			Message: fmt.Sprintf("%d bytes are more than the %d that reach MAAS safely", len(s.Deploy.UserData), MaxUserDataBytes),
			Hint:    "Let a short user-data fetch the rest.",
		}
	}
	return errors.Join(s.validateDisks(), s.validateInterfaces())
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

// check looks in MAAS for everything that the spec names, before anything is
// made, and returns the host.
func (v *vms) check(ctx context.Context, want VMSpec) (VMHost, error) {
	if err := v.capable(ctx); err != nil {
		return VMHost{}, err
	}
	host, err := v.host(ctx, want.Host)
	if err != nil {
		return VMHost{}, err
	}
	if host.Version == "" {
		return VMHost{}, &Error{
			Type: HostUnavailable, Host: host.Name, Message: "MAAS has never reached its LXD",
			Hint: "See the VM host's page in MAAS; its LXD must listen, and trust MAAS's certificate.",
		}
	}
	// A VM host that was just registered shows no cores until its inventory
	// has come, a second or two later.
	if host.Cores.Total == 0 {
		return VMHost{}, fmt.Errorf("MAAS does not know yet how many cores VM host %s has: %w", host.Name, ErrBusy)
	}
	checks := []func() error{
		func() (err error) { host, err = v.fits(ctx, host, want); return err },
		func() error { return fitsPools(host, want.Disks) },
		func() error { return v.checkNames(ctx, want) },
		func() error { return v.checkInterfaces(ctx, want.Interfaces) },
		func() error { return v.checkImage(ctx, want.Deploy) },
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return VMHost{}, err
		}
	}
	return host, nil
}

// capable says whether this MAAS, with this key, composes VMs at all.
func (v *vms) capable(ctx context.Context) error {
	can, err := v.Catalog.Capabilities(ctx)
	switch {
	case err != nil:
		return err
	case !can.VMHosts:
		return &Refusal{
			Message: fmt.Sprintf("MAAS %s has no VM hosts any more, so it cannot compose VMs", can.Version),
			Hint:    "VM hosts were removed after MAAS 3.8: use a MAAS up to that version.", Err: ErrGone,
		}
	case !can.Admin:
		return &Refusal{
			Message: fmt.Sprintf("the user %q of MAAS may not compose VMs", can.Username),
			Hint:    "MAAS reserves that to administrators: use the API key of one.", Err: ErrForbidden,
		}
	}
	return nil
}

// fits checks the size against the host, once more on a fresh list if there
// seems to be no room: VMs may just have gone. It returns the host as it was
// seen last.
func (v *vms) fits(ctx context.Context, host VMHost, want VMSpec) (VMHost, error) {
	err := fits(host, want)
	var short *Error
	if !errors.As(err, &short) {
		return host, err
	}
	v.Names.Refresh()
	if host, err = v.host(ctx, want.Host); err != nil {
		return host, err
	}
	return host, fits(host, want)
}

func fits(h VMHost, want VMSpec) error {
	cores := want.need().Cores
	switch {
	case cores > h.Cores.Total:
		return beyond("cores", cores, h.Cores.Total, "cores", h.Name)
	case want.MemoryMiB > h.MemoryMiB.Total:
		return beyond("memory_mib", want.MemoryMiB, h.MemoryMiB.Total, "MiB", h.Name)
	}
	for _, core := range want.PinnedCores {
		if core < 0 || int64(core) >= h.Cores.Total {
			return &SpecError{
				Field: "pinned_cores", Message: fmt.Sprintf("VM host %s has no core %d", h.Name, core),
				Hint: fmt.Sprintf("Its cores are 0 to %d.", h.Cores.Total-1),
			}
		}
	}
	if err := room(h, "cores", cores, h.Cores, h.CPUOvercommit); err != nil {
		return err
	}
	return room(h, "MiB of memory", want.MemoryMiB, h.MemoryMiB, h.MemoryOvercommit)
}

func beyond(field string, want, total int64, unit, host string) error {
	return &SpecError{
		Field:   field,
		Message: fmt.Sprintf("%d %s are more than the %d that VM host %s has", want, unit, total, host),
		Hint:    "A single VM cannot be larger than its host, whatever the over-commit ratio.",
	}
}

// room checks what is left of a resource after over-commit.
func room(h VMHost, what string, want int64, a Amount, ratio float64) error {
	left := a.left(ratio)
	if want <= left {
		return nil
	}
	return Terminal(&Error{
		Type: InsufficientResources, Host: h.Name,
		Message: fmt.Sprintf("%d %s wanted, %d left", want, what, max(0, left)),
		Hint:    "Choose another VM host, make the VM smaller, or raise the host's over-commit ratio.",
	})
}

func fitsPools(h VMHost, disks []Disk) error {
	wanted := map[string]int64{}
	for _, d := range disks {
		i := slices.IndexFunc(h.StoragePools, func(p StoragePool) bool {
			return p.Name == d.Pool || d.Pool == "" && p.Default
		})
		if i < 0 && d.Pool == "" {
			continue // no default known: MAAS decides
		}
		if i < 0 {
			names := make([]string, len(h.StoragePools))
			for n, p := range h.StoragePools {
				names[n] = p.Name
			}
			return unknown("disks."+d.Name+".pool", "storage pool on VM host "+h.Name, d.Pool, names)
		}
		pool := h.StoragePools[i]
		wanted[pool.Name] += d.SizeGB
		if wanted[pool.Name]*1e9 > pool.AvailableBytes {
			return &SpecError{
				Field: "disks." + d.Name + ".size_gb",
				Message: fmt.Sprintf("the disks need %d GB of storage pool %q on VM host %s, which has %d GB left",
					wanted[pool.Name], pool.Name, h.Name, pool.AvailableBytes/1e9),
				Hint: "Make the disks smaller, or use another pool or host.",
			}
		}
	}
	return nil
}

func (v *vms) checkNames(ctx context.Context, want VMSpec) error {
	for _, c := range []struct {
		field, kind, name string
		list              func(context.Context) ([]string, error)
	}{
		{"zone", "zone", want.Zone, v.Names.Zones},
		{"pool", "resource pool", want.Pool, v.Names.Pools},
		{"domain", "domain", want.Domain, v.Names.Domains},
	} {
		if c.name == "" {
			continue
		}
		found, names, err := find(ctx, v.Names, c.list, func(n string) bool { return n == c.name })
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return unknown(c.field, c.kind, c.name, names)
		}
	}
	return nil
}

// find returns what matches in a cached list, and the list. It looks once more
// in a fresh list before it finds nothing: in one apply, another resource may
// just have made what is named.
func find[T any](ctx context.Context, names Names, list func(context.Context) ([]T, error), matches func(T) bool) (found, all []T, err error) {
	for range 2 {
		if all, err = list(ctx); err != nil {
			return nil, nil, err
		}
		for _, item := range all {
			if matches(item) {
				found = append(found, item)
			}
		}
		if len(found) > 0 {
			break
		}
		names.Refresh()
	}
	return found, all, nil
}

func (v *vms) checkInterfaces(ctx context.Context, interfaces []Interface) error {
	for n, i := range interfaces {
		field := "interfaces." + i.Name
		subnet, err := v.subnet(ctx, field, i.Subnet)
		if err != nil {
			return err
		}
		prefix, err := netip.ParsePrefix(subnet.CIDR)
		switch {
		case n == 0 && !subnet.DHCP:
			return &SpecError{
				Field: field + ".subnet", Message: fmt.Sprintf("MAAS serves no DHCP on the VLAN of %s", subnet.CIDR),
				Hint: "A VM boots from the network of its first interface: turn DHCP on for that VLAN, or put another interface first.",
			}
		case i.IP.IsValid() && err == nil && !prefix.Contains(i.IP):
			return &SpecError{
				Field: field + ".ip", Message: fmt.Sprintf("%s is not in %s", i.IP, subnet.CIDR),
				Hint: "Give an address of the interface's subnet.",
			}
		}
	}
	return nil
}

// subnet finds a subnet by CIDR or name. Names of subnets need not be unique.
func (v *vms) subnet(ctx context.Context, field, wanted string) (Subnet, error) {
	found, all, err := find(ctx, v.Names, v.Names.Subnets, func(s Subnet) bool { return s.CIDR == wanted || s.Name == wanted })
	if err != nil {
		return Subnet{}, err
	}
	switch {
	case len(found) == 0:
		return Subnet{}, unknown(field+".subnet", "subnet", wanted, cidrs(all))
	case len(found) > 1 && found[0].CIDR != wanted:
		return Subnet{}, &SpecError{
			Field: field + ".subnet", Message: fmt.Sprintf("%d subnets are called %q", len(found), wanted),
			Hint: "Name one by its CIDR: " + strings.Join(cidrs(found), ", ") + ".",
		}
	}
	return found[0], nil
}

func cidrs(subnets []Subnet) []string {
	list := make([]string, len(subnets))
	for n, s := range subnets {
		list[n] = s.CIDR
	}
	return list
}

func (v *vms) checkImage(ctx context.Context, d *Deployment) error {
	if d == nil || d.Image == "" {
		return nil
	}
	found, images, err := find(ctx, v.Names, v.Catalog.Images, func(have string) bool {
		return have == d.Image || strings.HasSuffix(have, "/"+d.Image)
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return unknown("deploy.image", "image", d.Image, images)
	}
	return nil
}

func unknown(field, kind, name string, known []string) error {
	const most = 12
	hint := "MAAS has none."
	if len(known) > 0 {
		hint = "Known: " + strings.Join(known[:min(most, len(known))], ", ")
		if len(known) > most {
			hint += fmt.Sprintf(" and %d more", len(known)-most)
		}
		hint += "."
	}
	return &SpecError{
		Field: field, Message: fmt.Sprintf("MAAS knows no %s %q", kind, name), Hint: hint, Err: ErrNotFound,
	}
}
