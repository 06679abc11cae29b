package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// matcher compares recorded values with simulated ones. It binds a name that MAAS makes
// up, such as a system id or a MAC address, to the simulator's own name when it first
// meets both. From then on the two must agree.
type matcher struct {
	simulatedOf map[nameSpace]map[string]string // recorded → simulated
	recordedOf  map[nameSpace]map[string]string // simulated → recorded
	chosenNames map[string]bool                 // names that a request chose; they are compared unchanged
	rules       []rule
	ruleByPath  map[string]rule // by path: a cache of lookups in rules
	problems    []Problem
	subject     subject
}

// subject is the innermost object that is being compared, and where it begins.
type subject struct{ uri, root string }

// nameSpace is a kind of made-up name. Two kinds may use the same value.
type nameSpace string

func newMatcher(spoken map[string]bool) *matcher {
	return &matcher{
		simulatedOf: map[nameSpace]map[string]string{},
		recordedOf:  map[nameSpace]map[string]string{},
		chosenNames: spoken,
		rules:       rules,
		ruleByPath:  map[string]rule{},
	}
}

func (m *matcher) report(path, format string, args ...any) {
	m.problems = append(m.problems, Problem{
		Object: m.subject.uri, Path: strings.TrimPrefix(path, m.subject.root), At: path, Text: fmt.Sprintf(format, args...),
	})
}

// bind requires that the recorded and the simulated name stand for the same thing.
func (m *matcher) bind(in nameSpace, path, recorded, simulated string) {
	if m.simulatedOf[in] == nil {
		m.simulatedOf[in], m.recordedOf[in] = map[string]string{}, map[string]string{}
	}
	known, seen := m.simulatedOf[in][recorded]
	other, used := m.recordedOf[in][simulated]
	switch {
	case seen && known != simulated:
		m.report(path, "%s %q is %q here, got %q", in, recorded, known, simulated)
	case !seen && used:
		m.report(path, "%s %q: got %q, which is the recorded %q", in, recorded, simulated, other)
	case !seen:
		m.simulatedOf[in][recorded], m.recordedOf[in][simulated] = simulated, recorded
	}
}

// translate returns the simulator's name for a recorded one. Without one it returns the
// recorded name.
func (m *matcher) translate(in nameSpace, recorded string) string {
	if simulated, ok := m.simulatedOf[in][recorded]; ok {
		return simulated
	}
	return recorded
}

// translateBack returns the recorded name for a simulated one.
func (m *matcher) translateBack(in nameSpace, simulated string) string {
	if recorded, ok := m.recordedOf[in][simulated]; ok {
		return recorded
	}
	return simulated
}

// compareValue compares two decoded JSON values, recursively.
func (m *matcher) compareValue(path string, recorded, simulated any) {
	r := m.ruleFor(path)
	if r.handle != nil && r.handle(m, path, recorded, simulated) {
		return
	}
	if text, is := recorded.(string); is && maskedPattern.FindString(text) == text && text != "" {
		if _, both := simulated.(string); !both || text != trustPlaceholder {
			return
		}
	}
	if kind, got := jsonType(recorded), jsonType(simulated); kind != got {
		m.report(path, "want %s %s, got %s %s", kind, shortJSON(recorded), got, shortJSON(simulated))
		return
	}
	switch recorded := recorded.(type) {
	case map[string]any:
		m.compareObject(path, recorded, simulated.(map[string]any))
	case []any:
		m.compareList(path, recorded, simulated.([]any))
	default:
		if recorded != simulated {
			m.report(path, "want %s, got %s", shortJSON(recorded), shortJSON(simulated))
		}
	}
}

func (m *matcher) compareObject(path string, recorded, simulated map[string]any) {
	if recorded["power_type"] == "" && recorded["node_type_name"] == "Machine" {
		path += "(server)" // the machine that MAAS keeps for the LXD server itself
	}
	if uri, ok := recorded["resource_uri"].(string); ok {
		outer := m.subject
		m.subject = subject{uri: uri, root: path}
		defer func() { m.subject = outer }()
	}
	for _, key := range slices.Sorted(maps.Keys(recorded)) {
		got, ok := simulated[m.translate("node", key)]
		if !ok {
			m.report(path+"."+key, "missing, want %s", shortJSON(recorded[key]))
			continue
		}
		m.compareValue(path+"."+key, recorded[key], got)
	}
	for _, key := range slices.Sorted(maps.Keys(simulated)) {
		if _, ok := recorded[m.translateBack("node", key)]; !ok {
			m.report(path+"."+key, "not in the recording, got %s", shortJSON(simulated[key]))
		}
	}
}

func (m *matcher) compareList(path string, recorded, simulated []any) {
	if len(recorded) != len(simulated) {
		m.report(path, "want %d entries %s, got %d %s", len(recorded), shortJSON(recorded), len(simulated), shortJSON(simulated))
		return
	}
	for i := range recorded {
		m.compareValue(path+"[]", recorded[i], simulated[i])
	}
}

// jsonType distinguishes whole numbers from numbers with a point, as decoders do.
func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "float"
		}
		return "integer"
	case string:
		return "string"
	case []any:
		return "list"
	}
	return "object"
}

func shortJSON(v any) string {
	text, _ := json.Marshal(v)
	if len(text) > 120 {
		return string(text[:120]) + "…"
	}
	return string(text)
}

// compareURI compares two paths or URLs segment by segment. A segment after a collection's
// name is an id of that collection.
func (m *matcher) compareURI(path, recorded, simulated string) {
	want, got := strings.Split(recorded, "/"), strings.Split(simulated, "/")
	if len(want) != len(got) {
		m.report(path, "want %q, got %q", recorded, simulated)
		return
	}
	for i := range want {
		in, madeUp := "", false
		if i > 0 && want[i] != "" {
			in, madeUp = string(collections[want[i-1]]), collections[want[i-1]] != ""
		}
		if madeUp {
			m.bind(nameSpace(in), path, want[i], got[i])
		} else if want[i] != got[i] {
			m.report(path, "want %q, got %q", recorded, simulated)
			return
		}
	}
}

// collections are the collections whose row ids depend on the history of the database.
var collections = map[string]nameSpace{
	"machines": "node", "nodes": "node", "rackcontrollers": "node",
	"vm-hosts": "VM host", "pods": "VM host",
	"interfaces": "interface", "blockdevices": "block device", "partition": "partition",
	"vlans": "VLAN", "subnets": "subnet", "fabrics": "fabric",
	"volume-group": "group of devices", "raid": "group of devices", "bcache": "group of devices", "vmfs-datastore": "group of devices",
	"volume-groups": "group of devices", "raids": "group of devices", "bcaches": "group of devices", "vmfs-datastores": "group of devices",
	"bcache-cache-set": "cache set", "bcache-cache-sets": "cache set", "partitions": "partition",
}

// translatePath replaces recorded names in a path by the simulator's.
func (m *matcher) translatePath(path string) string {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		if in := collections[parts[i-1]]; in != "" {
			parts[i] = m.translate(in, parts[i])
		}
	}
	return strings.Join(parts, "/")
}

// translateParameter replaces a recorded name in a query or form value by the simulator's.
func (m *matcher) translateParameter(value string) string {
	for _, in := range []nameSpace{"node", "MAC address"} {
		if simulated := m.translate(in, value); simulated != value {
			return simulated
		}
	}
	return value
}

// isSameNetwork checks a binding of addresses: both must be in the same /24 (or /64)
// network.
func isSameNetwork(recorded, simulated string) bool {
	a, errA := netip.ParseAddr(recorded)
	b, errB := netip.ParseAddr(simulated)
	if errA != nil || errB != nil || a.Is4() != b.Is4() {
		return false
	}
	bits := 64
	if a.Is4() {
		bits = 24
	}
	net, _ := a.Prefix(bits)
	return net.Contains(b)
}

// compareText compares two sentences except for tokens that change from run to run.
func (m *matcher) compareText(path, recorded, simulated string) {
	want, got := recorded, simulated
	for _, r := range textRules {
		a, b := r.pattern.FindAllString(want, -1), r.pattern.FindAllString(got, -1)
		if len(a) != len(b) {
			continue
		}
		for i := range a {
			if r.space != "" {
				m.bind(r.space, path, a[i], b[i])
			}
		}
		want, got = r.pattern.ReplaceAllString(want, "§"), r.pattern.ReplaceAllString(got, "§")
	}
	want = apiPaths.ReplaceAllStringFunc(want, m.translatePath)
	want = systemIDs.ReplaceAllStringFunc(want, func(id string) string { return m.translate("node", id) })
	if want != got && !matchesMasked(want, got) {
		m.report(path, "want %q, got %q", want, got)
	}
}

// apiPaths finds paths of the API.
var apiPaths = regexp.MustCompile(`/MAAS/api/2\.0/[^\s.]+`)

// systemIDs finds words that may be system ids.
var systemIDs = regexp.MustCompile(`\b[a-z0-9]{6}\b`)

// maskedPattern finds placeholders of values that a recording hides.
var maskedPattern = regexp.MustCompile(`<(SECRET|SETTING|RANDOM|LXD TRUST PASSWORD)( \d+)?>`)

// trustPlaceholder is the trust password of the replay's LXD.
const trustPlaceholder = "<LXD TRUST PASSWORD>"

// matchesMasked tells whether a sentence equals the recorded one except for its
// placeholders.
func matchesMasked(recorded, simulated string) bool {
	parts := maskedPattern.Split(recorded, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	fits, err := regexp.MatchString(`^`+strings.Join(parts, `[\s\S]*`)+`$`, simulated)
	return len(parts) > 1 && err == nil && fits
}
