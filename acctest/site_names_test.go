package acctest_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
)

// naming translates between the words of the tests, which are those of the simulated
// world, and the names on a real MAAS. There, what a test makes begins with a prefix
// of its own, and what it uses is what the environment names.
type naming struct {
	prefix string            // of what this test makes
	given  map[string]string // what there is: the simulated world's word, and its name; empty: there is none

	mu   sync.Mutex
	made map[string]string // what this test makes: its word, and its name
	told func(name string) // is called with each name that comes into made

	address func(word string) string // a free address for one of the simulated network
}

// missing is the reason to skip a test that needs what the environment does not name.
func missing(word string) string {
	return "this MAAS has nothing that stands for " + word + " of the simulated world: docs/design/real-maas.md says which variable names it"
}

// there is the name on the MAAS of a word; ok is false where it has none.
func (n *naming) there(word string) (name string, ok bool) {
	if n == nil {
		return word, true
	}
	short, domain, dotted := strings.Cut(word, ".")
	if name, known := n.given[short]; known && dotted && domain == "maas" {
		return name + "." + n.given["maas"], name != ""
	}
	if name, known := n.given[word]; known {
		return name, name != ""
	}
	if dotted && n.given[domain] != "" {
		return n.make(short) + "." + n.given[domain], true
	}
	if isAddress.MatchString(word) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.made[word] == "" {
			n.made[word] = n.address(word)
		}
		return n.made[word], n.made[word] != ""
	}
	return n.make(word), true
}

// isAddress matches an address of the simulated world.
var isAddress = regexp.MustCompile(`^10\.[0-9.]+$`)

// tag is the name of a tag: one of the VM host's, one of MAAS's, or one that the test
// makes, whatever else its word stands for.
func (n *naming) tag(word string) string {
	if word == "rack1" && n.given[word] != "" {
		return n.given[word]
	}
	if word == "virtual" || word == "pod-console-logging" {
		return word
	}
	return n.make(word)
}

// hostWords are those of the simulated world's hosts, which are not made.
var hostWords = map[string]bool{"lxd1": true, "lxd2": true, "node1": true, "node2": true}

// make is the name of what a test makes, for its word.
func (n *naming) make(word string) string {
	if word == "" || strings.HasPrefix(word, runPrefix()) || strings.HasPrefix(word, "${") || strings.HasPrefix(word, "br-") {
		return word
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, known := n.made[word]; known {
		return name
	}
	name := n.prefix + word
	n.made[word] = name
	n.told(name)
	return name
}

// knows tells whether a word has a name already.
func (n *naming) knows(word string) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	short, domain, _ := strings.Cut(word, ".")
	return n.given[word] != "" || n.made[word] != "" || domain == "maas" && n.given[short] != "" || n.given[domain] != "" && n.made[short] != ""
}

// back puts the tests' words in the place of the names in a text.
func (n *naming) back(text string) string {
	if n == nil {
		return text
	}
	text = strings.ReplaceAll(text, n.prefix, "")
	n.mu.Lock()
	for word, name := range n.made {
		if isAddress.MatchString(word) {
			text = strings.ReplaceAll(text, name, word)
		}
	}
	n.mu.Unlock()
	for word, name := range n.given {
		if name != "" && name != word && name != "default" && strings.Contains(text, name) {
			text = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllLiteralString(text, word)
		}
	}
	return text
}

// wordOf is the word of a name among some words, or the name without its prefix.
func (n *naming) wordOf(name string, among ...string) string {
	if n == nil {
		return name
	}
	for _, word := range among {
		if n.given[word] == name && name != "" {
			return word
		}
	}
	return strings.TrimPrefix(name, n.prefix)
}

// named are the attributes whose values are names of objects.
var named = regexp.MustCompile(`\b(name|names|tags|group|id|vm_host|zone|pool|domain|machine|subnet|image|kernel|input|ip)(\s*=\s*)(\[[^\]]*\]|"[^"\n]*")`)

var quoted = regexp.MustCompile(`"([^"\n]*)"`)

// translated ends a configuration that has the names already.
const translated = "\n# with the names of this MAAS\n"

// config puts names in the place of the words in a configuration. It notes a word for
// which this MAAS has nothing: see needsAll.
func (n *naming) config(body string) string {
	if n == nil || strings.HasSuffix(body, translated) {
		return body
	}
	lacks, elsewhere := "", placedElsewhere.MatchString(body)
	body = named.ReplaceAllStringFunc(body, func(match string) string {
		parts := named.FindStringSubmatch(match)
		attribute, sign, value := parts[1], parts[2], parts[3]
		return attribute + sign + quoted.ReplaceAllStringFunc(value, func(q string) string {
			word := strings.Trim(q, `"`)
			if name, given := n.given[attribute+":"+word]; given {
				return `"` + name + `"`
			}
			if attribute == "tags" {
				if word == "rack1" && n.given[word] == "" {
					lacks = word
				}
				return `"` + n.tag(word) + `"`
			}
			if attribute == "group" { // a ledger knows those of all stories on one MAAS
				return `"` + n.make(word) + `"`
			}
			if _, isHost := hostWords[word]; attribute == "name" && word != "" && !isHost {
				name := n.make(word)
				return `"` + name + `"`
			}
			makes := (attribute == "name" || attribute == "names" || attribute == "tags") && !strings.HasPrefix(word, "br-")
			if _, given := n.given[word]; !makes && !given && !n.knows(word) && !strings.HasSuffix(word, ".maas") && attribute != "ip" {
				return q
			}
			name, ok := n.there(word)
			if !ok {
				lacks = word
			}
			return `"` + name + `"`
		})
	})
	if n.given["lxd2"] == "" && elsewhere {
		lacks = "lxd2"
	}
	body = nameAnywhere.ReplaceAllStringFunc(body, func(q string) string {
		word := strings.Trim(q, `"`)
		if strings.HasPrefix(q, "lacp_rate") { // LACP's own word, and no storage pool
			return q
		}
		if n.given[word] == "" {
			lacks = word
		}
		return `"` + n.given[word] + `"`
	})
	if lacks != "" {
		body += lacking + lacks
	}
	return body + translated
}

// nameAnywhere matches the names that are translated wherever they stand: a storage pool
// and two subnets.
var nameAnywhere = regexp.MustCompile(`(lacp_rate\s*=\s*)?"(fast|lan|dark)"`)

// placedElsewhere matches a placement in the zone of the second host.
var placedElsewhere = regexp.MustCompile(`(?s)placement\s*=\s*\{[^}]*zone = "az2"|input = "az2"`)

// lacking begins the line of a configuration for which this MAAS lacks something.
const lacking = "\n# lacks: "

// needsAll skips a test of whose configuration this MAAS lacks something.
func needsAll(t *testing.T, config string) {
	t.Helper()
	if _, rest, found := strings.Cut(config, lacking); found {
		word, _, _ := strings.Cut(rest, "\n")
		t.Skip(missing(word))
	}
}

// story runs the steps of a test, with the names of the MAAS that it runs on.
func story(t *testing.T, c resource.TestCase) {
	t.Helper()
	names := namingOf(t)
	for n, step := range c.Steps {
		needsAll(t, step.Config)
		if names.knows(step.ImportStateId) {
			c.Steps[n].ImportStateId, _ = names.there(step.ImportStateId)
		}
	}
	resource.Test(t, c)
}

// word is the check of a value that is a word of the tests, or its name here.
type word struct {
	knownvalue.Check
	text string
}

// ownPrefix is that of what a test of this run makes.
var ownPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + runPrefix() + "[0-9]+-") })

// CheckValue compares the value, as the tests call it.
func (w word) CheckValue(other any) error {
	if name, isText := other.(string); isText && onSite() && theSite.isCalled(w.text, name) {
		return nil
	}
	return w.Check.CheckValue(other)
}

// isCalled tells whether a word of the tests has a name here.
func (s *site) isCalled(word, name string) bool {
	if name == "" {
		return false
	}
	if address, known := s.addresses.Load(name); known && address == word {
		return true
	}
	if short, domain, dotted := strings.Cut(word, "."); dotted && s.given[domain] != "" {
		hostname, known := strings.CutSuffix(name, "."+s.given[domain])
		return known && s.isCalled(short, hostname)
	}
	if stands, isLent := s.standsFor.Load(name); isLent {
		return stands == word // for the only story that has the machine now
	}
	return s.given[word] == name || ownPrefix().ReplaceAllString(name, "") == word
}

// afterQuote is the first letter of a quoted word.
var afterQuote = regexp.MustCompile(`"([a-z])`)

// orNamed lets a pattern match the name that a word has here, too.
func orNamed(pattern string) string {
	if !onSite() {
		return pattern
	}
	pattern = afterQuote.ReplaceAllString(pattern, `"(?:`+runPrefix()+`[0-9]+-)?$1`)
	for word, name := range theSite.given {
		if name != "" && name != word && strings.Contains(pattern, word) {
			pattern = regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).ReplaceAllLiteralString(pattern, "(?:"+regexp.QuoteMeta(word)+"|"+regexp.QuoteMeta(name)+")")
		}
	}
	return pattern
}

// TestNamesOfStories: what two stories call by one word has two names on one MAAS, groups
// of VMs included. They would stand apart from each other's.
func TestNamesOfStories(t *testing.T) {
	t.Parallel()
	config := func(prefix string) string {
		n := &naming{prefix: prefix, given: map[string]string{"lxd1": "alpha"}, made: map[string]string{}, told: func(string) {}}
		text, _, _ := strings.Cut(n.config(`name = "web" vm_host = "lxd1" placement = { group = "web" }`), translated)
		return text
	}
	for _, prefix := range []string{"tf-acc-0001-1-", "tf-acc-0001-2-"} {
		want := fmt.Sprintf(`name = "%[1]sweb" vm_host = "alpha" placement = { group = "%[1]sweb" }`, prefix)
		if got := config(prefix); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
