package acctest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// plantedTests are tests that set attributes of a small schema, or seem to.
const plantedTests = `package planted

const card = ` + "`card = { speed = 1 }`" + `

func thing(lines ...string) string {
	return fmt.Sprintf("resource \"maaslxd_thing\" \"test\" {\n  name = %q\n  %s\n}\n", "x", strings.Join(lines, "\n"))
}

func TestAccThing(t *testing.T) {
	listed := func(list string) string { return thing("cards = [" + list + "]", "nested = { left = { mode = \"a\" } }") }
	apply(listed(` + "`{ speed = 1 }, { slot = 2 }`" + `), thing(card))
	resource.Test(t, resource.TestStep{Config: thing("refused = 1"), ExpectError: wanted})
	apply(thing("nothing = null"), "# other = 1")
	invokeAction(t, "maaslxd_act", map[string]any{"force": true, "within": map[string]any{"start": 1}})
}

func TestAccBadThing(t *testing.T) { apply(thing("bad = 1")) }

func TestThing(t *testing.T) { apply(thing("plain = 1")) }
`

// plantedSchemas have attributes with equal names at different places.
func plantedSchemas() map[blockKind]*attributeNode {
	leaves := func(names ...string) map[string]*attributeNode {
		all := map[string]*attributeNode{}
		for _, name := range names {
			all[name] = &attributeNode{}
		}
		return all
	}
	thing := leaves("name", "refused", "nothing", "other", "bad", "plain")
	thing["card"] = &attributeNode{nesting: tfprotov6.SchemaObjectNestingModeSingle, inside: leaves("speed", "slot")}
	thing["cards"] = &attributeNode{nesting: tfprotov6.SchemaObjectNestingModeList, inside: leaves("speed", "slot")}
	side := func() *attributeNode {
		return &attributeNode{nesting: tfprotov6.SchemaObjectNestingModeSingle, inside: leaves("mode")}
	}
	thing["nested"] = &attributeNode{nesting: tfprotov6.SchemaObjectNestingModeSingle, inside: map[string]*attributeNode{"left": side(), "right": side()}}
	act := leaves("force", "timeouts")
	act["within"] = &attributeNode{nesting: tfprotov6.SchemaObjectNestingModeSingle, inside: leaves("start", "end")}
	return map[blockKind]*attributeNode{
		"resource maaslxd_thing": {inside: thing},
		"resource maaslxd_other": {inside: leaves("name")},
		"action maaslxd_act":     {inside: act},
	}
}

// TestMissedAttributesAreNamed plants attributes that no test sets. Each is
// named with its whole path. So is an exception that is not needed.
func TestMissedAttributesAreNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "planted_test.go"), []byte(plantedTests), 0o600); err != nil {
		t.Fatal(err)
	}
	uses := attributeUses{schemas: plantedSchemas(), set: map[string]bool{}}
	uses.recordTests(t, folder)
	missed := func(names ...string) (list []string) {
		for _, name := range names {
			list = append(list, name+" is set by no acceptance test and no example")
		}
		return list
	}
	want := missed(
		"action maaslxd_act timeouts", "action maaslxd_act within.end", "resource maaslxd_other name", "resource maaslxd_thing bad", "resource maaslxd_thing card.slot",
		"resource maaslxd_thing nested.right", "resource maaslxd_thing nested.right.mode", "resource maaslxd_thing nothing",
		"resource maaslxd_thing other", "resource maaslxd_thing plain", "resource maaslxd_thing refused",
	)
	if diff := cmp.Diff(want, uses.problems(nil)); diff != "" {
		t.Errorf("without exceptions (-want +got):\n%s", diff)
	}
	exceptions := map[string]string{"resource maaslxd_thing card.slot": "a reason", "resource maaslxd_thing card.speed": "a reason", "resource maaslxd_thing gone": "a reason"}
	text := strings.Join(uses.problems(exceptions), "\n")
	for words, is := range map[string]bool{
		"maaslxd_thing card.slot": false,
		"resource maaslxd_thing card.speed is set: it needs no exception": true,
		"resource maaslxd_thing gone is an exception, and no attribute":   true,
	} {
		if strings.Contains(text, words) != is {
			t.Errorf("want %q: %v, in:\n%s", words, is, text)
		}
	}
}
