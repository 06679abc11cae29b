// Package inplace changes the settings of a machine that MAAS can change at any time: its
// hostname, zone, resource pool, domain, description, tags, annotations and lock. The kinds VM
// and Machine share it.
package inplace

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Updater changes the settings of machines of one kind.
type Updater struct {
	engine.Config
	kind         KindTraits
	leavingNames *region.LeavingNames
}

// KindTraits are the differences between the kinds.
type KindTraits struct {
	// Noun is the word for a machine of the kind in texts: "VM" or "machine".
	Noun string
	// HostnameField is the field of the spec that has its hostname.
	HostnameField fieldpath.Path
	// NoteHostname notes in a description the hostname that the machine was made with, before it
	// leaves it. Nil: nobody needs it.
	NoteHostname func(description string, m engine.Machine) string
	// MarkedHostname is the hostname in the mark of a machine; empty: none. Nil: marks have no
	// hostname.
	MarkedHostname func(engine.Machine) string
}

// New returns an Updater. left has the hostnames that this process is leaving.
func New(cfg engine.Config, kind KindTraits, left *region.LeavingNames) *Updater {
	return &Updater{Config: cfg, kind: kind, leavingNames: left}
}

// WantedSettings are the wanted settings of a machine.
type WantedSettings struct {
	engine.InPlaceSettings
	// Key is the key that the machine has, or will have.
	Key engine.Key
	// Hostname is the wanted one; empty: its own.
	Hostname string
	// AwaitName says to wait for a hostname that another machine is about to leave.
	AwaitName bool
}

// NeedsChange tells whether the tags, annotations or the lock of a machine differ from the
// wanted ones.
func (w WantedSettings) NeedsChange(m engine.Machine) bool {
	return len(w.MissingTags(m))+len(w.SurplusTags(m))+len(w.annotationChanges(m)) > 0 || w.Locked != nil && *w.Locked != m.Locked
}

// UpdateMachine changes a machine, and unlocks it for that. First it looks for the names in the
// change. The error is a *NameWaitError while another machine has the hostname.
func (s *Updater) UpdateMachine(ctx context.Context, w WantedSettings, m engine.Machine, u engine.MachineUpdate) (engine.Machine, error) {
	if err := s.CheckNames(ctx, s.NamesOf(NamesIn(u))); err != nil {
		return m, err
	}
	m, err := s.UnlockForChange(ctx, w, m)
	if err != nil {
		return m, err
	}
	if u.Hostname != nil {
		m, err = s.rename(ctx, w, m, u)
	} else {
		err = s.Machines.Update(ctx, m.SystemID, u)
	}
	if err != nil {
		return m, fmt.Errorf("cannot change %s: %w", m.Hostname, engine.AsSpecErrorsBy(err, s.fieldsByParameter()))
	}
	if u.Hostname != nil || u.Zone != nil || u.Pool != nil || u.Domain != nil {
		s.Log.InfoContext(ctx, "changed in place", "kind", s.kind.Noun, "name", m.Hostname, "system_id", m.SystemID)
	}
	return m, nil
}

// fieldsByParameter maps the parameter that MAAS refuses to the field of the spec.
func (s *Updater) fieldsByParameter() map[string]fieldpath.Path {
	fields := map[string]fieldpath.Path{"hostname": s.kind.HostnameField}
	for _, same := range []string{"zone", "pool", "domain", "description"} {
		fields[same] = fieldpath.New(same)
	}
	return fields
}

// NamesIn are the names of MAAS's objects in a change.
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

// NamesOf are the names of the wanted zone, resource pool and domain.
func (s *Updater) NamesOf(want engine.InPlaceSettings) []Name {
	return []Name{
		{fieldpath.New("zone"), "zone", want.Zone, s.Names.Zones},
		{fieldpath.New("pool"), "resource pool", want.Pool, s.Names.Pools},
		{fieldpath.New("domain"), "domain", want.Domain, s.Names.Domains},
	}
}

// CheckName looks for a name in MAAS. The error is a *SpecError if MAAS does not have it.
func (s *Updater) CheckName(ctx context.Context, n Name) error {
	return engine.CheckName(ctx, s.Names, n.Field, n.Kind, n.Text, n.List)
}

// CheckNames looks for several names, until MAAS lacks one.
func (s *Updater) CheckNames(ctx context.Context, names []Name) error {
	for _, n := range names {
		if err := s.CheckName(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
