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

// Mask replaces everything that a recording must not reveal. It leaves out the values of
// fields that it does not know. Several goroutines may use it at a time.
type Mask struct {
	mu sync.Mutex
	*dictionary
}

// NewMask returns a mask that knows only the given secrets. These never appear in a
// recording.
func NewMask(secrets ...string) *Mask {
	m := &Mask{dictionary: newDictionary()}
	for _, s := range secrets {
		m.placeholderForSecret(s, "API-KEY-PART")
	}
	return m
}

// Field masks the value of a field. The parent is the name of the object that
// holds it, or the collection of the request.
func (m *Mask) Field(parent, key, text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.maskField(parent, key, text)
}

// maskField checks first whether a value is secret, because no other rule may show a
// secret.
func (m *Mask) maskField(parent, key, text string) string {
	short := strings.TrimPrefix(key, "power_parameters_")
	switch {
	case text == "":
		return ""
	case short == "user_data" || short == "user-data":
		return m.placeholderForUserData(text)
	case IsSecret(short) || short == "certificate":
		return m.maskSecretField(short, text)
	case parent == "events" && (short == "description" || sentenceFields[short]):
		return m.maskText(text)
	case ownerDataFields[parent] || freeTextFields[short]:
		return m.placeholderForText(text)
	case text[0] == '{' || text[0] == '[':
		return m.maskJSON(parent, key, text)
	case sentenceFields[short]:
		return m.maskText(text)
	case constraintFields[short]:
		return m.maskConstraint(text, "label")
	}
	if kind := nameKindOf(parent, short); kind != "" {
		return m.maskNameList(text, kind)
	}
	if !harmlessFields[short] && short != "name" || strings.Contains(text, "://") && strings.Contains(text, " ") || !simpleValuePattern.MatchString(text) {
		return m.placeholderForText(text)
	}
	return m.maskText(text)
}

// simpleValuePattern matches values of few words, without quotes or braces.
var simpleValuePattern = regexp.MustCompile("^[^\n\r{}\"'`<>\\\\]{1,300}$")

// maskSecretField is the placeholder of a secret field. A PEM block keeps its kind,
// because the replay puts a block of its own in its place.
func (m *Mask) maskSecretField(key, text string) string {
	blocks := pemPattern.FindAllString(text, -1)
	switch {
	case len(blocks) > 0 && strings.TrimSpace(pemPattern.ReplaceAllString(text, "")) == "":
		return pemPattern.ReplaceAllStringFunc(text, m.maskPEMBlock)
	case key == "password" || key == "power_pass":
		return m.placeholderForSecret(text, "LXD TRUST PASSWORD")
	}
	return m.placeholderForSecret(text, "SECRET")
}

// nameKindOf is the kind of name that a field holds, or empty.
func nameKindOf(parent, key string) string {
	switch {
	case key != "name" && key != "new_name":
		return nameKinds[key]
	case parent == "maas":
		return "" // the name of a setting
	}
	return cmp.Or(namedRoutes[parent], "name")
}

var nameInList = regexp.MustCompile(`[^,\s]+`)

// maskNameList masks the names of a list. A word may begin with a specifier, as in
// name:web-1.
func (m *Mask) maskNameList(text, kind string) string {
	return nameInList.ReplaceAllStringFunc(text, func(word string) string {
		if isAddress(word) {
			return m.maskText(word)
		}
		before := ""
		if specifier, name, found := strings.Cut(word, ":"); found && constraintWords[specifier] {
			before, word = specifier+":", name
		}
		host, domain, dotted := strings.Cut(word, ".")
		switch {
		case isAddress(word):
			return before + m.maskText(word)
		case kind == "image":
			return before + m.maskConstraint(word, kind)
		case strings.ContainsAny(word, "/:<>{}[]\"'"):
			return before + m.placeholderForText(word)
		case kind == "host" && dotted:
			return before + m.placeholderForName(host, kind) + "." + m.placeholderForName(domain, "domain")
		}
		return before + m.placeholderForName(word, kind)
	})
}

func isAddress(word string) bool {
	_, noAddress := netip.ParseAddr(word)
	_, noPrefix := netip.ParsePrefix(word)
	return noAddress == nil || noPrefix == nil || macPattern.FindString(word) == word
}

var constraintName = regexp.MustCompile(`[^\s,;:=()/\x{F0000}-\x{FFFFD}]+`)

// maskConstraint masks the labels, names and addresses of a constraint for disks or
// interfaces.
func (m *Mask) maskConstraint(text, kind string) string {
	h := &placeholderStore{}
	text = h.stripPrivateRunes(text)
	text = h.hideMatches(macPattern, text, m.maskMAC)
	text = h.hideMatches(ipv6Pattern, text, m.maskIPv6)
	text = h.hideMatches(ipv4Pattern, text, m.maskIPv4)
	text = h.hideMatches(constraintName, text, func(found []string) string {
		if word := found[0]; constraintWords[word] || strings.Trim(word, "0123456789.-") == "" {
			return ""
		}
		return m.placeholderForName(found[0], kind)
	})
	return h.reveal(text)
}

// learnCredentials learns the parts of an Authorization header as secrets, because MAAS's
// answers may quote them.
func (m *Mask) learnCredentials(header string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	scheme, rest, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "OAuth") {
		m.placeholderForSecret(strings.TrimSpace(rest), "API-KEY-PART")
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
			m.placeholderForSecret(strings.TrimPrefix(plain, "&"), "API-KEY-PART")
		}
	}
}

// maskJSON masks a text that holds JSON. It leaves out a text that looks like JSON but
// cannot be decoded.
func (m *Mask) maskJSON(parent, key, text string) string {
	v, err := decode([]byte(text))
	if err != nil {
		return m.placeholderForText(text)
	}
	return string(encode(m.maskValue(parent, key, v)))
}

// Body masks the body of an answer or request about a collection. It leaves out a body
// that is only a text, because its meaning is not known.
func (m *Mask) Body(collection string, v any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if list, isList := v.([]any); isText(v) || isList && slices.ContainsFunc(list, isText) {
		return m.maskValue("owner_data", "", v)
	}
	return m.maskValue(collection, collection, v)
}

func isText(v any) bool { _, is := v.(string); return is }

// Value masks a decoded JSON value.
func (m *Mask) Value(parent, key string, v any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.maskValue(parent, key, v)
}

func (m *Mask) maskValue(parent, key string, v any) any {
	short := strings.TrimPrefix(key, "power_parameters_")
	if _, text := v.(string); !text && IsSecret(short) {
		return m.maskSecretValue(short, v)
	}
	switch v := v.(type) {
	case string:
		return m.maskField(parent, key, v)
	case json.Number:
		return m.maskNumber(short, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.maskValue(parent, key, v[i])
		}
		return out
	case map[string]any:
		inner := key
		if ownerDataFields[parent] || key != parent && !isKnownField(short) {
			inner = "owner_data" // may hold any keys
		}
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			out[m.maskKey(k)] = m.maskValue(inner, k, v[k])
		}
		return out
	}
	return v
}

// isKnownField tells whether MAAS's API has a field of this name.
func isKnownField(key string) bool {
	return harmlessFields[key] || nameKinds[key] != "" || namedRoutes[key] != "" || sentenceFields[key] || ownerDataFields[key]
}

// maskSecretValue replaces the whole value of a secret field by one placeholder.
func (m *Mask) maskSecretValue(key string, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		return m.maskSecretField(key, fmt.Sprint(key, v))
	case json.Number:
		return m.maskSecretField(key, v.String())
	}
	m.learnSecrets(v)
	return m.maskSecretField(key, string(encode(v)))
}

// learnSecrets learns each text in a secret value as a secret.
func (m *Mask) learnSecrets(v any) {
	switch v := v.(type) {
	case string:
		m.placeholderForSecret(v, "SECRET")
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

// maskNumber keeps the numbers of known fields, and short ones.
func (m *Mask) maskNumber(key string, n json.Number) any {
	if placeholder, secret := m.secrets[n.String()]; secret && len(n) >= minLiteralLength {
		return placeholder
	}
	if isKnownField(key) || len(n) <= 4 {
		return n
	}
	return json.Number("0")
}

// fieldNamePattern is the form of the names of fields.
var fieldNamePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// maskKey masks the name of a field that is not one of MAAS's.
func (m *Mask) maskKey(key string) string {
	switch {
	case isKnownField(key) || key == "":
		return key
	case strings.ContainsAny(key, ".:"), fieldNamePattern.MatchString(key):
		return m.maskText(key)
	}
	return m.placeholderForText(key)
}

// Parameter masks the name of a parameter that is not one of MAAS's. Such a name may be a
// whole body of another content type, read as one long name.
func (m *Mask) Parameter(name string, given bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !given && !secretParameters[name] && !freeTextFields[name] && !constraintFields[name] && !isKnownField(name) {
		return m.placeholderForText(name)
	}
	return m.maskKey(name)
}

// Segment masks a part of a path. The part before it, such as "zones", tells what kind of
// name it is.
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
	return m.maskNameList(text, cmp.Or(kind, "name"))
}

// systemID is the form of the ids of machines.
var systemID = regexp.MustCompile(`^[a-z0-9]{6}$`)

// Refusal masks the body of an error answer: sentences by field.
func (m *Mask) Refusal(v any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.maskRefusal("", v)
}

func (m *Mask) maskRefusal(key string, v any) any {
	if v != nil && IsSecret(key) {
		return m.maskSecretValue(key, v)
	}
	switch v := v.(type) {
	case string:
		return m.maskText(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.maskRefusal(key, v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range sortedKeys(v) {
			out[m.maskKey(k)] = m.maskRefusal(k, v[k])
		}
		return out
	}
	return v
}

// Text masks all known secrets and names, and all addresses and keys, in a text.
func (m *Mask) Text(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.maskText(text)
}
