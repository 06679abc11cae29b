package replay

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// basis tells which differences rest on an inference: on an object that no
// recorded request made, or whose state the replay inferred. The simulator may be
// right there, and the inference wrong.
type basis struct {
	*evidence
	unsure map[string]bool // objects, by their keys, and kinds of objects
	made   map[string]bool // by a recorded request, and not deleted since
	seen   map[string]bool // in an answer
	names  map[string]string
}

func newBasis(found *evidence) *basis {
	return &basis{evidence: found, unsure: map[string]bool{}, made: map[string]bool{}, seen: map[string]bool{}, names: map[string]string{}}
}

// kinds are collections whose rows are the same things, or follow from them.
var kinds = map[string]string{
	"machines": "nodes", "rackcontrollers": "nodes", "devices": "nodes", "pods": "vm-hosts", "pod": "vm-hosts", "vm-host": "vm-hosts",
	"resourcepool": "resourcepools", "dnsresourcerecords": "dnsresources", "events": "nodes", "ipaddresses": "nodes", "dnsresources": "nodes",
}

// keyOf is the object that a path names, and the kind of those in its collection.
// A part of a machine, such as an interface, is the machine.
func keyOf(path string) (key, kind string) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(path, recording.APIRoot), "/"), "/")
	kind = parts[0]
	if known := kinds[kind]; known != "" {
		kind = known
	}
	if len(parts) < 2 {
		return "", kind
	}
	return kind + "/" + parts[1], kind
}

// doubt notes that an object's state is inferred. What its VM host has left, and
// lists of such objects, are so, too.
func (b *basis) doubt(key string) {
	kind, _, _ := strings.Cut(key, "/")
	b.unsure[key], b.unsure[kind] = true, true
}

// doubtNamed is doubt for an object that is known by its name.
func (b *basis) doubtNamed(kind, name string) {
	b.names[name] = kind + "/" + name
	b.doubt(kind + "/" + name)
}

func (b *basis) doubtMachine(s sighting) {
	b.doubt("nodes/" + s.ID)
	if s.PodID != "" {
		b.doubt("vm-hosts/" + s.PodID)
	}
}

// infer takes what the replay noted before an exchange: it names machines by their
// names or ids.
func (b *basis) infer(i int, notes []string) {
	if len(notes) == 0 {
		return
	}
	if key, _ := keyOf(b.exchanges[i].Request.Path); key != "" {
		b.doubt(key)
	}
	text := strings.Join(notes, "\n")
	for _, seen := range b.evidence.seen {
		for _, s := range seen {
			if strings.Contains(text, s.ID) || strings.Contains(text, s.Hostname) {
				b.doubtMachine(s)
			}
		}
	}
}

// judge tells which problems of an exchange rest on an inference, and whether it is
// about something inferred at all.
func (b *basis) judge(i int, problems []Problem, got served) (inferred bool) {
	b.learn(i)
	spreads := false
	for n, p := range problems {
		problems[n].Inferred = b.rests(i, p, got)
		spreads = spreads || problems[n].Inferred
	}
	key, kind := keyOf(b.exchanges[i].Request.Path)
	inferred = b.unsure[cmp.Or(key, kind)]
	if e := b.exchanges[i]; e.OK() && e.Request.Method == http.MethodDelete && e.Op() == "" {
		delete(b.made, key)
	}
	if spreads {
		b.spread(i)
	}
	return inferred
}

// learn takes what an exchange made or showed.
func (b *basis) learn(i int) {
	e := b.exchanges[i]
	creates := e.OK() && e.Request.Method == http.MethodPost
	for _, o := range objectsOf(b.bodies[i]) {
		b.learnObject(o, creates && (textOf(o["system_id"]) != "" || len(e.Route()) == 1))
	}
	for _, s := range b.evidence.seen[i] {
		if !b.made["nodes/"+s.ID] {
			b.doubtMachine(s)
		}
	}
}

// learnObject takes an object of an answer, and those in it.
func (b *basis) learnObject(o map[string]any, made bool) {
	if uri := textOf(o["resource_uri"]); uri != "" {
		key, _ := keyOf(uri)
		b.learnKey(key, made)
		b.names[textOf(o["name"])] = key
		b.names[textOf(o["hostname"])] = key
	}
	if id := textOf(o["system_id"]); id != "" {
		b.learnKey("nodes/"+id, made)
	}
	for _, inner := range o {
		for _, object := range objectsOf(inner) {
			b.learnObject(object, false)
		}
	}
}

func (b *basis) learnKey(key string, made bool) {
	b.made[key] = b.made[key] || made
	b.seen[key] = true
	if !b.made[key] && !alwaysThere.MatchString(key) {
		b.doubt(key)
	}
}

// alwaysThere are objects that each MAAS has.
var alwaysThere = regexp.MustCompile(`^(zones/default|resourcepools/0|domains/0|users/admin)$`)

// spread notes that what an exchange asked for and showed is not sure any more: it
// came out otherwise, and that rests on an inference.
func (b *basis) spread(i int) {
	if key, _ := keyOf(b.exchanges[i].Request.Path); key != "" {
		b.doubt(key)
	}
	for _, o := range objectsOf(b.bodies[i]) {
		if key, _ := keyOf(textOf(o["resource_uri"])); key != "" {
			b.doubt(key)
		}
	}
}

// rests tells whether a difference in the answer to exchange i rests on an
// inference.
func (b *basis) rests(i int, p Problem, got served) bool {
	e := b.exchanges[i]
	if got.Status == http.StatusNotImplemented {
		return false // the simulator says that it does not serve it
	}
	if e.Response.Status == http.StatusServiceUnavailable || got.Status == http.StatusServiceUnavailable {
		return true // the LXD or the rack controller says so, which no answer shows
	}
	key, kind := keyOf(p.Object)
	asked, _ := keyOf(e.Request.Path)
	switch {
	case slices.ContainsFunc(b.named(e), func(key string) bool { return b.unsure[key] }):
		return true
	case key == "":
		return b.unsure[kind]
	case key == asked && e.Response.Status == http.StatusNotFound:
		return b.seen[key] && (b.made[key] || b.unsure[key])
	}
	return b.unsure[key] || !b.made[key] && !alwaysThere.MatchString(key)
}

// named are the objects that the parameters of a request name.
func (b *basis) named(e recording.Exchange) (keys []string) {
	for _, parameters := range []map[string][]string{e.FormValues(), recording.Values(e.Request.Query)} {
		for _, values := range parameters {
			for _, value := range values {
				for word := range strings.SplitSeq(value, ",") {
					if key := b.names[word]; key != "" && word != "" {
						keys = append(keys, key)
					}
					keys = append(keys, "nodes/"+word) // it may be an id
				}
			}
		}
	}
	return keys
}
