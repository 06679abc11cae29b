package record

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mask makes what a recording must not tell neutral, always in the same way: the
// same secret, address or name becomes the same placeholder. It may be used from
// many goroutines.
type Mask struct {
	order   order
	mu      sync.Mutex
	secrets map[string]string // literal → placeholder
	names   map[string]string // word → placeholder
	numbers map[string]int    // by kind of placeholder
	texts   map[string]string // what people wrote → placeholder
	macs    map[string]string
	nets    map[string]string // first half of an IPv4 address, or an IPv6 address → placeholder
	taken   map[string]bool   // placeholders in use
}

// NewMask knows no secrets yet. Those given never appear in a recording.
func NewMask(secrets ...string) *Mask {
	m := &Mask{
		order:   order{},
		secrets: map[string]string{}, names: map[string]string{}, numbers: map[string]int{},
		nets: map[string]string{}, texts: map[string]string{}, macs: map[string]string{}, taken: map[string]bool{},
	}
	for _, s := range secrets {
		m.secret(s, "API-KEY-PART")
	}
	return m
}

// secretKeys end the names of fields that hold a secret.
var secretKeys = regexp.MustCompile(`(?i)(pass|passwd|password|passphrase|secret|token|macaroons?|credentials?|authorization|signature|cookie|k_g|[_-]key|^key|apikey|private_key|sshkey|keydata)$`)

// publicKeys end like secrets and are none.
var publicKeys = regexp.MustCompile(`(?i)^(tag_key|sort_key|primary_key|storage_key|key_id|has_password)$`)

// IsSecret tells whether a field of this name, or a setting of MAAS, is secret.
func IsSecret(key string) bool {
	return secretKeys.MatchString(key) && !publicKeys.MatchString(key) || strings.HasPrefix(key, "vcenter_")
}

// nameKinds are fields that hold names of the site.
var nameKinds = map[string]string{
	"hostname": "host", "instance_name": "host", "pod": "vmhost", "not_pod": "vmhost", "vm_host": "vmhost",
	"username": "user", "owner": "user", "user": "user", "zone": "zone", "not_in_zone": "zone",
	"pool": "pool", "not_in_pool": "pool", "resource_pool": "pool", "domain": "domain", "project": "project",
	"tags": "tag", "not_tags": "tag", "tag": "tag", "tag_names": "tag",
}

// namedRoutes are collections whose rows have a name of the site's choice.
var namedRoutes = map[string]string{
	"machines": "host", "nodes": "host", "devices": "host", "rackcontrollers": "host", "regioncontrollers": "host",
	"vm-hosts": "vmhost", "pods": "vmhost", "pod": "vmhost", "zones": "zone", "zone": "zone",
	"resourcepools": "pool", "resourcepool": "pool", "pool": "pool", "tags": "tag", "users": "user",
	"domains": "domain", "domain": "domain", "fabrics": "fabric", "spaces": "space", "subnets": "subnet", "dnsresources": "record",
}

// knownWords are not names of a site, whatever field holds them.
var knownWords = strings.Fields(`default maas MAAS None null true false on off unknown error virtual undefined untagged
	pod-console-logging lxd virsh manual ubuntu amd64 arm64 generic admin_only machine Ready New Deployed Allocated Broken
	ready new deployed allocated broken deploying commissioning physical bridge bond vlan auto static dhcp link_up any all
	name id key value type root`)

// texts are fields of free text that people write.
var texts = []string{"description", "comment", "note", "error_description"}

// userNames are the users that the simulator has, in their order.
var userNames = []string{"admin", "user1"}

var (
	petname = regexp.MustCompile(`^[a-z]+-[a-z]+$`)
	moods   = strings.Fields("calm brave clever eager gentle happy jolly kind lively merry nice polite quick proud quiet smart swift tidy warm wise")
	animals = strings.Fields("ant bee cat cow crow deer dog duck eel elk emu fish fox frog goat gull hare hawk hen hog")
)

// number is the next number of a kind of placeholder, from 1.
func (m *Mask) number(kind string) int { m.numbers[kind]++; return m.numbers[kind] }

// secret is the placeholder of a secret.
func (m *Mask) secret(text, kind string) string {
	if text == "" || strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
		return text
	}
	if known, ok := m.secrets[text]; ok {
		return known
	}
	placeholder := "<" + kind + ">"
	if n := m.number(kind); n > 1 {
		placeholder = fmt.Sprintf("<%s %d>", kind, n)
	}
	m.secrets[text] = placeholder
	return placeholder
}

// name is the placeholder of a name. Ids, known words and addresses stay.
func (m *Mask) name(text, kind string) string {
	if known, ok := m.names[text]; ok {
		return known
	}
	if text == "" || strings.Trim(text, "0123456789") == "" || slices.Contains(knownWords, text) || strings.ContainsAny(text, "/:<>{}[]\"") || m.taken[text] {
		return text
	}
	for {
		placeholder := m.newName(text, kind)
		if !m.taken[placeholder] {
			m.names[text], m.taken[placeholder] = placeholder, true
			return placeholder
		}
	}
}

func (m *Mask) newName(text, kind string) string {
	n := m.number(kind)
	switch {
	case kind == "user" && n <= len(userNames):
		return userNames[n-1]
	case kind == "user":
		return fmt.Sprintf("user%d", n-1)
	case kind == "host" && petname.MatchString(text):
		n := m.number("petname") - 1
		return moods[n/len(animals)%len(moods)] + "-" + animals[n%len(animals)]
	}
	return fmt.Sprintf("%s%d", kind, n)
}

// userData is valid user-data that tells nothing.
func (m *Mask) userData(text string) string {
	if text == "" {
		return ""
	}
	if known, ok := m.secrets[text]; ok {
		return known
	}
	placeholder := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "#cloud-config\n# user-data %d\n", m.number("user-data")))
	m.secrets[text] = placeholder
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil && len(plain) > 0 {
		m.secrets[string(plain)] = placeholder
	}
	return placeholder
}

// Field masks the value of a field. The parent is the name of the object that
// holds it, or the collection of the request.
func (m *Mask) Field(parent, key, text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.field(parent, key, text)
}

func (m *Mask) field(parent, key, text string) string {
	short := strings.TrimPrefix(key, "power_parameters_")
	switch {
	case text == "":
		return ""
	case (text[0] == '{' || text[0] == '[') && m.isJSON(text):
		return m.json(key, text)
	case pem.MatchString(text) || key == "certificate" || short == "certificate":
		return m.plain(text)
	case short == "user_data" || key == "user-data":
		return m.userData(text)
	case short == "password" || short == "power_pass":
		return m.secret(text, "LXD TRUST PASSWORD")
	case IsSecret(short):
		return m.secret(text, "SECRET")
	case parent == "owner_data" || parent == "workload_annotations" || parent != "events" && slices.Contains(texts, key):
		return m.text(text)
	}
	m.learn(parent, key, text)
	return m.plain(text)
}

// credentials learns the parts of an Authorization header: MAAS's answers may
// name them.
func (m *Mask) credentials(header string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	scheme, rest, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "OAuth") {
		m.secret(strings.TrimSpace(rest), "API-KEY-PART")
		return
	}
	for field := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		plain, err := url.PathUnescape(strings.Trim(value, `"`))
		if err != nil {
			plain = value
		}
		switch name {
		case "oauth_consumer_key", "oauth_token", "oauth_signature":
			m.secret(strings.TrimPrefix(plain, "&"), "API-KEY-PART")
		}
	}
}

// text is the placeholder of what somebody wrote.
func (m *Mask) text(text string) string {
	if text == "Default pool" {
		return text
	}
	if _, known := m.texts[text]; !known {
		m.texts[text] = fmt.Sprintf("text %d", m.number("text"))
	}
	return m.texts[text]
}

func (m *Mask) isJSON(text string) bool { _, err := decode([]byte(text)); return err == nil }

// json masks a value that is itself JSON.
func (m *Mask) json(key, text string) string {
	v, err := decode([]byte(text))
	if err != nil {
		return "<BROKEN JSON>"
	}
	return string(encode(m.value(key, key, v)))
}

// learn takes the names that a field tells.
func (m *Mask) learn(parent, key, text string) {
	kind := nameKinds[key]
	if key == "name" || key == "new_name" {
		kind = namedRoutes[parent]
	}
	if kind == "tag" && namedRoutes[parent] == "" {
		kind = "" // of a disk or an interface: what MAAS found
	}
	switch {
	case key == "fqdn":
		host, domain, _ := strings.Cut(text, ".")
		m.name(host, "host")
		m.name(domain, "domain")
	case kind != "" && kind != "record":
		for word := range strings.SplitSeq(text, ",") {
			host, domain, dotted := strings.Cut(strings.TrimSpace(word), ".")
			m.name(host, kind)
			if dotted && kind == "host" {
				m.name(domain, "domain")
			}
		}
	}
}

// Value masks a decoded JSON value.
func (m *Mask) Value(parent, key string, v any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value(parent, key, v)
}

func (m *Mask) value(parent, key string, v any) any {
	switch v := v.(type) {
	case string:
		return m.field(parent, key, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.value(parent, key, v[i])
		}
		return out
	case map[string]any:
		inner := key
		if namedRoutes[key] == "" && key != "owner_data" && key != "workload_annotations" && namedRoutes[parent] != "" && key == parent {
			inner = parent
		}
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			out[m.key(k)] = m.value(inner, k, v[k])
		}
		return out
	}
	return v
}

// key masks the name of a field where that is itself an address.
func (m *Mask) key(key string) string {
	if strings.ContainsAny(key, ".:") {
		return m.plain(key)
	}
	return key
}

// Text masks all that is known, addresses and keys in a text.
func (m *Mask) Text(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plain(text)
}
