// Package settle changes in place what MAAS lets one change of a machine at any time: its
// hostname, zone, resource pool, domain, description, tags, annotations and lock. The kinds
// VM and Machine share it.
package settle

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Settler changes machines of a kind.
type Settler struct {
	engine.Config
	kind         KindTraits
	leavingNames *region.LeavingNames
}

// KindTraits is what the machines of a kind differ in here.
type KindTraits struct {
	// Noun is how texts call one: "VM" or "machine".
	Noun string
	// HostnameField is the field of the spec that has its hostname.
	HostnameField fieldpath.Path
	// NoteHostname writes a hostname that is left into a description. Nil: nobody needs it.
	NoteHostname func(description, hostname string) string
}

// New returns a Settler. The hostnames that this process leaves are those of left.
func New(cfg engine.Config, kind KindTraits, left *region.LeavingNames) *Settler {
	return &Settler{Config: cfg, kind: kind, leavingNames: left}
}

// WantedSettings is what is wanted of a machine.
type WantedSettings struct {
	engine.InPlaceSettings
	// Key is what the machine is, or is to be, known by.
	Key engine.Key
	// Hostname that it is to have; empty: its own.
	Hostname string
	// AwaitName: a hostname that another machine is about to leave is waited for.
	AwaitName bool
}

// NeedsChange tells whether the tags, annotations or the lock of a machine are not as wanted.
func (w WantedSettings) NeedsChange(m engine.Machine) bool {
	return len(w.MissingTags(m))+len(w.SurplusTags(m))+len(w.annotationChanges(m)) > 0 || w.Locked != nil && *w.Locked != m.Locked
}

// UpdateMachine sends a change of a machine, which is unlocked for it. What the change names is
// looked for first. The error is a *NameWait while another machine has the hostname.
func (s *Settler) UpdateMachine(ctx context.Context, w WantedSettings, m engine.Machine, u engine.MachineUpdate) (engine.Machine, error) {
	if err := s.CheckNames(ctx, s.NamesOf(NamesIn(u))); err != nil {
		return m, err
	}
	m, err := s.UnlockForChange(ctx, w, m)
	if err != nil {
		return m, err
	}
	change := func() error { return s.Machines.Update(ctx, m.SystemID, u) }
	if u.Hostname != nil {
		change = func() error { return s.rename(ctx, w, m, u) }
	}
	if err := change(); err != nil {
		return m, fmt.Errorf("cannot change %s: %w", m.Hostname, engine.AsSpecErrorsBy(err, s.fieldsByParameter()))
	}
	if u.Hostname != nil || u.Zone != nil || u.Pool != nil || u.Domain != nil {
		s.Log.InfoContext(ctx, "changed in place", "kind", s.kind.Noun, "name", m.Hostname, "system_id", m.SystemID)
	}
	return m, nil
}

// fieldsByParameter of the spec, by the parameter in which MAAS refuses them.
func (s *Settler) fieldsByParameter() map[string]fieldpath.Path {
	fields := map[string]fieldpath.Path{"hostname": s.kind.HostnameField}
	for _, same := range []string{"zone", "pool", "domain", "description"} {
		fields[same] = fieldpath.New(same)
	}
	return fields
}

// NamesIn are what a change names in MAAS.
func NamesIn(u engine.MachineUpdate) engine.InPlaceSettings {
	name := func(of *string) string {
		if of == nil {
			return ""
		}
		return *of
	}
	return engine.InPlaceSettings{Zone: name(u.Zone), Pool: name(u.Pool), Domain: name(u.Domain)}
}

// Name is a name in a spec that MAAS must have in a list.
type Name struct {
	Field fieldpath.Path // of the spec
	Kind  string         // in words: "zone"
	Text  string         // the name; empty: there is nothing to look for
	List  func(context.Context) ([]string, error)
}

// NamesOf are the names of the zone, resource pool and domain that are wanted.
func (s *Settler) NamesOf(want engine.InPlaceSettings) []Name {
	return []Name{
		{fieldpath.New("zone"), "zone", want.Zone, s.Names.Zones},
		{fieldpath.New("pool"), "resource pool", want.Pool, s.Names.Pools},
		{fieldpath.New("domain"), "domain", want.Domain, s.Names.Domains},
	}
}

// CheckName looks for a name in MAAS. The error is a *SpecError if it is not there.
func (s *Settler) CheckName(ctx context.Context, n Name) error {
	return engine.CheckName(ctx, s.Names, n.Field, n.Kind, n.Text, n.List)
}

// CheckNames looks for several, until one is not there.
func (s *Settler) CheckNames(ctx context.Context, names []Name) error {
	for _, n := range names {
		if err := s.CheckName(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
