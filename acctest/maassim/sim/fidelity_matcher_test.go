package sim_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMatcher checks that the replay would notice what it is there to notice.
func TestMatcher(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason              string
		recorded, simulated string
		differs             bool
	}{
		"Same":             {"nothing differs", `{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1}`, false},
		"Value":            {"a value is not what it was", `{"a":1}`, `{"a":2}`, true},
		"KeyMissing":       {"a client may read the key", `{"a":1,"b":2}`, `{"a":1}`, true},
		"KeyMore":          {"MAAS does not send the key", `{"a":1}`, `{"a":1,"b":2}`, true},
		"WholeForFraction": {"8000.0 does not fit an integer", `{"a":8000.0}`, `{"a":8000}`, true},
		"TextForNumber":    {"the type counts", `{"a":1}`, `{"a":"1"}`, true},
		"NullForEmpty":     {"null is no empty text", `{"a":null}`, `{"a":""}`, true},
		"Shorter":          {"a list lost an entry", `{"a":[1,2]}`, `{"a":[1]}`, true},
		"Order":            {"lists keep their order", `{"a":[1,2]}`, `{"a":[2,1]}`, true},
		"OrderOfTags":      {"tags have none", `{"tags":["x","y"]}`, `{"tags":["y","x"]}`, false},
		"OtherTags":        {"but they are compared", `{"tags":["x","y"]}`, `{"tags":["x","z"]}`, true},
		"SystemID":         {"ids are made up", `{"system_id":"abcdef"}`, `{"system_id":"ghkmnp"}`, false},
		"SystemIDTwice":    {"one machine has one id", `[{"system_id":"abcdef"},{"system_id":"abcdef"}]`, `[{"system_id":"ghkmnp"},{"system_id":"qrstwx"}]`, true},
		"SystemIDShared":   {"two machines have two", `[{"system_id":"abcdef"},{"system_id":"ghkmnp"}]`, `[{"system_id":"qrstwx"},{"system_id":"qrstwx"}]`, true},
		"URIOfOther":       {"an address names the same machine", `{"resource_uri":"/MAAS/api/2.0/machines/abcdef/","system_id":"abcdef"}`, `{"resource_uri":"/MAAS/api/2.0/machines/ghkmnp/","system_id":"qrstwx"}`, true},
		"SpokenName":       {"a name that was asked for is kept", `{"hostname":"web1"}`, `{"hostname":"web2"}`, true},
		"Petname":          {"a name that nobody asked for is made up", `{"hostname":"cute-hog"}`, `{"hostname":"calm-owl"}`, false},
		"NoPetname":        {"but it is one", `{"hostname":"cute-hog"}`, `{"hostname":"vm1"}`, true},
		"Moment":           {"times have a form", `{"created":"2026-11-20T12:26:26.669"}`, `{"created":"yesterday"}`, true},
		"FarAddress":       {"an address is of the same network", `{"ip_address":"10.77.0.157"}`, `{"ip_address":"10.78.0.1"}`, true},
		"Server":           {"the recorded server's disks differ in size", `{"power_type":"","node_type_name":"Machine","storage":1.5}`, `{"power_type":"","node_type_name":"Machine","storage":2.5}`, false},
		"ServersNICs":      {"taps come and go", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","name":"a"},{"type":"physical","name":"b"}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","name":"c"}]}`, false},
		"ServersNICForm":   {"but each has its form", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","vlan":{"id":1}}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"physical","vlan":{"id":1}},{"type":"physical","vlan":null}]}`, true},
		"ServersNull":      {"null has no other form", `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":null}}`, `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":1}}`, true},
		"ServersKey":       {"MAAS does not send the key", `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":1}}`, `{"power_type":"","node_type_name":"Machine","boot_disk":{"size":1,"more":1}}`, true},
		"ServersBridge":    {"VMs join it", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0"}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0"},{"type":"bridge","name":"br1"}]}`, true},
		"ServersDHCP":      {"VMs boot by it", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","vlan":{"dhcp_on":true}}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","vlan":{"dhcp_on":false}}]}`, true},
		"ServersLink":      {"an address is static there", `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","links":[{"mode":"static"}]}]}`, `{"power_type":"","node_type_name":"Machine","interface_set":[{"type":"bridge","name":"br0","links":[{"mode":"auto"}]}]}`, true},
		"NoServer":         {"those of VMs do not", `{"power_type":"lxd","node_type_name":"Machine","storage":1.5}`, `{"power_type":"lxd","node_type_name":"Machine","storage":2.5}`, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMatcher(map[string]bool{"web1": true})
			recorded, errRecorded := decodeJSON([]byte(tc.recorded))
			simulated, errSimulated := decodeJSON([]byte(tc.simulated))
			if errRecorded != nil || errSimulated != nil {
				t.Fatal(errRecorded, errSimulated)
			}
			m.body("$machines", recorded, simulated)
			if differs := len(m.problems) > 0; differs != tc.differs {
				t.Errorf("%s: differs %v, want %v: %q", tc.reason, differs, tc.differs, m.problems)
			}
		})
	}
}

// fileWords are what the simulator may say of os and io/fs: the words of an
// interface to files, none of which opens one.
var fileWords = []string{
	"fs.DirEntry", "fs.ErrNotExist", "fs.FileInfo", "fs.FileMode", "fs.ModeDir", "fs.PathError",
	"os.FileMode", "os.O_APPEND", "os.O_CREATE", "os.O_RDWR", "os.O_WRONLY",
}

// TestAnswersFromState holds the simulator to answering from its state: it
// reads no files and embeds none, so no recorded answer can be in it.
func TestAnswersFromState(t *testing.T) {
	t.Parallel()
	forbidden := []string{"embed", "io/ioutil", "path/filepath", "os/exec"}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
			if (path == "os" || path == "io/fs") && spec.Name != nil {
				t.Errorf("%s gives %s another name", name, path)
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if s, ok := node.(*ast.SelectorExpr); ok {
				if from, ok := s.X.(*ast.Ident); ok && (from.Name == "os" || from.Name == "fs") && !slices.Contains(fileWords, from.Name+"."+s.Sel.Name) {
					t.Errorf("%s uses %s.%s", name, from.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
	if files == 0 {
		t.Error("no sources here")
	}
}
