package replay

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// inferenceBasis tells which differences rest on an inference: on an object that no
// recorded request made, or whose state the replay inferred. There the simulator may be
// right and the inference wrong.
type inferenceBasis struct {
	*evidence
	inferredKeys  map[string]bool // keys of objects, and kinds of objects
	madeByRequest map[string]bool // made by a recorded request and not deleted since
	seenInAnswer  map[string]bool // seen in an answer
	keyByName     map[string]string
}

func newInferenceBasis(found *evidence) *inferenceBasis {
	return &inferenceBasis{evidence: found, inferredKeys: map[string]bool{}, madeByRequest: map[string]bool{}, seenInAnswer: map[string]bool{}, keyByName: map[string]string{}}
}

// collectionKinds are collections whose rows are the same objects, or depend on them.
var collectionKinds = map[string]string{
	"machines": "nodes", "rackcontrollers": "nodes", "devices": "nodes", "pods": "vm-hosts", "pod": "vm-hosts", "vm-host": "vm-hosts",
	"resourcepool": "resourcepools", "dnsresourcerecords": "dnsresources", "events": "nodes", "ipaddresses": "nodes", "dnsresources": "nodes",
}

// objectKeyOf returns the object that a path names, and the kind of the objects in its
// collection. A part of a machine, such as an interface, counts as the machine.
func objectKeyOf(path string) (key, kind string) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(path, recording.APIRoot), "/"), "/")
	kind = parts[0]
	if known := collectionKinds[kind]; known != "" {
		kind = known
	}
	if len(parts) < 2 {
		return "", kind
	}
	return kind + "/" + parts[1], kind
}

// markInferred notes that an object's state is inferred. So are the free resources of its
// VM host, and lists of such objects.
func (b *inferenceBasis) markInferred(key string) {
	kind, _, _ := strings.Cut(key, "/")
	b.inferredKeys[key], b.inferredKeys[kind] = true, true
}

// markNamedInferred is markInferred for an object that is known by its name.
func (b *inferenceBasis) markNamedInferred(kind, name string) {
	b.keyByName[name] = kind + "/" + name
	b.markInferred(kind + "/" + name)
}

func (b *inferenceBasis) markMachineInferred(s sighting) {
	b.markInferred("nodes/" + s.ID)
	if s.PodID != "" {
		b.markInferred("vm-hosts/" + s.PodID)
	}
}

// markMentioned marks the machines that the replay's notes before an exchange mention by
// name or id.
func (b *inferenceBasis) markMentioned(i int, notes []string) {
	if len(notes) == 0 {
		return
	}
	if key, _ := objectKeyOf(b.exchanges[i].Request.Path); key != "" {
		b.markInferred(key)
	}
	text := strings.Join(notes, "\n")
	for _, seen := range b.evidence.seen {
		for _, s := range seen {
			if strings.Contains(text, s.ID) || strings.Contains(text, s.Hostname) {
				b.markMachineInferred(s)
			}
		}
	}
}

// markProblems marks the problems of an exchange that rest on an inference. It tells
// whether the exchange is about an inferred object at all.
func (b *inferenceBasis) markProblems(i int, problems []Problem, got simResponse) (inferred bool) {
	b.learnExchange(i)
	spreads := false
	for n, p := range problems {
		problems[n].Inferred = b.restsOnInference(i, p, got)
		spreads = spreads || problems[n].Inferred
	}
	key, kind := objectKeyOf(b.exchanges[i].Request.Path)
	inferred = b.inferredKeys[cmp.Or(key, kind)]
	if e := b.exchanges[i]; e.OK() && e.Request.Method == http.MethodDelete && e.Op() == "" {
		delete(b.madeByRequest, key)
	}
	if spreads {
		b.spreadInference(i)
	}
	return inferred
}

// learnExchange notes the objects that an exchange made or showed.
func (b *inferenceBasis) learnExchange(i int) {
	e := b.exchanges[i]
	creates := e.OK() && e.Request.Method == http.MethodPost
	for _, o := range objectsOf(b.bodies[i]) {
		b.learnObject(o, creates && (textOf(o["system_id"]) != "" || len(e.Route()) == 1))
	}
	for _, s := range b.evidence.seen[i] {
		if !b.madeByRequest["nodes/"+s.ID] {
			b.markMachineInferred(s)
		}
	}
}

// learnObject notes an object of an answer, and the objects in it.
func (b *inferenceBasis) learnObject(o map[string]any, made bool) {
	if uri := textOf(o["resource_uri"]); uri != "" {
		key, _ := objectKeyOf(uri)
		b.learnKey(key, made)
		b.keyByName[textOf(o["name"])] = key
		b.keyByName[textOf(o["hostname"])] = key
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

func (b *inferenceBasis) learnKey(key string, made bool) {
	b.madeByRequest[key] = b.madeByRequest[key] || made
	b.seenInAnswer[key] = true
	if !b.madeByRequest[key] && !builtInObjects.MatchString(key) {
		b.markInferred(key)
	}
}

// builtInObjects are objects that every MAAS has.
var builtInObjects = regexp.MustCompile(`^(zones/default|resourcepools/0|domains/0|users/admin)$`)

// spreadInference marks the objects that an exchange named or showed, where its answer
// differs and the difference rests on an inference.
func (b *inferenceBasis) spreadInference(i int) {
	if key, _ := objectKeyOf(b.exchanges[i].Request.Path); key != "" {
		b.markInferred(key)
	}
	for _, o := range objectsOf(b.bodies[i]) {
		if key, _ := objectKeyOf(textOf(o["resource_uri"])); key != "" {
			b.markInferred(key)
		}
	}
}

// restsOnInference tells whether a difference in the answer to exchange i rests on an
// inference.
func (b *inferenceBasis) restsOnInference(i int, p Problem, got simResponse) bool {
	e := b.exchanges[i]
	if got.Status == http.StatusNotImplemented {
		return false // the simulator reports that it does not serve the operation
	}
	if e.Response.Status == http.StatusServiceUnavailable || got.Status == http.StatusServiceUnavailable {
		return true // the LXD or the rack controller refused, and no answer shows the state of either
	}
	key, kind := objectKeyOf(p.Object)
	asked, _ := objectKeyOf(e.Request.Path)
	switch {
	case slices.ContainsFunc(b.namedKeys(e), func(key string) bool { return b.inferredKeys[key] }):
		return true
	case key == "":
		return b.inferredKeys[kind]
	case key == asked && e.Response.Status == http.StatusNotFound:
		return b.seenInAnswer[key] && (b.madeByRequest[key] || b.inferredKeys[key])
	}
	return b.inferredKeys[key] || !b.madeByRequest[key] && !builtInObjects.MatchString(key)
}

// namedKeys are the objects that the parameters of a request name.
func (b *inferenceBasis) namedKeys(e recording.Exchange) (keys []string) {
	for _, parameters := range []map[string][]string{e.FormValues(), recording.Values(e.Request.Query)} {
		for _, values := range parameters {
			for _, value := range values {
				for word := range strings.SplitSeq(value, ",") {
					if key := b.keyByName[word]; key != "" && word != "" {
						keys = append(keys, key)
					}
					keys = append(keys, "nodes/"+word) // it may be an id
				}
			}
		}
	}
	return keys
}
