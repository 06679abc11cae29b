package settle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// beforeData is the owner data that says what a machine was like before we changed it. A
// release clears it, when everything was put back.
const beforeData = engine.MarkerPrefix + "before"

// Before is what a machine had, of what we have changed on it. Its record is the site's, and
// outlives what we do with it.
type Before struct {
	Hostname    *Former `json:"hostname,omitempty"`
	Zone        *Former `json:"zone,omitempty"`
	Pool        *Former `json:"pool,omitempty"`
	Domain      *Former `json:"domain,omitempty"`
	Description *Former `json:"description,omitempty"` // of it, DescriptionText
	// Tags are those that we put on, and TagsOff those of others that we took off.
	Tags    []string `json:"tags,omitempty"`
	TagsOff []string `json:"tags_off,omitempty"`
}

// Former is what a field said before, and what we have written into it since: the last value,
// and the one before if a run that died may not have written the last.
type Former struct {
	Was string   `json:"was"`
	Set []string `json:"set"`
}

// BeforeOf reads the note of a machine. One that is not there, or that nobody can read, is
// empty.
func BeforeOf(m engine.Machine) Before {
	var b Before
	if err := json.Unmarshal([]byte(m.OwnerData[beforeData]), &b); err != nil {
		return Before{}
	}
	return b
}

// Note is the owner data that says so.
func (b Before) Note() (map[string]string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("cannot note what a machine was like: %w", err)
	}
	return map[string]string{beforeData: string(text)}, nil
}

// formerOf is a field that says now what it does, and is to say something else. A value that
// somebody else has written since is what the site wants back: we moved a machine from az1 to
// az2, its owner moved it to az3, and after a release it belongs in az3.
func formerOf(f *Former, now, next string, parked bool) *Former {
	switch {
	case f == nil:
		return &Former{Was: now, Set: []string{next}}
	case parked || now == f.Was || now == next:
		return &Former{Was: f.Was, Set: []string{next}}
	case slices.Contains(f.Set, now):
		return &Former{Was: f.Was, Set: []string{now, next}}
	}
	return &Former{Was: now, Set: []string{next}}
}

// Changed adds what an update is about to change of a machine, and the tags that it is about
// to get and to lose.
func (b Before) Changed(m engine.Machine, u engine.MachineUpdate, added, removed []string) Before {
	for _, c := range []struct {
		field **Former
		now   string
		next  *string
	}{
		{&b.Hostname, m.Hostname, u.Hostname}, {&b.Zone, m.Zone, u.Zone}, {&b.Pool, m.Pool, u.Pool}, {&b.Domain, m.Domain, u.Domain},
		{&b.Description, engine.DescriptionText(m.Description), textOf(u.Description)},
	} {
		if c.next != nil && *c.next != c.now {
			*c.field = formerOf(*c.field, c.now, *c.next, c.now == parkingName(m))
		}
	}
	putOn, off := b.Tags, b.TagsOff
	b.Tags, b.TagsOff = tagsWith(putOn, without(added, off), removed), tagsWith(off, without(removed, putOn), added)
	return b
}

// tagsWith are tags with more of them and less, sorted, each once.
func tagsWith(tags, more, less []string) []string {
	all := without(append(slices.Clone(tags), more...), less)
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

// Restoring is the update that puts back what the machine had. What somebody else has
// changed since stays.
func (b Before) Restoring(m engine.Machine) engine.MachineUpdate {
	back := func(f *Former, now string) *string {
		if f == nil || now == f.Was || !slices.Contains(f.Set, now) && now != parkingName(m) {
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

// parkingName is a hostname that nobody wants. A machine has it while it waits for its own.
func parkingName(m engine.Machine) string { return engine.MarkerPrefix + m.SystemID }

// FormerHostname is what the machine was called before we renamed it; empty: we did not.
func (b Before) FormerHostname() string {
	if b.Hostname == nil {
		return ""
	}
	return b.Hostname.Was
}

// WasCalled tells whether that was the hostname or the FQDN of the machine before we renamed
// it.
func WasCalled(m engine.Machine, name string) bool {
	b := BeforeOf(m)
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
