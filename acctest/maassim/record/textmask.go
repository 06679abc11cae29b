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

// minLiteralLength is the least length of a secret or text that is searched for in other
// texts.
const minLiteralLength = 4

var (
	apiURI              = regexp.MustCompile(`^/MAAS/api/2\.0/([a-z-]+)/`)
	pemPattern          = regexp.MustCompile(`-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END [A-Z0-9 ]+-----\s*`)
	brokenPEM           = regexp.MustCompile(`-----BEGIN [\s\S]*`)
	baseString          = regexp.MustCompile(`(base string: )[^']*`)
	settingPattern      = regexp.MustCompile(`(?i)(setting '[^']*' to )[\s\S]*`)
	assignmentPattern   = regexp.MustCompile(`(?i)([\w.-]*(?:` + secretWords + `|auth|\bkey)[\w.-]*\\?["']?\s*[:=]>?\s*)[^\s'][\s\S]*?('?)$`)
	quotedSecretPattern = regexp.MustCompile(`(?i)([\w.-]*(?:` + secretWords + `|auth|\bkey)[\w.-]*\\?["']?\s*[:=]>?\s*)'[\s\S]*$`)
	optionPattern       = regexp.MustCompile(`(?i)(--?[\w-]*(?:` + secretWords + `|key)[\w-]*\s+)\S+`)
	bearers             = regexp.MustCompile(`(?i)\b(bearer|basic)\s+\S{6,}`)
	openSSH             = regexp.MustCompile(`((sk-)?(ssh|ecdsa)-[a-z0-9@.-]+) [A-Za-z0-9+/=]{20,}( \S+)?`)
	apiKeys             = regexp.MustCompile(`\b[A-Za-z0-9]{18}:[A-Za-z0-9]{18}:[A-Za-z0-9]{32}\b`)
	urlPattern          = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>]*)`)
	emailPattern        = regexp.MustCompile(`([A-Za-z0-9._%+-]+)@[A-Za-z0-9.-]+`)
	uuidPattern         = regexp.MustCompile(`\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`)
	macPattern          = regexp.MustCompile(`\b[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\b`)
	ipv6Pattern         = regexp.MustCompile(`[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}`)
	ipv4Pattern         = regexp.MustCompile(`\b(\d{1,3}\.\d{1,3})(\.\d{1,3}\.\d{1,3})\b`)
	domainPattern       = regexp.MustCompile(`\b[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.(com|net|org|io|dev|cloud|local|localdomain|lan|internal|intranet|corp|example|test|home|arpa|[a-z]{2})\b`)
	anyWord             = regexp.MustCompile(`[\pL0-9_][\pL0-9_-]*`)
	randomWord          = regexp.MustCompile(`[A-Za-z0-9]{12,}`)
)

// maskPatterns find what is masked in any text, in their order. A pattern is tried only on
// a text that has one of its characters, because most values are short words. A text that
// begins with a secret's name is masked up to its end.
var maskPatterns = []struct {
	signs   string
	pattern *regexp.Regexp
	mask    func(d *dictionary, found []string) string
}{
	{"/", apiURI, (*dictionary).keepURI},
	{"-", pemPattern, func(d *dictionary, found []string) string { return d.maskPEMBlock(found[0]) }},
	{"-", brokenPEM, func(*dictionary, []string) string { return "<SECRET>" }},
	{":", baseString, func(_ *dictionary, found []string) string { return found[1] + "&<SIGNATURE BASE>" }},
	{"'", settingPattern, func(_ *dictionary, found []string) string { return found[1] + "<SETTING>" }},
	{":=", assignmentPattern, func(_ *dictionary, found []string) string { return found[1] + "<SECRET>" + found[2] }},
	{"'", quotedSecretPattern, func(_ *dictionary, found []string) string { return found[1] + "<SECRET>" }},
	{"-", optionPattern, func(_ *dictionary, found []string) string { return found[1] + "<SECRET>" }},
	{" ", bearers, func(_ *dictionary, found []string) string { return found[1] + " <SECRET>" }},
	{" ", openSSH, func(d *dictionary, found []string) string { return d.placeholderForSecret(found[0], "SSH KEY") }},
	{":", apiKeys, func(d *dictionary, found []string) string { return d.placeholderForSecret(found[0], "API KEY") }},
	{":", urlPattern, func(d *dictionary, found []string) string { return found[1] + d.maskAuthority(found[2]) }},
	{"@", emailPattern, func(d *dictionary, found []string) string {
		return d.placeholderForName(found[1], "user") + "@example.com"
	}},
	{"-", uuidPattern, (*dictionary).maskUUID},
	{":", macPattern, (*dictionary).maskMAC},
	{":", ipv6Pattern, (*dictionary).maskIPv6},
	{".", ipv4Pattern, (*dictionary).maskIPv4},
}

// maskText masks a text that is not a secret as a whole.
func (d *dictionary) maskText(text string) string {
	h := &placeholderStore{}
	text = d.maskLiterals(h, h.stripPrivateRunes(text))
	for _, p := range maskPatterns {
		if strings.ContainsAny(text, p.signs) {
			text = h.hideMatches(p.pattern, text, func(found []string) string { return p.mask(d, found) })
		}
	}
	return h.reveal(d.maskKnownNames(h, text))
}

// maskLiterals replaces known secrets and texts.
func (d *dictionary) maskLiterals(h *placeholderStore, text string) string {
	for _, secret := range d.keyOrder.longestFirst("secrets", d.secrets) {
		if len(secret) >= minLiteralLength && !knownWords[secret] && strings.Contains(text, secret) {
			text = strings.ReplaceAll(text, secret, h.hide(d.secrets[secret]))
		}
	}
	for _, written := range d.keyOrder.longestFirst("texts", d.texts) {
		if (len(written) >= 8 || len(written) >= minLiteralLength && strings.ContainsFunc(written, isNotLetter)) && strings.Contains(text, written) {
			text = replaceWhole(text, written, h.hide(d.texts[written]))
		}
	}
	return text
}

func isNotLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }

// replaceWhole replaces a text except where it is a part of a word.
func replaceWhole(text, old, placeholder string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, old)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		inner := before != "" && anyWord.MatchString(before[len(before)-1:]+"") || after != "" && anyWord.MatchString(after[:1])
		if inner {
			b.WriteString(old)
		} else {
			b.WriteString(placeholder)
		}
		text = after
	}
}

// maskKnownNames replaces known names, domains, and words that look random.
func (d *dictionary) maskKnownNames(h *placeholderStore, text string) string {
	text = d.maskNameWords(h, text, nil)
	text = h.hideMatches(domainPattern, text, func(found []string) string { return d.placeholderForSite(found[0]) })
	return h.hideMatches(randomWord, text, func(found []string) string {
		if !isRandom(found[0]) {
			return ""
		}
		return d.placeholderForSecret(found[0], "RANDOM")
	})
}

// maskNameWords replaces known names. It keeps placeholders in use where the text may hold
// some.
func (d *dictionary) maskNameWords(h *placeholderStore, text string, placeholders map[string]bool) string {
	for _, name := range d.keyOrder.longestFirst("names", d.names) {
		if len(name) >= minLiteralLength && !placeholders[name] && anyWord.FindString(name) != name && strings.Contains(text, name) {
			text = strings.ReplaceAll(text, name, h.hide(d.names[name]))
		}
	}
	return h.hideMatches(anyWord, text, func(found []string) string {
		word := found[0]
		if placeholders[word] || len(word) < 3 && !strings.ContainsAny(word, "0123456789") {
			return ""
		}
		return d.names[word]
	})
}

// isRandom tells whether a long word has both digits and letters. It excludes the
// addresses of objects that Python prints.
func isRandom(word string) bool {
	return !strings.HasPrefix(word, "0x") && strings.ContainsAny(word, "0123456789") && strings.ContainsFunc(word, func(r rune) bool { return r > '9' })
}

// placeholderStore hides placeholders from the patterns that follow. Until the end each
// placeholder is one rune of Unicode's private use area.
type placeholderStore struct{ all []string }

const (
	firstHidden = rune(0xF0000)
	lastHidden  = rune(0xFFFFD)
)

func (h *placeholderStore) hide(placeholder string) string {
	if len(h.all) > int(lastHidden-firstHidden) {
		return "<SECRET>"
	}
	h.all = append(h.all, placeholder)
	return string(firstHidden + rune(len(h.all)-1))
}

// stripPrivateRunes removes runes of the private use area from a text.
func (h *placeholderStore) stripPrivateRunes(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= firstHidden && r <= lastHidden {
			return '\uFFFD'
		}
		return r
	}, text)
}

// hideMatches replaces each match of a pattern and hides the replacement. An empty
// replacement leaves the match as it is.
func (h *placeholderStore) hideMatches(pattern *regexp.Regexp, text string, mask func(found []string) string) string {
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		found := pattern.FindStringSubmatch(match)
		if found == nil { // the pattern depends on the neighbouring characters
			found = []string{match, "", "", ""}
		}
		for i := range found {
			found[i] = h.reveal(found[i])
		}
		if masked := mask(found); masked != "" {
			return h.hide(masked)
		}
		return match
	})
}

func (h *placeholderStore) reveal(text string) string {
	if len(h.all) == 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if n := int(r - firstHidden); r >= firstHidden && n < len(h.all) {
			b.WriteString(h.all[n])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// keyOrders caches the keys of maps that only grow, the longest first, so that no key is
// replaced inside a longer one.
type keyOrders map[string][]string

func (o keyOrders) longestFirst(name string, known map[string]string) []string {
	if len(o[name]) != len(known) {
		o[name] = slices.SortedFunc(maps.Keys(known), func(a, b string) int {
			return cmp.Or(len(b)-len(a), cmp.Compare(a, b))
		})
	}
	return o[name]
}

// keepURI keeps MAAS's own words at the start of a resource_uri.
func (d *dictionary) keepURI(found []string) string {
	if namedRoutes[found[1]] == "" && !routeWords[found[1]] {
		return ""
	}
	return found[0]
}

func (d *dictionary) maskPEMBlock(block string) string {
	kind := pemPattern.FindStringSubmatch(block)[1]
	block = strings.TrimSpace(block)
	if strings.HasSuffix(kind, "PRIVATE KEY") {
		kind = "PRIVATE KEY"
	}
	return d.placeholderForSecret(block, kind+" PEM")
}

// publicSites serve images and packages to the public.
var publicSites = wordSet(`images.maas.io archive.ubuntu.com ports.ubuntu.com security.ubuntu.com localhost`)

// maskAuthority masks the rest of an URL after ://: a password, the host, and the path,
// which may be secret, too.
func (d *dictionary) maskAuthority(rest string) string {
	secret := ""
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		secret, rest = "<SECRET>@", rest[at+1:]
	}
	end := len(rest)
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		end = at
	}
	host, path := rest[:end], rest[end:]
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	if !publicSites[host] && path != "" && path != "/" && !strings.HasPrefix(path, "/MAAS/") {
		path = "/" + d.placeholderForName(path, "path")
	}
	name, port, hasPort := strings.Cut(host, ":")
	switch {
	case strings.HasPrefix(host, "["):
		inner, _, _ := strings.Cut(host[1:], "]")
		return secret + "[" + cmp.Or(d.maskIPv6([]string{inner}), "<SECRET>") + "]" + path
	case hasPort && strings.Trim(port, "0123456789,") != "":
		return secret + "<SECRET>" + path
	case isAddress(name):
		name = ipv4Pattern.ReplaceAllStringFunc(name, func(address string) string { return d.maskIPv4(ipv4Pattern.FindStringSubmatch(address)) })
	default:
		name = d.placeholderForSite(name)
	}
	if hasPort {
		name += ":" + port
	}
	return secret + name + path
}

// placeholderForSite is the placeholder of a host in an URL, or of a domain.
func (d *dictionary) placeholderForSite(host string) string {
	if host == "" || publicSites[host] {
		return host
	}
	if d.names[host] == "" {
		placeholder := fmt.Sprintf("site%d.example", d.nextNumber("site"))
		d.names[host], d.takenNames[placeholder] = placeholder, true
	}
	return d.names[host]
}

func (d *dictionary) maskUUID(found []string) string {
	if d.uuids[found[0]] == "" {
		d.uuids[found[0]] = fmt.Sprintf("00000000-0000-4000-8000-%012x", d.nextNumber("uuid"))
	}
	return d.uuids[found[0]]
}

// maskMAC keeps the vendor's half of an address that LXD made.
func (d *dictionary) maskMAC(found []string) string {
	lower := strings.ToLower(found[0])
	if lower == "00:00:00:00:00:00" || lower == "ff:ff:ff:ff:ff:ff" {
		return found[0]
	}
	if known, ok := d.macs[lower]; ok {
		return known
	}
	maker := "02:00:00"
	if strings.HasPrefix(lower, "00:16:3e") {
		maker = "00:16:3e"
	}
	n := d.nextNumber("mac")
	placeholder := fmt.Sprintf("%s:%02x:%02x:%02x", maker, n>>16&255, n>>8&255, n&255)
	d.macs[lower] = placeholder
	return placeholder
}

// maskIPv4 replaces the first half of an address, so that addresses of one network stay in
// one network. Loopback addresses, netmasks and 0.0.0.0 stay, because they reveal nothing.
func (d *dictionary) maskIPv4(found []string) string {
	address := found[0]
	if _, err := netip.ParseAddr(address); err != nil || strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "0.0.") || strings.HasPrefix(address, "255.") {
		return address
	}
	if d.nets[found[1]] == "" {
		d.nets[found[1]] = fmt.Sprintf("10.%d", 76+d.nextNumber("net"))
	}
	return d.nets[found[1]] + found[2]
}

func (d *dictionary) maskIPv6(found []string) string {
	address := found[0]
	a, err := netip.ParseAddr(address)
	if err != nil || !a.Is6() {
		return ""
	}
	if a.IsLoopback() || a.IsUnspecified() {
		return address
	}
	if known, ok := d.nets[address]; ok {
		return known
	}
	placeholder := fmt.Sprintf("fd00:77::%x", d.nextNumber("ipv6"))
	d.nets[address] = placeholder
	return placeholder
}

func sortedKeys(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }

// encode makes JSON without HTML escapes.
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
	if _, err := d.Token(); err == nil || d.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}
