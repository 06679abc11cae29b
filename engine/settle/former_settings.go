package settle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// formerSettingsData is the owner data that says what a machine was like before we changed it. A
// release clears it, when everything was put back.
const formerSettingsData = engine.MarkerPrefix + "before"

// FormerSettings is what a machine had, of what we have changed on it. Its record is the site's, and
// outlives what we do with it.
type FormerSettings struct {
	Hostname    *FormerValue `json:"hostname,omitempty"`
	Zone        *FormerValue `json:"zone,omitempty"`
	Pool        *FormerValue `json:"pool,omitempty"`
	Domain      *FormerValue `json:"domain,omitempty"`
	Description *FormerValue `json:"description,omitempty"` // of it, DescriptionText
	// AddedTags are those that we put on, and RemovedTags those of others that we took off.
	AddedTags   []string `json:"tags,omitempty"`
	RemovedTags []string `json:"tags_off,omitempty"`
}

// FormerValue is what a field said before, and what we have written into it since: the last value,
// and the one before if a run that died may not have written the last.
type FormerValue struct {
	Was string   `json:"was"`
	Set []string `json:"set"`
}

// FormerSettingsOf reads the note of a machine. One that is not there, or that nobody can read, is
// empty.
func FormerSettingsOf(m engine.Machine) FormerSettings {
	var b FormerSettings
	if err := json.Unmarshal([]byte(m.OwnerData[formerSettingsData]), &b); err != nil {
		return FormerSettings{}
	}
	return b
}

// OwnerData is the owner data that says so.
func (b FormerSettings) OwnerData() (map[string]string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("cannot note what a machine was like: %w", err)
	}
	return map[string]string{formerSettingsData: string(text)}, nil
}

// formerValueOf is a field that says now what it does, and is to say something else. A value that
// somebody else has written since is what the site wants back: we moved a machine from az1 to
// az2, its owner moved it to az3, and after a release it belongs in az3.
func formerValueOf(f *FormerValue, now, next string, parked bool) *FormerValue {
	switch {
	case f == nil:
		return &FormerValue{Was: now, Set: []string{next}}
	case parked || now == f.Was || now == next:
		return &FormerValue{Was: f.Was, Set: []string{next}}
	case slices.Contains(f.Set, now):
		return &FormerValue{Was: f.Was, Set: []string{now, next}}
	}
	return &FormerValue{Was: now, Set: []string{next}}
}

// WithChange adds what an update is about to change of a machine, and the tags that it is about
// to get and to lose.
func (b FormerSettings) WithChange(m engine.Machine, u engine.MachineUpdate, added, removed []string) FormerSettings {
	for _, c := range []struct {
		field **FormerValue
		now   string
		next  *string
	}{
		{&b.Hostname, m.Hostname, u.Hostname}, {&b.Zone, m.Zone, u.Zone}, {&b.Pool, m.Pool, u.Pool}, {&b.Domain, m.Domain, u.Domain},
		{&b.Description, engine.DescriptionText(m.Description), textOf(u.Description)},
	} {
		if c.next != nil && *c.next != c.now {
			*c.field = formerValueOf(*c.field, c.now, *c.next, c.now == temporaryName(m))
		}
	}
	putOn, off := b.AddedTags, b.RemovedTags
	b.AddedTags, b.RemovedTags = tagsWith(putOn, tagsWithout(added, off), removed), tagsWith(off, tagsWithout(removed, putOn), added)
	return b
}

// tagsWith are tags with more of them and less, sorted, each once.
func tagsWith(tags, more, less []string) []string {
	all := tagsWithout(append(slices.Clone(tags), more...), less)
	slices.Sort(all)
	return slices.Compact(all)
}

func textOf(description *string) *string {
	if description == nil {
		return nil
	}
	text := engine.DescriptionText(*description)
	return &text
}

// RestoreUpdate is the update that puts back what the machine had. What somebody else has
// changed since stays.
func (b FormerSettings) RestoreUpdate(m engine.Machine) engine.MachineUpdate {
	back := func(f *FormerValue, now string) *string {
		if f == nil || now == f.Was || !slices.Contains(f.Set, now) && now != temporaryName(m) {
			return nil
		}
		return &f.Was
	}
	u := engine.MachineUpdate{
		Hostname: back(b.Hostname, m.Hostname), Zone: back(b.Zone, m.Zone), Pool: back(b.Pool, m.Pool), Domain: back(b.Domain, m.Domain),
	}
	if text := back(b.Description, engine.DescriptionText(m.Description)); text != nil {
		description := engine.DescriptionWithText(m.Description, *text)
		u.Description = &description
	}
	return u
}

// temporaryName is a hostname that nobody wants. A machine has it while it waits for its own.
func temporaryName(m engine.Machine) string { return engine.MarkerPrefix + m.SystemID }

// FormerHostname is what the machine was called before we renamed it; empty: we did not.
func (b FormerSettings) FormerHostname() string {
	if b.Hostname == nil {
		return ""
	}
	return b.Hostname.Was
}

// WasCalled tells whether that was the hostname or the FQDN of the machine before we renamed
// it.
func WasCalled(m engine.Machine, name string) bool {
	b := FormerSettingsOf(m)
	hostname, domain := b.FormerHostname(), m.Domain
	if b.Domain != nil {
		domain = b.Domain.Was
	}
	short, of, qualified := strings.Cut(name, ".")
	if hostname == "" {
		hostname = m.Hostname // with another domain
	}
	return short == hostname && (!qualified || of == domain)
}
