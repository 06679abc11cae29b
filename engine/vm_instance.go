package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
)

// LXD calls a VM what it was made as, for as long as it exists, and admits a name
// once. So a VM that takes the former name of another one is made by a name of its
// own where that one is on the same host, and is renamed in MAAS together with its
// mark. For example, blue on h1 is renamed to blue-old, and another blue is to be
// made on h1: it is made as blue-k3x9q.

// madeAs is the hostname that the VM is composed with.
func (s VMSpec) madeAs() string { return cmp.Or(s.instance, s.Name) }

// instanceNote begins a line in the description of a VM that was renamed.
const instanceNote = "maaslxd: LXD calls it "

// noteInstance keeps in a description what LXD calls a VM that gets another name.
func noteInstance(description, name string) string {
	if strings.Contains(description, instanceNote) {
		return description
	}
	return instanceNote + name + "\n" + description
}

// madeAsName tells whether a VM that has another name by now was made by this one,
// as it says itself or as its mark does.
func (m Machine) madeAsName(name string) bool {
	if m.Hostname == name {
		return false
	}
	if slices.Contains(strings.Split(m.Description, "\n"), instanceNote+name) {
		return true
	}
	_, marked, _ := strings.Cut(string(m.MarkedBy()), "/")
	return marked == name
}

// madeThereAs tells whether a host has a VM that was made by a name and has another
// one by now. It is asked where LXD has refused the name.
func (v *vms) madeThereAs(ctx context.Context, host VMHost, name string) bool {
	listed, err := v.Composer.VMs(ctx, []VMHost{host})
	return err == nil && slices.ContainsFunc(listed, func(m Resident) bool { return m.madeAsName(name) })
}

// madeAnew gives a row up whose name LXD has refused on a host, and reserves the
// room again for a VM that is made as another one.
func (v *vms) madeAnew(ctx context.Context, where sites, host VMHost, row Row, want VMSpec) (sites, Row, error) {
	if err := v.dropAttempt(ctx, row); err != nil {
		return where, Row{}, err
	}
	v.Names.Refresh(ListHosts)
	newer, err := v.sites(ctx, row.Key, want, nil)
	if err != nil {
		return where, Row{}, err
	}
	if at, ok := newer.host(host.HostKey); ok { // the wish is for this host, or as good as any
		newer = sites{hosts: []VMHost{at}, candidates: []Candidate{newer.candidateOf(at)}}
	}
	r := newer.reservation(row.Key, want)
	r.Name = instanceName(want.Name)
	next, fresh, err := v.Ledger.Place(ctx, r)
	if err == nil && !fresh {
		err = fmt.Errorf("another run makes %s: %w", want.Name, ErrBusy)
	}
	v.Log.InfoContext(ctx, "LXD has an instance of that name, which was renamed in MAAS", "name", want.Name, "host", host.Name, "made_as", r.Name)
	return newer, next, err
}

// candidateOf is the candidate that a host of the sites is.
func (s sites) candidateOf(h VMHost) Candidate {
	i := slices.IndexFunc(s.candidates, func(c Candidate) bool { return c.HostKey == h.HostKey })
	return s.candidates[i]
}

// instanceName is a name that no other VM was made by.
func instanceName(name string) string {
	const most, own = 63, 5
	return strings.TrimRight(name[:min(len(name), most-own-1)], "-") + "-" + strings.ToLower(rand.Text()[:own])
}
