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

// nameTranslator translates between the words of the tests, which are the names
// in the simulated model, and the names on a real MAAS. There, names of new
// objects begin with a prefix. The environment names the existing objects.
type nameTranslator struct {
	prefix        string            // of the names of what this test makes
	existingNames map[string]string // existing objects: the simulated model's word, and its name; empty: this MAAS has none

	mu        sync.Mutex
	made      map[string]string // objects of this test: the word, and the name
	onNewName func(name string) // called with each new name in made

	address func(word string) string // a free address for an address of the simulated network
}

// missingReason is the reason to skip a test that needs an object which the
// environment does not name.
func missingReason(word string) string {
	return "this MAAS has no object for " + word + " of the simulated model: docs/design/real-maas.md says which variable names one"
}

// existingName is the name of a word on this MAAS; ok is false where it has
// none.
func (n *nameTranslator) existingName(word string) (name string, ok bool) {
	if n == nil {
		return word, true
	}
	short, domain, dotted := strings.Cut(word, ".")
	if name, known := n.existingNames[short]; known && dotted && domain == "maas" {
		return name + "." + n.existingNames["maas"], name != ""
	}
	if name, known := n.existingNames[word]; known {
		return name, name != ""
	}
	if dotted && n.existingNames[domain] != "" {
		return n.newName(short) + "." + n.existingNames[domain], true
	}
	if simulatedAddress.MatchString(word) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.made[word] == "" {
			n.made[word] = n.address(word)
		}
		return n.made[word], n.made[word] != ""
	}
	return n.newName(word), true
}

// simulatedAddress matches an address of the simulated model.
var simulatedAddress = regexp.MustCompile(`^10\.[0-9.]+$`)

// tag is the name of a tag: one of the VM host, one of MAAS, or one of the
// test. The word may also mean another object.
func (n *nameTranslator) tag(word string) string {
	if word == "rack1" && n.existingNames[word] != "" {
		return n.existingNames[word]
	}
	if word == "virtual" || word == "pod-console-logging" {
		return word
	}
	return n.newName(word)
}

// hostWords are the names of the simulated model's hosts, which the tests do
// not make.
var hostWords = map[string]bool{"lxd1": true, "lxd2": true, "node1": true, "node2": true}

// newName is the name of an object that the test makes, for its word.
func (n *nameTranslator) newName(word string) string {
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
	n.onNewName(name)
	return name
}

// hasName reports whether a word has a name already.
func (n *nameTranslator) hasName(word string) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	short, domain, _ := strings.Cut(word, ".")
	return n.existingNames[word] != "" || n.made[word] != "" || domain == "maas" && n.existingNames[short] != "" || n.existingNames[domain] != "" && n.made[short] != ""
}

// toWords replaces the names in a text by the tests' words.
func (n *nameTranslator) toWords(text string) string {
	if n == nil {
		return text
	}
	text = strings.ReplaceAll(text, n.prefix, "")
	n.mu.Lock()
	for word, name := range n.made {
		if simulatedAddress.MatchString(word) {
			text = strings.ReplaceAll(text, name, word)
		}
	}
	n.mu.Unlock()
	for word, name := range n.existingNames {
		if name != "" && name != word && name != "default" && strings.Contains(text, name) {
			text = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllLiteralString(text, word)
		}
	}
	return text
}

// wordOf is the word for a name, of some words. Otherwise it is the name
// without its prefix.
func (n *nameTranslator) wordOf(name string, among ...string) string {
	if n == nil {
		return name
	}
	for _, word := range among {
		if n.existingNames[word] == name && name != "" {
			return word
		}
	}
	return strings.TrimPrefix(name, n.prefix)
}

// namedAttributes matches the attributes whose values are names of objects.
var namedAttributes = regexp.MustCompile(`\b(name|names|tags|group|id|vm_host|zone|pool|domain|machine|subnet|image|kernel|input|ip)(\s*=\s*)(\[[^\]]*\]|"[^"\n]*")`)

var quotedText = regexp.MustCompile(`"([^"\n]*)"`)

// translatedMark ends a configuration whose words are translated already.
const translatedMark = "\n# with the names of this MAAS\n"

// config replaces the words in a configuration by names. It marks a word for
// which this MAAS has nothing; see skipIfLacking.
func (n *nameTranslator) config(body string) string {
	if n == nil || strings.HasSuffix(body, translatedMark) {
		return body
	}
	lacks, elsewhere := "", placedElsewhere.MatchString(body)
	body = namedAttributes.ReplaceAllStringFunc(body, func(match string) string {
		parts := namedAttributes.FindStringSubmatch(match)
		attribute, sign, value := parts[1], parts[2], parts[3]
		return attribute + sign + quotedText.ReplaceAllStringFunc(value, func(q string) string {
			word := strings.Trim(q, `"`)
			if name, given := n.existingNames[attribute+":"+word]; given {
				return `"` + name + `"`
			}
			if attribute == "tags" {
				if word == "rack1" && n.existingNames[word] == "" {
					lacks = word
				}
				return `"` + n.tag(word) + `"`
			}
			if attribute == "group" { // a ledger has the groups of all stories on one MAAS
				return `"` + n.newName(word) + `"`
			}
			if _, isHost := hostWords[word]; attribute == "name" && word != "" && !isHost {
				name := n.newName(word)
				return `"` + name + `"`
			}
			makes := (attribute == "name" || attribute == "names" || attribute == "tags") && !strings.HasPrefix(word, "br-")
			if _, given := n.existingNames[word]; !makes && !given && !n.hasName(word) && !strings.HasSuffix(word, ".maas") && attribute != "ip" {
				return q
			}
			name, ok := n.existingName(word)
			if !ok {
				lacks = word
			}
			return `"` + name + `"`
		})
	})
	if n.existingNames["lxd2"] == "" && elsewhere {
		lacks = "lxd2"
	}
	body = translatedAnywhere.ReplaceAllStringFunc(body, func(q string) string {
		word := strings.Trim(q, `"`)
		if strings.HasPrefix(q, "lacp_rate") { // here "fast" is LACP's own word, not a storage pool
			return q
		}
		if n.existingNames[word] == "" {
			lacks = word
		}
		return `"` + n.existingNames[word] + `"`
	})
	if lacks != "" {
		body += lacksMark + lacks
	}
	return body + translatedMark
}

// translatedAnywhere matches the names that are translated anywhere: a storage
// pool and two subnets.
var translatedAnywhere = regexp.MustCompile(`(lacp_rate\s*=\s*)?"(fast|lan|dark)"`)

// placedElsewhere matches a placement in the zone of the second host.
var placedElsewhere = regexp.MustCompile(`(?s)placement\s*=\s*\{[^}]*zone = "az2"|input = "az2"`)

// lacksMark begins the line for something that this MAAS lacks.
const lacksMark = "\n# lacks: "

// skipIfLacking skips the test if this MAAS lacks something in the
// configuration.
func skipIfLacking(t *testing.T, config string) {
	t.Helper()
	if _, rest, found := strings.Cut(config, lacksMark); found {
		word, _, _ := strings.Cut(rest, "\n")
		t.Skip(missingReason(word))
	}
}

// runStory runs the steps of a test, with the names of its MAAS.
func runStory(t *testing.T, c resource.TestCase) {
	t.Helper()
	names := translatorOf(t)
	for n, step := range c.Steps {
		skipIfLacking(t, step.Config)
		if names.hasName(step.ImportStateId) {
			c.Steps[n].ImportStateId, _ = names.existingName(step.ImportStateId)
		}
	}
	resource.Test(t, c)
}

// wordCheck checks a value that is a word of the tests, or its name on this
// MAAS.
type wordCheck struct {
	knownvalue.Check
	text string
}

// ownPrefix matches the prefix of what a test of this run makes.
var ownPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + runPrefix() + "[0-9]+-") })

// CheckValue compares the value as the tests write it.
func (w wordCheck) CheckValue(other any) error {
	if name, isText := other.(string); isText && isOnSite() && theSite.isSiteNameOf(w.text, name) {
		return nil
	}
	return w.Check.CheckValue(other)
}

// isSiteNameOf reports whether a word of the tests has that name here.
func (s *site) isSiteNameOf(word, name string) bool {
	if name == "" {
		return false
	}
	if address, known := s.addresses.Load(name); known && address == word {
		return true
	}
	if short, domain, dotted := strings.Cut(word, "."); dotted && s.existingNames[domain] != "" {
		hostname, known := strings.CutSuffix(name, "."+s.existingNames[domain])
		return known && s.isSiteNameOf(short, hostname)
	}
	if stands, isLent := s.standIns.Load(name); isLent {
		return stands == word // for the only story that has the machine now
	}
	return s.existingNames[word] == name || ownPrefix().ReplaceAllString(name, "") == word
}

// afterQuote matches the first letter of a quoted word.
var afterQuote = regexp.MustCompile(`"([a-z])`)

// orSiteName makes a pattern also match the name that a word has here.
func orSiteName(pattern string) string {
	if !isOnSite() {
		return pattern
	}
	pattern = afterQuote.ReplaceAllString(pattern, `"(?:`+runPrefix()+`[0-9]+-)?$1`)
	for word, name := range theSite.existingNames {
		if name != "" && name != word && strings.Contains(pattern, word) {
			pattern = regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).ReplaceAllLiteralString(pattern, "(?:"+regexp.QuoteMeta(word)+"|"+regexp.QuoteMeta(name)+")")
		}
	}
	return pattern
}

// TestNamesOfStories: one word of two stories has two names on one MAAS, also
// as a group of VMs. Otherwise the VMs would be spread against each other.
func TestNamesOfStories(t *testing.T) {
	t.Parallel()
	config := func(prefix string) string {
		n := &nameTranslator{prefix: prefix, existingNames: map[string]string{"lxd1": "alpha"}, made: map[string]string{}, onNewName: func(string) {}}
		text, _, _ := strings.Cut(n.config(`name = "web" vm_host = "lxd1" placement = { group = "web" }`), translatedMark)
		return text
	}
	for _, prefix := range []string{"tf-acc-0001-1-", "tf-acc-0001-2-"} {
		want := fmt.Sprintf(`name = "%[1]sweb" vm_host = "alpha" placement = { group = "%[1]sweb" }`, prefix)
		if got := config(prefix); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
