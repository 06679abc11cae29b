package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var (
	pem      = regexp.MustCompile(`-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END [A-Z0-9 ]+-----\s*`)
	openSSH  = regexp.MustCompile(`(ssh-(rsa|ed25519|dss)|ecdsa-sha2-[a-z0-9-]+) [A-Za-z0-9+/=]{20,}( \S+)?`)
	userinfo = regexp.MustCompile(`(://)([^/@\s"]+)(@)`)
	oauth    = regexp.MustCompile(`(oauth_[a-z_]+=)("[^"]*"|[^\s,&]+)`)
	apiKeys  = regexp.MustCompile(`\b[A-Za-z0-9]{18}:[A-Za-z0-9]{18}:[A-Za-z0-9]{32}\b`)
	emails   = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}`)
	urlHosts = regexp.MustCompile(`(https?://(?:<SECRET>@)?)([A-Za-z][A-Za-z0-9.-]*)`)
	siteHost = regexp.MustCompile(`^site\d+\.example$`)
	ipv4     = regexp.MustCompile(`\b(\d{1,3}\.\d{1,3})(\.\d{1,3}\.\d{1,3})\b`)
	ipv6     = regexp.MustCompile(`[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}`)
	macs     = regexp.MustCompile(`\b[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\b`)
	words    = regexp.MustCompile(`[A-Za-z0-9_][A-Za-z0-9_-]*`)
)

// patterns find what is masked wherever it stands, in their order. Where the sign
// is missing, nothing is looked for: most values are short words.
var patterns = []struct {
	sign    string
	pattern *regexp.Regexp
	mask    func(m *Mask, found string) string
}{
	{" ", openSSH, func(m *Mask, key string) string { return m.secret(key, "SSH KEY") }},
	{"oauth_", oauth, func(_ *Mask, field string) string { return oauth.ReplaceAllString(field, "$1<OAUTH>") }},
	{":", apiKeys, func(m *Mask, key string) string { return m.secret(key, "API KEY") }},
	{"@", userinfo, func(_ *Mask, user string) string { return userinfo.ReplaceAllString(user, "${1}<SECRET>${3}") }},
	{"@", emails, (*Mask).email},
	{":", macs, (*Mask).mac},
	{":", ipv6, (*Mask).ipv6},
	{".", ipv4, (*Mask).ipv4},
	{"://", urlHosts, (*Mask).urlHost},
}

// plain masks a text that is no field, or one that holds no secret as a whole.
func (m *Mask) plain(text string) string {
	text = pem.ReplaceAllStringFunc(text, m.pemBlock)
	for _, secret := range m.order.of("secrets", m.secrets) {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, m.secrets[secret])
		}
	}
	for _, written := range m.order.of("texts", m.texts) {
		if len(written) >= 12 {
			text = strings.ReplaceAll(text, written, m.texts[written])
		}
	}
	for _, p := range patterns {
		if strings.Contains(text, p.sign) {
			text = p.pattern.ReplaceAllStringFunc(text, func(found string) string { return p.mask(m, found) })
		}
	}
	return words.ReplaceAllStringFunc(m.odd(text), func(word string) string { return cmp.Or(m.names[word], word) })
}

// odd replaces names that are no plain words.
func (m *Mask) odd(text string) string {
	for _, name := range m.order.of("names", m.names) {
		if len(name) >= 4 && words.FindString(name) != name {
			text = strings.ReplaceAll(text, name, m.names[name])
		}
	}
	return text
}

// order keeps the keys of maps that only grow, the longest first, so that none is
// replaced inside of another.
type order map[string][]string

func (o order) of(name string, known map[string]string) []string {
	if len(o[name]) != len(known) {
		o[name] = slices.SortedFunc(maps.Keys(known), func(a, b string) int {
			return cmp.Or(len(b)-len(a), cmp.Compare(a, b))
		})
	}
	return o[name]
}

func (m *Mask) pemBlock(block string) string {
	kind := pem.FindStringSubmatch(block)[1]
	block = strings.TrimSpace(block)
	if strings.HasSuffix(kind, "PRIVATE KEY") {
		kind = "PRIVATE KEY"
	}
	return m.secret(block, kind+" PEM")
}

func (m *Mask) email(address string) string {
	user, _, _ := strings.Cut(address, "@")
	if m.taken[user] && strings.HasSuffix(address, "@example.com") {
		return address
	}
	return m.name(user, "user") + "@example.com"
}

// mac keeps the maker's half of LXD's addresses.
func (m *Mask) mac(address string) string {
	lower := strings.ToLower(address)
	if lower == "00:00:00:00:00:00" || lower == "ff:ff:ff:ff:ff:ff" {
		return address
	}
	if known, ok := m.macs[lower]; ok {
		return known
	}
	maker := "02:00:00"
	if strings.HasPrefix(lower, "00:16:3e") {
		maker = "00:16:3e"
	}
	n := m.number("mac")
	placeholder := fmt.Sprintf("%s:%02x:%02x:%02x", maker, n>>16&255, n>>8&255, n&255)
	m.macs[lower] = placeholder
	return placeholder
}

// ipv4 replaces the first half of an address, so that what is in a network stays
// in it. Loopback, masks and all zeros tell nothing.
func (m *Mask) ipv4(address string) string {
	parts := ipv4.FindStringSubmatch(address)
	if _, err := netip.ParseAddr(address); err != nil || strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "0.0.") || strings.HasPrefix(address, "255.") {
		return address
	}
	if m.nets[parts[1]] == "" {
		m.nets[parts[1]] = fmt.Sprintf("10.%d", 76+m.number("net"))
	}
	return m.nets[parts[1]] + parts[2]
}

func (m *Mask) ipv6(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return address
	}
	if known, ok := m.nets[address]; ok {
		return known
	}
	placeholder := fmt.Sprintf("fd00:77::%x", m.number("ipv6"))
	m.nets[address] = placeholder
	return placeholder
}

func (m *Mask) urlHost(url string) string {
	parts := urlHosts.FindStringSubmatch(url)
	host := parts[2]
	if host == "localhost" || m.taken[host] || siteHost.MatchString(host) {
		return url
	}
	if m.names[host] == "" {
		placeholder := fmt.Sprintf("site%d.example", m.number("site"))
		m.names[host], m.taken[placeholder] = placeholder, true
	}
	return parts[1] + m.names[host]
}

func sortedKeys(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }

// encode is JSON without escapes for HTML, which has no place here.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(b.Bytes())
}

// decode keeps numbers as they are written.
func decode(content []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}
