package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// obstacles implements Kind.Check. A spec with neither Host nor a Strategy of
// Placement leaves the host open.
func (v *vms) obstacles(ctx context.Context, ref Ref, want VMSpec) Obstacles {
	var o Obstacles
	if o.note(v.capable(ctx)); !o.none() {
		return o // nothing can be made, whatever is asked for
	}
	for _, n := range v.namesOf(want) {
		o.note(checkName(ctx, v.Names, n.field, n.kind, n.name, n.list))
	}
	o.note(v.checkImage(ctx, want.Deploy))
	v.interfaceObstacles(ctx, &o, ref, want)
	v.nameObstacles(ctx, &o, ref, want)
	switch {
	case want.Host != "":
		v.hostObstacles(ctx, &o, ref, want)
	case want.Placement.Strategy != "" && len(o.Lasting) == 0:
		_, err := v.placedSites(ctx, ref.Key, want, nil)
		o.note(err)
	}
	return o
}

func (v *vms) interfaceObstacles(ctx context.Context, o *Obstacles, ref Ref, want VMSpec) {
	for n, i := range want.Interfaces {
		if i.Subnet == "" {
			continue
		}
		field := "interfaces." + i.Name
		subnet, err := v.subnet(ctx, field, i.Subnet)
		if err == nil && n == 0 {
			err = subnet.boots(field)
		}
		if err != nil || !i.IP.IsValid() {
			o.note(err)
			continue
		}
		use, err := v.addressUse(ctx, field+".ip", subnet, i.IP)
		switch {
		case err != nil:
			o.note(err)
		case use.Purpose == AddressFree, ref.SystemID != "" && use.SystemID == ref.SystemID:
		case use.SystemID == "":
			o.note(use.refusal(field+".ip", i.IP))
		default:
			holder, err := v.Machines.Machine(ctx, use.SystemID)
			if err == nil || errors.Is(err, ErrNotFound) {
				o.heldBy(holder, use.refusal(field+".ip", i.IP))
				continue
			}
			o.note(err)
		}
	}
}

// nameObstacles looks for another machine of the name. An unfinished one with the
// mark of the key is what an earlier run has left of the VM, and is gone on with.
func (v *vms) nameObstacles(ctx context.Context, o *Obstacles, ref Ref, want VMSpec) {
	if want.Name == "" || ref.SystemID != "" && want.Name == ref.Name {
		return
	}
	named, err := v.Machines.MachinesNamed(ctx, want.Name)
	o.note(err)
	for _, m := range named {
		own := seenAs(m, ref.Key)
		switch {
		case m.SystemID == ref.SystemID, own.Ours && !own.Finished:
		case own.Ours:
			o.heldBy(m, known(want.Name, m))
		default:
			o.heldBy(m, taken(want.Name, m, ""))
		}
	}
}

// hostObstacles looks at the host that is named, and whether the VM fits on it.
func (v *vms) hostObstacles(ctx context.Context, o *Obstacles, ref Ref, want VMSpec) {
	host, err := v.host(ctx, want.Host)
	if err != nil {
		o.note(err)
		return
	}
	if !host.reached() {
		o.note(&Error{
			Type: HostUnavailable, Host: host.Name, Message: "no VM can be made on it now: " + host.unreached(),
			Hint: "Plan again once its LXD answers.",
		})
		return
	}
	usable := host.usable()
	if host.lostMachine() && usable != nil { // the apply gives it its machine back
		o.Passing, usable = append(o.Passing, usable), nil
	}
	o.note(errors.Join(host.suits(want.Placement), usable))
	_, err = v.inProject(ctx, []VMHost{host}, want.Placement.Project)
	o.note(err)
	o.note(v.imagedOn(ctx, host, want.Deploy))
	if ref.SystemID != "" {
		host = v.without(ctx, host, ref.SystemID)
	}
	for _, err := range []error{host.CheckProfile(want.Profile), fits(host, want), fitsPools(host, want.Disks)} {
		o.note(err)
	}
}

// without is the host as it will be once a VM is gone.
func (v *vms) without(ctx context.Context, host VMHost, systemID string) VMHost {
	m, err := v.Machines.Machine(ctx, systemID)
	if err != nil {
		return host // its room may pass, whatever it is
	}
	on, err := v.Composer.HostOf(ctx, m)
	if err != nil || on.HostKey != host.HostKey {
		return host
	}
	m = v.Composer.Complete(ctx, m)
	host.Cores.Used -= int64(m.Cores)
	host.MemoryMiB.Used -= m.MemoryMiB
	host.StoragePools = slices.Clone(host.StoragePools)
	for _, d := range m.Disks {
		for n, p := range host.StoragePools {
			if p.Name == d.Pool || d.Pool == "" && p.Default {
				host.StoragePools[n].AvailableBytes += d.SizeGB * 1e9
			}
		}
	}
	return host
}

// imagedOn refuses an image that MAAS does not have for the architecture of the
// host: MAAS itself says so only when it deploys.
func (v *vms) imagedOn(ctx context.Context, host VMHost, d *Deployment) error {
	if d == nil || len(host.Architectures) == 0 {
		return nil
	}
	images, err := v.Catalog.Images(ctx)
	if err != nil {
		return err
	}
	short, _, _ := strings.Cut(host.Architectures[0], "/")
	known := architectures(images, d)
	if len(known) == 0 || slices.Contains(known, short) {
		return nil // none is known: MAAS has the last word
	}
	return &SpecError{
		Field:   "deploy.image",
		Message: fmt.Sprintf("VM host %s is of the architecture %s, and MAAS has %s for %s only", host.Name, host.Architectures[0], d.name(), strings.Join(known, ", ")),
		Hint:    fmt.Sprintf("Choose another VM host, name an image that MAAS has for %s, or import this one for it in MAAS.", short), Err: ErrConflict,
	}
}
