package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mask makes what a recording must not tell neutral. A field that it does not know
// is left out. It may be used from many goroutines.
type Mask struct {
	mu sync.Mutex
	*dictionary
}

// NewMask knows no secrets yet. Those given never appear in a recording.
func NewMask(secrets ...string) *Mask {
	m := &Mask{dictionary: newDictionary()}
	for _, s := range secrets {
		m.secret(s, "API-KEY-PART")
	}
	return m
}

// Field masks the value of a field. The parent is the name of the object that
// holds it, or the collection of the request.
func (m *Mask) Field(parent, key, text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.field(parent, key, text)
}

// field asks first whether a value is secret: nothing else may show it then.
func (m *Mask) field(parent, key, text string) string {
	short := strings.TrimPrefix(key, "power_parameters_")
	switch {
	case text == "":
		return ""
	case short == "user_data" || short == "user-data":
		return m.userData(text)
	case IsSecret(short) || short == "certificate":
		return m.secretField(short, text)
	case parent == "events" && (short == "description" || sentences[short]):
		return m.plain(text)
	case ownerData[parent] || freeTexts[short]:
		return m.text(text)
	case text[0] == '{' || text[0] == '[':
		return m.json(parent, key, text)
	case sentences[short]:
		return m.plain(text)
	case constraints[short]:
		return m.constraint(text, "label")
	}
	if kind := kindOf(parent, short); kind != "" {
		return m.nameField(text, kind)
	}
	if !harmless[short] && short != "name" || strings.Contains(text, "://") && strings.Contains(text, " ") || !simple.MatchString(text) {
		return m.text(text)
	}
	return m.plain(text)
}

// simple are values of few words, without quotes or braces.
var simple = regexp.MustCompile("^[^\n\r{}\"'`<>\\\\]{1,300}$")

// secretField is the placeholder of a field that is secret. A PEM block keeps its
// kind: the replay has one of its own for it.
func (m *Mask) secretField(key, text string) string {
	blocks := pem.FindAllString(text, -1)
	switch {
	case len(blocks) > 0 && strings.TrimSpace(pem.ReplaceAllString(text, "")) == "":
		return pem.ReplaceAllStringFunc(text, m.pemBlock)
	case key == "password" || key == "power_pass":
		return m.secret(text, "LXD TRUST PASSWORD")
	}
	return m.secret(text, "SECRET")
}

// kindOf is the kind of name that a field holds, or empty.
func kindOf(parent, key string) string {
	switch {
	case key != "name" && key != "new_name":
		return nameKinds[key]
	case parent == "maas":
		return "" // the name of a setting
	}
	return cmp.Or(namedRoutes[parent], "name")
}

var nameInList = regexp.MustCompile(`[^,\s]+`)

// nameField masks the names of a list. A word may begin with a specifier, as in
// name:web1.
func (m *Mask) nameField(text, kind string) string {
	return nameInList.ReplaceAllStringFunc(text, func(word string) string {
		if isAddress(word) {
			return m.plain(word)
		}
		before := ""
		if specifier, name, found := strings.Cut(word, ":"); found && constraintWords[specifier] {
			before, word = specifier+":", name
		}
		host, domain, dotted := strings.Cut(word, ".")
		switch {
		case isAddress(word):
			return before + m.plain(word)
		case kind == "image":
			return before + m.constraint(word, kind)
		case strings.ContainsAny(word, "/:<>{}[]\"'"):
			return before + m.text(word)
		case kind == "host" && dotted:
			return before + m.name(host, kind) + "." + m.name(domain, "domain")
		}
		return before + m.name(word, kind)
	})
}

func isAddress(word string) bool {
	_, noAddress := netip.ParseAddr(word)
	_, noPrefix := netip.ParsePrefix(word)
	return noAddress == nil || noPrefix == nil || macs.FindString(word) == word
}

var constraintName = regexp.MustCompile(`[^\s,;:=()/\x{F0000}-\x{FFFFD}]+`)

// constraint masks the labels, names and addresses of a constraint for disks or
// interfaces.
func (m *Mask) constraint(text, kind string) string {
	h := &hidden{}
	text = h.without(text)
	text = h.replace(macs, text, m.mac)
	text = h.replace(ipv6, text, m.ipv6)
	text = h.replace(ipv4, text, m.ipv4)
	text = h.replace(constraintName, text, func(found []string) string {
		if word := found[0]; constraintWords[word] || strings.Trim(word, "0123456789.-") == "" {
			return ""
		}
		return m.name(found[0], kind)
	})
	return h.reveal(text)
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

// json masks a value that is itself JSON. What only looks so is left out.
func (m *Mask) json(parent, key, text string) string {
	v, err := decode([]byte(text))
	if err != nil {
		return m.text(text)
	}
	return string(encode(m.value(parent, key, v)))
}

// Body masks the body of an answer or request about a collection. Nothing says
// what a text alone is.
func (m *Mask) Body(collection string, v any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if list, isList := v.([]any); isText(v) || isList && slices.ContainsFunc(list, isText) {
		return m.value("owner_data", "", v)
	}
	return m.value(collection, collection, v)
}

func isText(v any) bool { _, is := v.(string); return is }

// Value masks a decoded JSON value.
func (m *Mask) Value(parent, key string, v any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value(parent, key, v)
}

func (m *Mask) value(parent, key string, v any) any {
	short := strings.TrimPrefix(key, "power_parameters_")
	if _, text := v.(string); !text && IsSecret(short) {
		return m.secretValue(short, v)
	}
	switch v := v.(type) {
	case string:
		return m.field(parent, key, v)
	case json.Number:
		return m.numberField(short, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.value(parent, key, v[i])
		}
		return out
	case map[string]any:
		inner := key
		if ownerData[parent] || key != parent && !isKnown(short) {
			inner = "owner_data" // it may hold anything
		}
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			out[m.key(k)] = m.value(inner, k, v[k])
		}
		return out
	}
	return v
}

// isKnown tells whether MAAS's API has a field of this name.
func isKnown(key string) bool {
	return harmless[key] || nameKinds[key] != "" || namedRoutes[key] != "" || sentences[key] || ownerData[key]
}

// secretValue is one placeholder for all that a secret field holds.
func (m *Mask) secretValue(key string, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		return m.secretField(key, fmt.Sprint(key, v))
	case json.Number:
		return m.secretField(key, v.String())
	}
	m.learnSecrets(v)
	return m.secretField(key, string(encode(v)))
}

// learnSecrets takes each text in a secret value for a secret.
func (m *Mask) learnSecrets(v any) {
	switch v := v.(type) {
	case string:
		m.secret(v, "SECRET")
	case []any:
		for _, inner := range v {
			m.learnSecrets(inner)
		}
	case map[string]any:
		for _, inner := range v {
			m.learnSecrets(inner)
		}
	}
}

// numberField keeps the numbers of known fields, and short ones.
func (m *Mask) numberField(key string, n json.Number) any {
	if placeholder, secret := m.secrets[n.String()]; secret && len(n) >= shortest {
		return placeholder
	}
	if isKnown(key) || len(n) <= 4 {
		return n
	}
	return json.Number("0")
}

// label is the form of names of fields.
var label = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// key masks the name of a field that is none of MAAS's.
func (m *Mask) key(key string) string {
	switch {
	case isKnown(key) || key == "":
		return key
	case strings.ContainsAny(key, ".:"), label.MatchString(key):
		return m.plain(key)
	}
	return m.text(key)
}

// Parameter masks the name of a parameter that is none of MAAS's. A body of
// another kind may have been read as one long name.
func (m *Mask) Parameter(name string, given bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !given && !parameters[name] && !freeTexts[name] && !constraints[name] && !isKnown(name) {
		return m.text(name)
	}
	return m.key(name)
}

// Segment masks a part of a path. What stands before it says what it is.
func (m *Mask) Segment(before, text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	kind := namedRoutes[before]
	switch {
	case routeWords[text] || namedRoutes[text] != "" && before != text:
		return text
	case (kind == "host" || before == "node" || before == "machine") && systemID.MatchString(text):
		return text
	}
	return m.nameField(text, cmp.Or(kind, "name"))
}

// systemID is the form of the ids of machines.
var systemID = regexp.MustCompile(`^[a-z0-9]{6}$`)

// Refusal masks the body of an answer that refuses: sentences by field.
func (m *Mask) Refusal(v any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refusal("", v)
}

func (m *Mask) refusal(key string, v any) any {
	if v != nil && IsSecret(key) {
		return m.secretValue(key, v)
	}
	switch v := v.(type) {
	case string:
		return m.plain(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.refusal(key, v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			out[m.key(k)] = m.refusal(k, v[k])
		}
		return out
	}
	return v
}

// Text masks all that is known, addresses and keys in a text.
func (m *Mask) Text(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plain(text)
}
