package settings

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// kind is how a setting's text is read: a field of a form of Django's or of
// MAAS's own (maasserver/fields.py). A problem is its sentence.
type kind interface {
	read(w *world.World, text string) (value any, problem string)
}

// text is a line, of at most so many characters unless max is 0.
type text struct {
	required bool
	max      int
}

func (k text) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	switch n := len([]rune(text)); {
	case n == 0 && k.required:
		return nil, rest.MsgRequired
	case k.max > 0 && n > k.max:
		return nil, fmt.Sprintf("Ensure this value has at most %d characters (it has %d).", k.max, n)
	}
	return text, ""
}

// truth is a check box: all but "false" and nothing is true, "0", too.
type truth struct{}

func (truth) read(_ *world.World, text string) (any, string) {
	return text != "" && !strings.EqualFold(text, "false"), ""
}

// whole is a number within bounds; a max of 0 is none.
type whole struct{ min, max int }

func (k whole) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, ""
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return nil, rest.MsgWhole
	case k.min != 0 && n < k.min:
		return nil, fmt.Sprintf("Ensure this value is greater than or equal to %d.", k.min)
	case k.max != 0 && n > k.max:
		return nil, fmt.Sprintf("Ensure this value is less than or equal to %d.", k.max)
	}
	return n, ""
}

// port is one that neither the system nor MAAS uses, but for also.
type port struct{ also int }

func (k port) read(w *world.World, text string) (any, string) {
	value, problem := whole{}.read(w, text)
	if problem != "" || value == nil {
		return value, problem
	}
	const unable = "Unable to change port number. Port number is "
	switch n := value.(int); {
	case n == k.also:
	case n > 65535 || n <= 0:
		return nil, unable + "not between 0 - 65535."
	case n <= 1023:
		return nil, unable + "reserved for system services."
	case n >= 5240 && n <= 5270:
		return nil, unable + "reserved for MAAS services."
	}
	return value, ""
}

// address is a URL.
type address struct{}

func (address) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", ""
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "ftp", "ftps"}, u.Scheme) {
		return nil, "Enter a valid URL."
	}
	return text, ""
}

var separators = regexp.MustCompile(`[,\s]+`)

func split(text string) []string {
	return slices.DeleteFunc(separators.Split(text, -1), func(part string) bool { return part == "" })
}

// addresses are IP addresses.
type addresses struct{}

func (addresses) read(_ *world.World, text string) (any, string) {
	parts := split(text)
	for _, part := range parts {
		if _, err := netip.ParseAddr(part); err != nil {
			return nil, fmt.Sprintf("Invalid IP address: %s; provide a list of space-separated IP addresses", part)
		}
	}
	return strings.Join(parts, " "), ""
}

// hosts are names and addresses, perhaps networks.
type hosts struct{ networks bool }

func (k hosts) read(_ *world.World, text string) (any, string) {
	parts := split(text)
	for _, part := range parts {
		if problem := k.problem(part); problem != "" {
			return nil, problem
		}
	}
	return strings.Join(parts, " "), ""
}

var looksLikeIPv4 = regexp.MustCompile(`^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(/\d+)?$`)

func (k hosts) problem(part string) string {
	if looksLikeIPv4.MatchString(part) || strings.Contains(part, ":") {
		_, err := netip.ParseAddr(part)
		_, isNetwork := netip.ParsePrefix(part)
		switch {
		case err == nil || k.networks && isNetwork == nil:
			return ""
		case k.networks && strings.Contains(part, "/"):
			return fmt.Sprintf("Invalid network: %s.", part)
		case k.networks:
			return fmt.Sprintf("Invalid IP address: %s.", part)
		}
		return fmt.Sprintf("Failed to detect a valid IP address from '%s'.", part)
	}
	if problem := rest.LabelProblem(part); problem != "" {
		return "Invalid hostname: " + problem
	}
	return ""
}

// syslogServer is a host with a port, 514 unless it says another.
type syslogServer struct{}

func (syslogServer) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, ""
	}
	if host, number, hasPort := strings.Cut(text, ":"); hasPort && !strings.Contains(number, ":") {
		if _, err := strconv.Atoi(number); err == nil {
			return host + ":" + number, ""
		}
	}
	return text + ":514", ""
}

// choice is one of some values. The refusal is words, or names what it is one
// of, or is Django's.
type choice struct {
	values    []string
	required  bool
	of, words string
}

func (k choice) read(_ *world.World, text string) (any, string) {
	switch {
	case text == "" && k.required:
		return nil, rest.MsgRequired
	case text == "" || slices.Contains(k.values, text):
		return text, ""
	case k.words != "":
		return nil, k.words
	case k.of != "":
		return nil, notValid(text, k.of, k.values)
	}
	return nil, rest.ChoiceProblem(text)
}

// notValid is MAAS's sentence about a value that is no choice
// (utils/forms.py, compose_invalid_choice_text).
func notValid(text, of string, values []string) string {
	return fmt.Sprintf("'%s' is not a valid %s.  It should be one of: '%s'.", text, of, strings.Join(values, "', '"))
}

// internalDomain is the name of MAAS's own zone.
type internalDomain struct{}

var zoneName = regexp.MustCompile(`^([a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?\.)*[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?\.?$`)

func (internalDomain) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	if text != "" && (!zoneName.MatchString(text) || len(text) > 255) {
		return nil, fmt.Sprintf("Invalid domain name: %s.", text)
	}
	return text, ""
}

// osystem is a system with an imported image.
type osystem struct{}

const noImages = "Unable to determine supported operating systems, due to missing boot images."

func (osystem) read(w *world.World, text string) (any, string) {
	systems, _ := osystemsOf(w)
	return readImage(text, "osystem", systems)
}

// series is a release of Ubuntu with an imported image.
type series struct{ of string }

func (k series) read(w *world.World, text string) (any, string) {
	_, releases := osystemsOf(w)
	return readImage(text, k.of, releases["ubuntu"])
}

// readImage reads a choice among images. Without any, MAAS offers "---" alone,
// and refuses it.
func readImage(text, of string, values []string) (any, string) {
	if len(values) == 0 {
		values = []string{"---"}
	}
	if text == "---" && values[0] == "---" {
		return nil, noImages
	}
	return choice{values: values, of: of}.read(nil, text)
}

// kernel is a hardware enablement kernel of the commissioning release.
type kernel struct{}

func (kernel) read(w *world.World, text string) (any, string) {
	version := world.Releases[w.DefaultSeries()].Version
	return choice{values: []string{"", "ga-" + version, "hwe-" + version}, of: "default_min_hwe_kernel"}.read(w, text)
}

// bmcKey is IPMI's K_g.
type bmcKey struct{}

var bmcKeyForm = regexp.MustCompile(`^(0x[a-fA-F0-9]{40}|[\w\W]{20})$`)

func (bmcKey) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	if text != "" && !bmcKeyForm.MatchString(text) {
		return nil, fmt.Sprintf(`Error: K_g must either be 20 characters in length, or 40 hexadecimal characters prefixed with "0x" (current length is %d).`, len([]rune(text)))
	}
	return text, ""
}

// flags are several choices, which one text never is.
type flags struct{}

func (flags) read(_ *world.World, text string) (any, string) {
	if text != "" {
		return nil, "Enter a list of values."
	}
	return []string{}, ""
}

// interval is a duration in systemd's words, as "1h 30m".
type interval struct{}

var intervalForm = regexp.MustCompile(`^(\d+\s?(hours?|hr|h)\s?|\d+\s?(minutes?|min|m)\s?|\d+\s?(seconds?|sec|s)\s?)+`)

func (interval) read(_ *world.World, text string) (any, string) {
	if !intervalForm.MatchString(text) {
		return nil, fmt.Sprintf("value is not a valid interval: %s, only 'h|hr|hour|hours, m|min|minute|minutes, s|sec|second|seconds' are valid units", text)
	}
	return text, ""
}
