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

// nameTranslator translates between the words of the tests, which are those of the simulated
// world, and the names on a real MAAS. There, what a test makes begins with a prefix
// of its own, and what it uses is what the environment names.
type nameTranslator struct {
	prefix        string            // of what this test makes
	existingNames map[string]string // what there is: the simulated world's word, and its name; empty: there is none

	mu        sync.Mutex
	made      map[string]string // what this test makes: its word, and its name
	onNewName func(name string) // is called with each name that comes into made

	address func(word string) string // a free address for one of the simulated network
}

// missingReason is the reason to skip a test that needs what the environment does not name.
func missingReason(word string) string {
	return "this MAAS has nothing that stands for " + word + " of the simulated world: docs/real-maas.md says which variable names it"
}

// existingName is the name on the MAAS of a word; ok is false where it has none.
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

// simulatedAddress matches an address of the simulated world.
var simulatedAddress = regexp.MustCompile(`^10\.[0-9.]+$`)

// tag is the name of a tag: one of the VM host's, one of MAAS's, or one that the test
// makes, whatever else its word stands for.
func (n *nameTranslator) tag(word string) string {
	if word == "rack1" && n.existingNames[word] != "" {
		return n.existingNames[word]
	}
	if word == "virtual" || word == "pod-console-logging" {
		return word
	}
	return n.newName(word)
}

// hostWords are those of the simulated world's hosts, which are not made.
var hostWords = map[string]bool{"lxd1": true, "lxd2": true, "node1": true, "node2": true}

// newName is the name of what a test makes, for its word.
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

// hasName tells whether a word has a name already.
func (n *nameTranslator) hasName(word string) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	short, domain, _ := strings.Cut(word, ".")
	return n.existingNames[word] != "" || n.made[word] != "" || domain == "maas" && n.existingNames[short] != "" || n.existingNames[domain] != "" && n.made[short] != ""
}

// toWords puts the tests' words in the place of the names in a text.
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

// wordOf is the word of a name among some words, or the name without its prefix.
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

// namedAttributes are the attributes whose values are names of objects.
var namedAttributes = regexp.MustCompile(`\b(name|names|tags|group|id|vm_host|zone|pool|domain|machine|subnet|image|kernel|input|ip)(\s*=\s*)(\[[^\]]*\]|"[^"\n]*")`)

var quotedText = regexp.MustCompile(`"([^"\n]*)"`)

// translatedMark ends a configuration that has the names already.
const translatedMark = "\n# with the names of this MAAS\n"

// config puts names in the place of the words in a configuration. It notes a word for
// which this MAAS has nothing: see skipIfLacking.
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
			if attribute == "group" { // a ledger knows those of all stories on one MAAS
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
		if strings.HasPrefix(q, "lacp_rate") { // LACP's own word, and no storage pool
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

// translatedAnywhere matches the names that are translated wherever they stand: a storage pool
// and two subnets.
var translatedAnywhere = regexp.MustCompile(`(lacp_rate\s*=\s*)?"(fast|lan|dark)"`)

// placedElsewhere matches a placement in the zone of the second host.
var placedElsewhere = regexp.MustCompile(`(?s)placement\s*=\s*\{[^}]*zone = "az2"|input = "az2"`)

// lacksMark begins the line of a configuration for which this MAAS lacks something.
const lacksMark = "\n# lacks: "

// skipIfLacking skips a test of whose configuration this MAAS lacks something.
func skipIfLacking(t *testing.T, config string) {
	t.Helper()
	if _, rest, found := strings.Cut(config, lacksMark); found {
		word, _, _ := strings.Cut(rest, "\n")
		t.Skip(missingReason(word))
	}
}

// runStory runs the steps of a test, with the names of the MAAS that it runs on.
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

// wordCheck is the check of a value that is a word of the tests, or its name here.
type wordCheck struct {
	knownvalue.Check
	text string
}

// ownPrefix is that of what a test of this run makes.
var ownPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + runPrefix() + "[0-9]+-") })

// CheckValue compares the value, as the tests call it.
func (w wordCheck) CheckValue(other any) error {
	if name, isText := other.(string); isText && isOnSite() && theSite.isSiteNameOf(w.text, name) {
		return nil
	}
	return w.Check.CheckValue(other)
}

// isSiteNameOf tells whether a word of the tests has a name here.
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

// afterQuote is the first letter of a quoted word.
var afterQuote = regexp.MustCompile(`"([a-z])`)

// orSiteName lets a pattern match the name that a word has here, too.
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

// TestNamesOfStories: what two stories call by one word has two names on one MAAS, groups
// of VMs included. They would stand apart from each other's.
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
