package compose

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// An instance keeps the name that it was made with, and LXD allows a name once. So a VM needs
// another instance name if a renamed VM on the same host was made with its name. It is then
// renamed in MAAS together with its mark. For example, blue on h1 is renamed to blue-old, and
// another blue is to be made on h1: it is made as blue-k3x9q.

// instanceNamePrefix begins a line in the description of a VM that was renamed.
const instanceNamePrefix = "maaslxd: LXD calls it "

// NoteInstanceName notes in a description the instance name of a VM that gets another name. If
// somebody renamed a finished VM in MAAS, its mark has the name that it was made with. For
// example, web-1 was renamed to foo, and is renamed to web-2: LXD calls it web-1.
func NoteInstanceName(description string, m engine.Machine) string {
	if strings.Contains(description, instanceNamePrefix) {
		return description
	}
	name := m.Hostname
	if marked := MarkedName(m); marked != "" && engine.WasFinishedOnce(m) {
		name = marked
	}
	return instanceNamePrefix + name + "\n" + description
}

// wasMadeAs tells whether a renamed VM was made with this name, by its own note or by its mark.
func wasMadeAs(m engine.Machine, name string) bool {
	if m.Hostname == name {
		return false
	}
	if slices.Contains(strings.Split(m.Description, "\n"), instanceNamePrefix+name) {
		return true
	}
	return MarkedName(m) == name
}

// MarkedName is the name in the key of a VM's mark, after the owner; empty: there is none.
func MarkedName(m engine.Machine) string {
	_, name, _ := strings.Cut(string(m.VMMark()), "/")
	return name
}

// hasInstanceMadeAs tells whether a host has a VM that was made with a name and has another one
// now. It is called after LXD has refused the name.
func (mk *Maker) hasInstanceMadeAs(ctx context.Context, host engine.VMHost, name string) bool {
	listed, err := mk.Composer.VMs(ctx, []engine.VMHost{host})
	return err == nil && slices.ContainsFunc(listed, func(m engine.Resident) bool { return wasMadeAs(m.Machine, name) })
}

// reserveUnderNewName drops a row whose name LXD has refused on a host. It then reserves the
// room again for a VM with another instance name.
func (a *Attempt) reserveUnderNewName(ctx context.Context, host engine.VMHost) error {
	if err := a.dropPlacedRow(ctx, a.row); err != nil {
		return err
	}
	a.Names.Refresh(engine.ListHosts)
	newer, err := a.FindSites(ctx, a.key, a.want, nil)
	if err != nil {
		return err
	}
	if at, ok := newer.findHost(host.HostKey); ok { // the spec names this host, or it is as good as any
		newer = Sites{hosts: []engine.VMHost{at}, candidates: []engine.Candidate{newer.candidateOf(at)}}
	}
	r := newer.reservation(a.key, a.want)
	r.Name = newInstanceName(a.want.Name)
	next, fresh, err := a.Ledger.Place(ctx, r)
	if err == nil && !fresh {
		err = fmt.Errorf("another run makes %s: %w", a.want.Name, engine.ErrBusy)
	}
	if err != nil {
		return err
	}
	a.Log.InfoContext(ctx, "LXD has an instance of that name, which was renamed in MAAS", "name", a.want.Name, "host", host.Name, "made_as", r.Name)
	a.sites, a.row = newer, next
	return nil
}

// candidateOf is the candidate of a host among the sites.
func (s Sites) candidateOf(h engine.VMHost) engine.Candidate {
	i := slices.IndexFunc(s.candidates, func(c engine.Candidate) bool { return c.HostKey == h.HostKey })
	return s.candidates[i]
}

// newInstanceName is a name that no other VM was made with.
func newInstanceName(name string) string {
	const most, own = 63, 5
	return strings.TrimRight(name[:min(len(name), most-own-1)], "-") + "-" + strings.ToLower(rand.Text()[:own])
}
