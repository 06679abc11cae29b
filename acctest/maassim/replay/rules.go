package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// rule says how to compare values whose text depends on the time, on chance or on the
// genuine MAAS's server. Values without a rule are compared unchanged.
type rule struct {
	name   string
	reason string
	path   *regexp.Regexp
	handle func(m *matcher, path string, recorded, simulated any) bool // false: compare as usual
}

// textRule replaces tokens of a sentence before it is compared.
type textRule struct {
	pattern *regexp.Regexp
	space   nameSpace // the space in which to bind the tokens; empty: ignore them
	reason  string
}

var textRules = []textRule{
	{regexp.MustCompile(`0x[0-9a-f]{8,}`), "", "address of a Python object"},
	{regexp.MustCompile(`given \d+ and now \d+`), "", "clock of that day"},
	{regexp.MustCompile(`(?:Pod|VM Host) \d+`), "VM host in text", "row id of the VM host"},
	{regexp.MustCompile(`Nonce already used: \S+`), "", "the nonce that was sent"},
	{regexp.MustCompile(`signature base string: &(?:<[^>]+>|[^\s'<]+)'?`), "", "the token secret: a placeholder in the recording"},
	{regexp.MustCompile(`any rack controller [a-z0-9]{6};`), "", "system id of the rack"},
	{regexp.MustCompile(`<DNSResource: .*>`), "", "a Python set, whose order is random"},
	{regexp.MustCompile(`is not one of [A-Z ]+\.`), "", "a Python set, whose order is random"},
}

var (
	uuidPattern      = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	timestampPattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$`)
	pemPattern       = regexp.MustCompile(`^(<(?:CERTIFICATE|(?:PRIVATE )?KEY)(?: PEM)?(?: \d+)?>|-----BEGIN [A-Z ]+-----(?s:.*))$`)
	longDatePattern  = regexp.MustCompile(`^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2}\. \d{4} \d\d:\d\d:\d\d$`)
)

// rules are tried in order, and the first matching path decides. A path consists of the
// keys from the body's root ($); lists are [].
var rules = []rule{
	{name: "the recorded server's interfaces", reason: "compares its NICs and taps by form, and the bridges that VMs join exactly", path: regexp.MustCompile(`\(server\)\.interface_set$`), handle: matchBridges},
	{name: "the recorded server", reason: "taps, disks and nodes of the computer that LXD ran on; compares their form only", path: regexp.MustCompile(`\(server\)\.(boot_interface|blockdevice_set|physicalblockdevice_set|boot_disk|numanode_set|ip_addresses)$`), handle: matchForm},
	{name: "the recorded server's disk", reason: "its size", path: regexp.MustCompile(`\(server\)\.storage$`), handle: matchTypeOnly},
	{name: "MAAS's own server", reason: "its names", path: regexp.MustCompile(`\.node_summary\.(hostname|fqdn|via)$|^\$rackcontrollers\[\]\.(hostname|fqdn)$|^\$rackcontrollers\[\]\.interface_set\[\]\.name$`), handle: matchTypeOnly},
	{name: "system ids", reason: "six random letters", path: regexp.MustCompile(`\.(system_id|node)$`), handle: matchBound("node")},
	{name: "addresses in the API", reason: "they contain ids", path: regexp.MustCompile(`\.resource_uri$`), handle: matchURI},
	{name: "paging links", reason: "they contain event ids", path: regexp.MustCompile(`\.(next|prev)_uri$`), handle: matchPaging},
	{name: "VM host ids", reason: "failed creates use up ids, too", path: regexp.MustCompile(`^\$(vm-hosts|pods)(\[\])?\.id$|\.pod\.id$`), handle: matchBound("VM host")},
	{name: "interface ids", reason: "a sequence", path: regexp.MustCompile(`(interface_set\[\]|boot_interface|^\$interfaces(\[\])?)\.id$`), handle: matchBound("interface")},
	{name: "link ids", reason: "a sequence", path: regexp.MustCompile(`\.links\[\]\.id$`), handle: matchBound("link")},
	{name: "block device ids", reason: "a sequence", path: regexp.MustCompile(`(blockdevice_set\[\]|boot_disk|^\$blockdevices(\[\])?|logical_volumes\[\]|virtual_device)\.id$|\.device_id$`), handle: matchBound("block device")},
	{name: "partition ids", reason: "a sequence", path: regexp.MustCompile(`(\.partitions\[\]|^\$partitions?(\[\])?)\.id$`), handle: matchBound("partition")},
	{name: "ids of devices", reason: "a sequence of disks or of partitions; the address beside it is compared", path: regexp.MustCompile(`\.(devices\[\]|spare_devices\[\]|cache_device|backing_device)\.id$`), handle: matchTypeOnly},
	{name: "ids of groups", reason: "a sequence", path: regexp.MustCompile(`(\.(volume_groups|raids|bcaches)\[\]|^\$(volume-groups?|raids?|bcaches?|vmfs-datastores?)(\[\])?)\.id$`), handle: matchBound("group of devices")},
	{name: "ids of cache sets", reason: "a sequence", path: regexp.MustCompile(`(\.cache_sets\[\]|\.cache_set|^\$bcache-cache-sets?(\[\])?)\.id$`), handle: matchBound("cache set")},
	{name: "VLAN ids", reason: "a sequence", path: regexp.MustCompile(`(\.vlan|\.relay_vlan|\.vlans\[\]|^\$vlans(\[\])?)\.id$|\.default_vlan_id$`), handle: matchBound("VLAN")},
	{name: "subnet ids", reason: "a sequence", path: regexp.MustCompile(`(\.subnet|^\$subnets(\[\])?)\.id$`), handle: matchBound("subnet")},
	{name: "fabric ids", reason: "a sequence", path: regexp.MustCompile(`\.fabric_id$|^\$fabrics(\[\])?\.id$`), handle: matchBound("fabric")},
	{name: "names of fabrics", reason: "made of their ids", path: regexp.MustCompile(`\.fabric$|^\$fabrics(\[\])?\.name$`), handle: matchFabric},
	{name: "sets of words in sentences", reason: "a Python set, whose order is random", path: regexp.MustCompile(`\.storage_layout\[\]$`), handle: matchQuotedWords},
	{name: "ids in sentences", reason: "a sequence", path: regexp.MustCompile(`\.(root_device|cache_device|block_devices|spare_devices)\[\]$`), handle: matchSentenceWith("block device")},
	{name: "partition ids in sentences", reason: "a sequence", path: regexp.MustCompile(`\.(partitions|spare_partitions|cache_partition|backing_partition)\[\]$`), handle: matchSentenceWith("partition")},
	{name: "interface ids in sentences", reason: "a sequence", path: regexp.MustCompile(`^\$interfaces\.parents?\[\]$`), handle: matchSentenceWith("interface")},
	{name: "link ids in sentences", reason: "a sequence", path: regexp.MustCompile(`^\$interfaces\.(link_id|id)\[\]$`), handle: matchSentenceWith("link")},
	{name: "script result ids", reason: "a sequence", path: regexp.MustCompile(`\.current_(commissioning|installation|testing)_result_id$`), handle: matchBound("script set")},
	{name: "virtual machine ids", reason: "a sequence", path: regexp.MustCompile(`\.virtualmachine_id$`), handle: matchBound("virtual machine")},
	{name: "event ids", reason: "a sequence", path: regexp.MustCompile(`\.events\[\]\.id$`), handle: matchBound("event")},
	{name: "MAC addresses", reason: "made by LXD", path: regexp.MustCompile(`\.mac_address$`), handle: matchBound("MAC address")},
	{name: "racks", reason: "system id of the rack", path: regexp.MustCompile(`\.(primary|secondary)_rack$`), handle: matchBound("node")},
	{name: "names that MAAS makes up", reason: "a petname where the request gave no name", path: regexp.MustCompile(`\.(hostname|fqdn|name)$`), handle: matchName},
	{name: "addresses that MAAS assigns", reason: "MAAS does not promise which free address it takes next", path: regexp.MustCompile(`\.ip_address$|\.ip$|\.ip_addresses\[\]$`), handle: matchAddress},
	{name: "moments", reason: "the day of the recording", path: regexp.MustCompile(`\.(created|updated|last_deployed)$`), handle: matchFormat(timestampPattern, longDatePattern)},
	{name: "UUIDs", reason: "random", path: regexp.MustCompile(`\.uuid$`), handle: matchFormat(uuidPattern)},
	{name: "maker's names", reason: "DMI and CPU names of the machine that ran the genuine MAAS and its emulator", path: regexp.MustCompile(`\.hardware_info\.[a-z_]+$`), handle: matchTypeOnly},
	{name: "API hash", reason: "hash of MAAS's own description", path: regexp.MustCompile(`\.api_hash$`), handle: matchTypeOnly},
	{name: "certificates and keys", reason: "placeholders in the recordings", path: regexp.MustCompile(`\.(certificate|key)$`), handle: matchFormat(pemPattern)},
	{name: "sentences of forms", reason: "they can contain sets in random order", path: regexp.MustCompile(`^\$[\w-]+\.(rrtype|__all__|name)\[\]$`), handle: matchSentence},
	{name: "sets of words", reason: "Python sets and unordered queries", path: regexp.MustCompile(`\.(tags|tag_names|ip_addresses)$`), handle: matchAnyOrder},
}

func (m *matcher) ruleFor(path string) rule {
	if r, known := m.ruleByPath[path]; known {
		return r
	}
	for _, r := range m.rules {
		if r.path.MatchString(path) {
			m.ruleByPath[path] = r
			return r
		}
	}
	m.ruleByPath[path] = rule{}
	return rule{}
}

// matchBound makes a rule for values that name a thing. The thing must keep its name in
// every later answer. null is compared as it is.
func matchBound(in nameSpace) func(*matcher, string, any, any) bool {
	return func(m *matcher, path string, recorded, simulated any) bool {
		if jsonType(recorded) != jsonType(simulated) || recorded == nil {
			return false
		}
		m.bind(in, path, fmt.Sprint(recorded), fmt.Sprint(simulated))
		return true
	}
}

var (
	fabricName = regexp.MustCompile(`^fabric-(\d+)$`)
	quotedWord = regexp.MustCompile(`'[^']*'`)
	numberWord = regexp.MustCompile(`\b\d+\b`)
)

// matchFabric compares chosen names as they are. It compares a name that MAAS made from an
// id by that id.
func matchFabric(m *matcher, path string, recorded, simulated any) bool {
	want, got, ok := twoStrings(recorded, simulated)
	a, b := fabricName.FindStringSubmatch(want), fabricName.FindStringSubmatch(got)
	if !ok || a == nil || b == nil || m.chosenNames[want] {
		return false
	}
	m.bind("fabric", path, a[1], b[1])
	return true
}

// matchQuotedWords compares sentences whose quoted words may come in any order.
func matchQuotedWords(m *matcher, path string, recorded, simulated any) bool {
	want, got, ok := twoStrings(recorded, simulated)
	if !ok {
		return false
	}
	a, b := quotedWord.FindAllString(want, -1), quotedWord.FindAllString(got, -1)
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) || quotedWord.ReplaceAllString(want, "§") != quotedWord.ReplaceAllString(got, "§") {
		m.report(path, "want %q, got %q", want, got)
	}
	return true
}

// matchSentenceWith compares sentences that contain ids of rows of one kind.
func matchSentenceWith(in nameSpace) func(*matcher, string, any, any) bool {
	return func(m *matcher, path string, recorded, simulated any) bool {
		want, got, ok := twoStrings(recorded, simulated)
		if ok {
			want = numberWord.ReplaceAllStringFunc(want, func(id string) string { return m.translate(in, id) })
			m.compareText(path, want, got)
		}
		return ok
	}
}

func matchURI(m *matcher, path string, recorded, simulated any) bool {
	want, got, ok := twoStrings(recorded, simulated)
	if ok {
		m.compareURI(path, want, got)
	}
	return ok
}

var eventCursor = regexp.MustCompile(`(after|before)=\d+`)

func matchPaging(m *matcher, path string, recorded, simulated any) bool {
	want, got, ok := twoStrings(recorded, simulated)
	if !ok {
		return false
	}
	want = systemIDs.ReplaceAllStringFunc(want, func(id string) string { return m.translate("node", id) })
	want, got = eventCursor.ReplaceAllString(want, "$1="), eventCursor.ReplaceAllString(got, "$1=")
	if sortQuery(want) != sortQuery(got) {
		m.report(path, "want %q, got %q", want, got)
	}
	return true
}

func sortQuery(uri string) string {
	path, query, _ := strings.Cut(uri, "?")
	parts := strings.Split(query, "&")
	slices.Sort(parts)
	return path + "?" + strings.Join(parts, "&")
}

// matchName compares names that a request chose as they are, and binds all others.
func matchName(m *matcher, path string, recorded, simulated any) bool {
	want, got, ok := twoStrings(recorded, simulated)
	if !ok {
		return false
	}
	wantHost, wantDomain, _ := strings.Cut(want, ".")
	gotHost, gotDomain, _ := strings.Cut(got, ".")
	if m.chosenNames[want] || m.chosenNames[wantHost] || !petnamePattern.MatchString(wantHost) || wantDomain != gotDomain {
		return false
	}
	if !petnamePattern.MatchString(gotHost) {
		m.report(path, "want a made-up name like %q, got %q", want, got)
		return true
	}
	m.bind("name", path, wantHost, gotHost)
	return true
}

var petnamePattern = regexp.MustCompile(`^[a-z]+-[a-z]+$`)

func matchAddress(m *matcher, path string, recorded, simulated any) bool {
	want, got, ok := twoStrings(recorded, simulated)
	if !ok || m.chosenNames[want] {
		return false
	}
	if !isSameNetwork(want, got) {
		m.report(path, "want an address beside %s, got %q", want, got)
		return true
	}
	m.bind("address", path, want, got)
	return true
}

func matchFormat(patterns ...*regexp.Regexp) func(*matcher, string, any, any) bool {
	return func(m *matcher, path string, recorded, simulated any) bool {
		want, got, ok := twoStrings(recorded, simulated)
		if !ok {
			return false
		}
		for _, p := range patterns {
			if p.MatchString(want) && p.MatchString(got) {
				return true
			}
		}
		m.report(path, "want the form of %q, got %q", want, got)
		return true
	}
}

func matchTypeOnly(_ *matcher, _ string, recorded, simulated any) bool {
	return jsonType(recorded) == jsonType(simulated)
}

// matchForm compares keys and types. Each entry of a simulated list must have the form of
// a recorded entry. The number of entries may differ.
func matchForm(m *matcher, path string, recorded, simulated any) bool {
	for _, p := range formProblems(path, recorded, simulated) {
		at, text, _ := strings.Cut(p, ": ")
		m.report(at, "%s", text)
	}
	return true
}

// nullableKeys are keys whose null depends on the server only.
var nullableKeys = map[string]string{
	"primary_rack": "its first interface is on a VLAN with DHCP in one recording, and without in the others",
}

// matchBridges compares the form of all interfaces. It compares strictly what a compose
// depends on: the bridges, whether MAAS serves DHCP on them, and their links.
func matchBridges(m *matcher, path string, recorded, simulated any) bool {
	want, got := describeBridges(recorded), describeBridges(simulated)
	if !slices.Equal(want, got) {
		m.report(path, "want the bridges %q, got %q", want, got)
	}
	return matchForm(m, path, recorded, simulated)
}

func describeBridges(interfaces any) []string {
	var out []string
	list, _ := interfaces.([]any)
	for _, entry := range list {
		n, _ := entry.(map[string]any)
		if n["type"] != "bridge" {
			continue
		}
		vlan, _ := n["vlan"].(map[string]any)
		text := fmt.Sprintf("%v dhcp_on=%v", n["name"], vlan["dhcp_on"])
		links, _ := n["links"].([]any)
		for _, entry := range links {
			link, _ := entry.(map[string]any)
			subnet, _ := link["subnet"].(map[string]any)
			text += fmt.Sprintf(" %v %v", link["mode"], subnet["cidr"])
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func formProblems(path string, recorded, simulated any) (problems []string) {
	if want, got := jsonType(recorded), jsonType(simulated); want != got {
		return []string{fmt.Sprintf("%s: want the form of %s, got %s", path, shortJSON(recorded), shortJSON(simulated))}
	}
	switch want := recorded.(type) {
	case map[string]any:
		got := simulated.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			value, ok := got[key]
			switch {
			case !ok:
				problems = append(problems, path+"."+key+": missing")
			case nullableKeys[key] != "" && (value == nil || want[key] == nil):
			default:
				problems = append(problems, formProblems(path+"."+key, want[key], value)...)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[key]; !ok {
				problems = append(problems, path+"."+key+": not in the recording")
			}
		}
	case []any:
		for _, entry := range simulated.([]any) {
			problems = append(problems, nearestForm(path+"[]", want, entry)...)
		}
	}
	return problems
}

// nearestForm returns the problems of an entry with the most similar recorded entry.
func nearestForm(path string, recorded []any, entry any) []string {
	var least []string // an empty list has no form to compare with
	for i, want := range recorded {
		if problems := formProblems(path, want, entry); i == 0 || len(problems) < len(least) {
			least = problems
		}
	}
	return least
}

func matchSentence(m *matcher, path string, recorded, simulated any) bool {
	want, got, ok := twoStrings(recorded, simulated)
	if ok {
		m.compareText(path, want, got)
	}
	return ok
}

// matchAnyOrder sorts both lists by the keys that identify their entries.
func matchAnyOrder(m *matcher, path string, recorded, simulated any) bool {
	want, okWant := recorded.([]any)
	got, okGot := simulated.([]any)
	if !okWant || !okGot {
		return false
	}
	byKey := func(a, b any) int { return cmp.Compare(sortKey(a), sortKey(b)) }
	m.compareList(path, slices.SortedFunc(slices.Values(want), byKey), slices.SortedFunc(slices.Values(got), byKey))
	return true
}

func sortKey(v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(v)
	}
	for _, key := range []string{"name", "ip", "hostname"} {
		if s, ok := object[key].(string); ok {
			return s
		}
	}
	content, _ := json.Marshal(v)
	return string(content)
}

func twoStrings(a, b any) (string, string, bool) {
	want, okWant := a.(string)
	got, okGot := b.(string)
	return want, got, okWant && okGot
}
