package inplace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// formerSettingsData is the owner data that notes the settings of a machine from before we
// changed it. A release clears it, when everything is restored.
const formerSettingsData = engine.MarkerPrefix + "before"

// FormerSettings are the former values of settings that we changed on a machine. The machine's
// record belongs to the site, and outlives our use of it.
type FormerSettings struct {
	Hostname    *FormerValue `json:"hostname,omitempty"`
	Zone        *FormerValue `json:"zone,omitempty"`
	Pool        *FormerValue `json:"pool,omitempty"`
	Domain      *FormerValue `json:"domain,omitempty"`
	Description *FormerValue `json:"description,omitempty"` // the former DescriptionText
	// AddedTags are the tags that we added. RemovedTags are the tags of others that we removed.
	AddedTags   []string `json:"tags,omitempty"`
	RemovedTags []string `json:"tags_off,omitempty"`
}

// FormerValue is the former value of a field, and the values that we have written since. These
// are the last one, and the one before it if a run died that may not have written the last.
type FormerValue struct {
	Was string   `json:"was"`
	Set []string `json:"set"`
}

// FormerSettingsOf reads the note of a machine. A missing or unreadable note counts as empty.
func FormerSettingsOf(m engine.Machine) FormerSettings {
	var b FormerSettings
	if err := json.Unmarshal([]byte(m.OwnerData[formerSettingsData]), &b); err != nil {
		return FormerSettings{}
	}
	return b
}

// OwnerData is the note as owner data.
func (b FormerSettings) OwnerData() (map[string]string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("cannot note the former settings of a machine: %w", err)
	}
	return map[string]string{formerSettingsData: string(text)}, nil
}

// formerValueOf updates the former value of a field that has the value now and gets the value
// next. If somebody else has written the field since, the site wants that value back. Example:
// we moved a machine from az1 to az2, and its owner moved it to az3. After a release it belongs
// in az3.
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

// WithChange adds the settings that an update is about to change, and the tags that the machine
// is about to get and to lose.
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

// tagsWith are tags with the tags more and without the tags less, sorted, each once.
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

// RestoreUpdate is the update that restores the former settings. A setting that somebody else
// has changed since stays.
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

// temporaryName is a hostname that nobody else wants. A machine has it while it waits for its
// own.
func temporaryName(m engine.Machine) string { return engine.MarkerPrefix + m.SystemID }

// FormerHostname is the hostname from before we renamed the machine; empty: we did not.
func (b FormerSettings) FormerHostname() string {
	if b.Hostname == nil {
		return ""
	}
	return b.Hostname.Was
}

// WasCalled tells whether the machine had this hostname or FQDN before we renamed it.
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
