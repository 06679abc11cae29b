package record

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
)

// dictionary holds placeholders. One secret, address or name always gets the same
// placeholder.
type dictionary struct {
	keyOrder   keyOrders
	secrets    map[string]string // literal → placeholder
	names      map[string]string // word → placeholder
	numbers    map[string]int    // by kind of placeholder
	texts      map[string]string // what people wrote → placeholder
	macs       map[string]string
	uuids      map[string]string
	nets       map[string]string // first half of an IPv4 address, or an IPv6 address → placeholder
	takenNames map[string]bool   // placeholders of names in use
}

func newDictionary() *dictionary {
	return &dictionary{
		keyOrder: keyOrders{},
		secrets:  map[string]string{}, names: map[string]string{}, numbers: map[string]int{}, uuids: map[string]string{},
		nets: map[string]string{}, texts: map[string]string{}, macs: map[string]string{}, takenNames: map[string]bool{},
	}
}

// userNames are the users that the simulator has, in their order.
var userNames = []string{"admin", "user1"}

var (
	petname           = regexp.MustCompile(`^[a-z]+-[a-z]+$`)
	petnameAdjectives = strings.Fields("calm brave clever eager gentle happy jolly kind lively merry nice polite quick proud quiet smart swift tidy warm wise")
	petnameAnimals    = strings.Fields("ant bee cat cow crow deer dog duck eel elk emu fish fox frog goat gull hare hawk hen hog")
)

// nextNumber is the next number of a kind of placeholder, from 1.
func (d *dictionary) nextNumber(kind string) int { d.numbers[kind]++; return d.numbers[kind] }

// placeholderForSecret is the placeholder of a secret.
func (d *dictionary) placeholderForSecret(text, kind string) string {
	if known, ok := d.secrets[text]; ok || text == "" {
		return known
	}
	placeholder := "<" + kind + ">"
	if n := d.nextNumber(kind); n > 1 {
		placeholder = fmt.Sprintf("<%s %d>", kind, n)
	}
	d.secrets[text] = placeholder
	for _, written := range spellings(text) {
		if _, known := d.secrets[written]; !known {
			d.secrets[written] = placeholder
		}
	}
	return placeholder
}

// spellings are the forms in which an answer may repeat a text.
func spellings(text string) []string {
	quoted, _ := json.Marshal(text)
	return []string{
		strings.Trim(string(quoted), `"`), html.EscapeString(text), url.QueryEscape(text), url.PathEscape(text),
		base64.StdEncoding.EncodeToString([]byte(text)), strings.TrimSpace(text),
	}
}

// placeholderForName is the placeholder of a name. Numbers, MAAS's own words and addresses
// stay as they are.
func (d *dictionary) placeholderForName(text, kind string) string {
	if known, ok := d.names[text]; ok {
		return known
	}
	switch {
	case text == "" || strings.Trim(text[1:], "0123456789") == "" && strings.Contains("-0123456789", text[:1]) || knownWords[text] || generatedNamePattern.MatchString(text):
		return text
	case dashedAddressPattern.MatchString(text): // MAAS's name for an address
		return strings.ReplaceAll(d.maskIPv4(ipv4Pattern.FindStringSubmatch(strings.ReplaceAll(text, "-", "."))), ".", "-")
	}
	for {
		placeholder := d.newName(text, kind) + invalidNameSuffix(text)
		if !d.takenNames[placeholder] {
			d.names[text], d.takenNames[placeholder] = placeholder, true
			return placeholder
		}
	}
}

var dashedAddressPattern = regexp.MustCompile(`^\d{1,3}(-\d{1,3}){3}$`)

// invalidNameSuffix keeps what may make MAAS refuse a name: invalid characters, a dash at
// either end, and too great a length.
func invalidNameSuffix(text string) string {
	signs := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r < 0x80 && anyWord.MatchString(string(r)) {
			return -1
		}
		return r
	}, text)
	if strings.Contains(text, "_") {
		signs += "_"
	}
	if strings.Trim(text, "-") != text {
		signs += "-"
	}
	if len(text) > 63 {
		signs += strings.Repeat("x", len(text))
	}
	return signs
}

func (d *dictionary) newName(text, kind string) string {
	n := d.nextNumber(kind)
	switch {
	case kind == "user" && n <= len(userNames):
		return userNames[n-1]
	case kind == "user":
		return fmt.Sprintf("user%d", n-1)
	case kind == "host" && petname.MatchString(text):
		n := d.nextNumber("petname") - 1
		return petnameAdjectives[n/len(petnameAnimals)%len(petnameAdjectives)] + "-" + petnameAnimals[n%len(petnameAnimals)]
	}
	return fmt.Sprintf("%s%d", kind, n)
}

// placeholderForUserData is valid user-data that reveals nothing.
func (d *dictionary) placeholderForUserData(text string) string {
	if known, ok := d.secrets[text]; ok {
		return known
	}
	placeholder := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "#cloud-config\n# user-data %d\n", d.nextNumber("user-data")))
	d.secrets[text] = placeholder
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil && len(plain) > 0 {
		d.secrets[string(plain)] = placeholder
	}
	return placeholder
}

// lxdDisk is the serial number, or path, of a disk that LXD makes.
var lxdDisk = regexp.MustCompile(`^(/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_)?lxd_(root|disk\d+)$|^/dev/[a-z]{3}$`)

// placeholderForText is the placeholder of a text that somebody wrote.
func (d *dictionary) placeholderForText(text string) string {
	if text == "" || text == "Default pool" || text == "Unknown" || lxdDisk.MatchString(text) {
		return text
	}
	if _, known := d.texts[text]; !known {
		d.texts[text] = fmt.Sprintf("text %d", d.nextNumber("text"))
	}
	return d.texts[text]
}
