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

// settingKind reads a setting's text, as a field of Django or of MAAS does
// (maasserver/fields.py). A problem is the message of that field.
type settingKind interface {
	read(w *world.World, text string) (value any, problem string)
}

// textKind is a line of at most max characters. A max of 0 is no limit.
type textKind struct {
	required bool
	max      int
}

func (k textKind) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	switch n := len([]rune(text)); {
	case n == 0 && k.required:
		return nil, rest.MsgRequired
	case k.max > 0 && n > k.max:
		return nil, fmt.Sprintf("Ensure this value has at most %d characters (it has %d).", k.max, n)
	}
	return text, ""
}

// checkbox is a check box. Every text but "false" and the empty one is true, even "0".
type checkbox struct{}

func (checkbox) read(_ *world.World, text string) (any, string) {
	return text != "" && !strings.EqualFold(text, "false"), ""
}

// wholeNumber is a number within bounds. A max of 0 is no upper bound.
type wholeNumber struct{ min, max int }

func (k wholeNumber) read(_ *world.World, text string) (any, string) {
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

// portKind is a port that neither the system nor MAAS uses. alsoAllowed is an exception.
type portKind struct{ alsoAllowed int }

func (k portKind) read(w *world.World, text string) (any, string) {
	value, problem := wholeNumber{}.read(w, text)
	if problem != "" || value == nil {
		return value, problem
	}
	const unable = "Unable to change port number. Port number is "
	switch n := value.(int); {
	case n == k.alsoAllowed:
	case n > 65535 || n <= 0:
		return nil, unable + "not between 0 - 65535."
	case n <= 1023:
		return nil, unable + "reserved for system services."
	case n >= 5240 && n <= 5270:
		return nil, unable + "reserved for MAAS services."
	}
	return value, ""
}

// urlKind is a URL.
type urlKind struct{}

func (urlKind) read(_ *world.World, text string) (any, string) {
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

func splitList(text string) []string {
	return slices.DeleteFunc(separators.Split(text, -1), func(part string) bool { return part == "" })
}

// addressListKind are IP addresses.
type addressListKind struct{}

func (addressListKind) read(_ *world.World, text string) (any, string) {
	parts := splitList(text)
	for _, part := range parts {
		if _, err := netip.ParseAddr(part); err != nil {
			return nil, fmt.Sprintf("Invalid IP address: %s; provide a list of space-separated IP addresses", part)
		}
	}
	return strings.Join(parts, " "), ""
}

// hostListKind are host names and addresses, and networks if they are allowed.
type hostListKind struct{ networks bool }

func (k hostListKind) read(_ *world.World, text string) (any, string) {
	parts := splitList(text)
	for _, part := range parts {
		if problem := k.problem(part); problem != "" {
			return nil, problem
		}
	}
	return strings.Join(parts, " "), ""
}

var looksLikeIPv4 = regexp.MustCompile(`^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(/\d+)?$`)

func (k hostListKind) problem(part string) string {
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

// syslogServerKind is a host with a port. The default port is 514.
type syslogServerKind struct{}

func (syslogServerKind) read(_ *world.World, text string) (any, string) {
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

// choiceKind is one of several values. refusalText is the message about any other value.
// Without it the message names the choices or is Django's.
type choiceKind struct {
	values            []string
	required          bool
	name, refusalText string
}

func (k choiceKind) read(_ *world.World, text string) (any, string) {
	switch {
	case text == "" && k.required:
		return nil, rest.MsgRequired
	case text == "" || slices.Contains(k.values, text):
		return text, ""
	case k.refusalText != "":
		return nil, k.refusalText
	case k.name != "":
		return nil, invalidChoiceText(text, k.name, k.values)
	}
	return nil, rest.ChoiceProblem(text)
}

// invalidChoiceText is MAAS's message about a value that is not one of the choices
// (utils/forms.py, compose_invalid_choice_text).
func invalidChoiceText(text, of string, values []string) string {
	return fmt.Sprintf("'%s' is not a valid %s.  It should be one of: '%s'.", text, of, strings.Join(values, "', '"))
}

// internalDomainKind is the name of MAAS's own zone.
type internalDomainKind struct{}

var zoneName = regexp.MustCompile(`^([a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?\.)*[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?\.?$`)

func (internalDomainKind) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	if text != "" && (!zoneName.MatchString(text) || len(text) > 255) {
		return nil, fmt.Sprintf("Invalid domain name: %s.", text)
	}
	return text, ""
}

// osystemKind is an operating system with an imported image.
type osystemKind struct{}

const noImagesText = "Unable to determine supported operating systems, due to missing boot images."

func (osystemKind) read(w *world.World, text string) (any, string) {
	systems, _ := osystemsOf(w)
	return readImage(text, "osystem", systems)
}

// seriesKind is a release of Ubuntu with an imported image.
type seriesKind struct{ name string }

func (k seriesKind) read(w *world.World, text string) (any, string) {
	_, releases := osystemsOf(w)
	return readImage(text, k.name, releases["ubuntu"])
}

// readImage reads a choice among images. Without images MAAS offers only "---", and
// refuses it.
func readImage(text, of string, values []string) (any, string) {
	if len(values) == 0 {
		values = []string{"---"}
	}
	if text == "---" && values[0] == "---" {
		return nil, noImagesText
	}
	return choiceKind{values: values, name: of}.read(nil, text)
}

// kernelKind is a hardware enablement kernel of the commissioning release.
type kernelKind struct{}

func (kernelKind) read(w *world.World, text string) (any, string) {
	version := world.Releases[w.DefaultSeries()].Version
	return choiceKind{values: []string{"", "ga-" + version, "hwe-" + version}, name: "default_min_hwe_kernel"}.read(w, text)
}

// bmcKeyKind is IPMI's K_g.
type bmcKeyKind struct{}

var bmcKeyForm = regexp.MustCompile(`^(0x[a-fA-F0-9]{40}|[\w\W]{20})$`)

func (bmcKeyKind) read(_ *world.World, text string) (any, string) {
	text = strings.TrimSpace(text)
	if text != "" && !bmcKeyForm.MatchString(text) {
		return nil, fmt.Sprintf(`Error: K_g must either be 20 characters in length, or 40 hexadecimal characters prefixed with "0x" (current length is %d).`, len([]rune(text)))
	}
	return text, ""
}

// flagsKind is a list of choices, which a single text never is.
type flagsKind struct{}

func (flagsKind) read(_ *world.World, text string) (any, string) {
	if text != "" {
		return nil, "Enter a list of values."
	}
	return []string{}, ""
}

// intervalKind is a duration in systemd's format, such as "1h 30m".
type intervalKind struct{}

var intervalForm = regexp.MustCompile(`^(\d+\s?(hours?|hr|h)\s?|\d+\s?(minutes?|min|m)\s?|\d+\s?(seconds?|sec|s)\s?)+`)

func (intervalKind) read(_ *world.World, text string) (any, string) {
	if !intervalForm.MatchString(text) {
		return nil, fmt.Sprintf("value is not a valid interval: %s, only 'h|hr|hour|hours, m|min|minute|minutes, s|sec|second|seconds' are valid units", text)
	}
	return text, ""
}
