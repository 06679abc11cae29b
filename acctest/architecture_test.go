package acctest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

const modulePath = "github.com/maaslxd/maaslxd"

// terraformModules and kubernetesModules are what only one front end each may
// know.
var (
	terraformModules  = []string{"github.com/hashicorp/terraform-plugin-"}
	kubernetesModules = []string{"k8s.io/", "sigs.k8s.io/"}
	frontEndModules   = slices.Concat(terraformModules, kubernetesModules)
)

// arrow says what the packages of one folder may depend on, directly or not.
type arrow struct {
	reason string
	ours   []string // our folders that it may use; "engine/..." means all below it too
	never  []string // prefixes of foreign import paths
}

// arrows are the tree's dependencies, by folder. The longest folder that fits
// a package counts.
var arrows = map[string]arrow{
	"engine": {
		reason: "The engine knows neither Terraform nor Kubernetes nor its adapters.",
		ours:   []string{"engine", "engine/placement", "cloudinit/..."},
		never:  frontEndModules,
	},
	"engine/placement": {
		reason: "Placement is pure.",
		ours:   []string{"engine/placement/..."},
		never:  frontEndModules,
	},
	"engine/maas": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/placement", "engine/bounded", "cloudinit/...", "engine/maas/..."},
		never:  frontEndModules,
	},
	"engine/lxd": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/placement", "engine/bounded", "cloudinit/...", "engine/lxd/..."},
		never:  frontEndModules,
	},
	"engine/site": {
		reason: "A site puts the engine and its adapters together, for all front ends.",
		ours:   []string{"engine", "engine/...", "cloudinit/..."},
		never:  frontEndModules,
	},
	"engine/ledger": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/placement", "cloudinit/...", "engine/ledger/..."},
		never:  frontEndModules,
	},
	"cloudinit": {
		reason: "A host's first boot is pure data.",
		ours:   []string{"cloudinit/..."},
		never:  frontEndModules,
	},
	"acctest/maassim": {
		reason: "The simulator speaks HTTP only, so a wrong guess in our client cannot hide in it.",
		ours:   []string{"acctest/maassim/..."},
		never:  frontEndModules,
	},
	"terraform-provider-maaslxd": {
		reason: "The front ends do not know each other.",
		ours:   []string{"terraform-provider-maaslxd/...", "engine/...", "cloudinit/..."},
		never:  kubernetesModules,
	},
	"capi-bridge/api": {
		reason: "Kinds are data.",
		ours:   []string{"capi-bridge/api/..."},
		never:  terraformModules,
	},
	"capi-bridge/webhook": {
		reason: "What is refused when it is written needs no MAAS.",
		ours:   []string{"capi-bridge/api/...", "capi-bridge/webhook/..."},
		never:  terraformModules,
	},
	"capi-bridge/controller": {
		reason: "Controllers know the engine, and no adapter of it.",
		ours:   []string{"capi-bridge/api/...", "capi-bridge/controller/...", "engine", "engine/placement", "cloudinit/..."},
		never:  terraformModules,
	},
	"capi-bridge/identity": {
		reason: "A MAAS is found for the controllers, without the manager.",
		ours:   []string{"capi-bridge/api/...", "capi-bridge/controller/...", "capi-bridge/identity/...", "engine/...", "cloudinit/..."},
		never:  terraformModules,
	},
	"capi-bridge": {
		reason: "The front ends do not know each other.",
		ours:   []string{"capi-bridge/...", "engine/...", "cloudinit/..."},
		never:  terraformModules,
	},
}

// TestArrows holds the direction of every dependency between our packages, and
// keeps Terraform and Kubernetes out of what they have no business in.
func TestArrows(t *testing.T) {
	t.Parallel()
	checked := map[string]int{}
	for _, p := range ourPackages(t) {
		folder, rule, ok := arrowOf(p.folder())
		if !ok {
			continue // acctest and the examples may use everything
		}
		checked[folder]++
		// The simulator's tests, too: they must not lean on our client.
		deps := p.Deps
		if folder == "acctest/maassim" {
			deps = slices.Concat(deps, p.TestImports, p.XTestImports)
		}
		for _, dep := range deps {
			if why := rule.refuses(dep); why != "" {
				t.Errorf("%s depends on %s: %s %s", p.folder(), dep, why, rule.reason)
			}
		}
	}
	for folder := range arrows {
		t.Logf("%s: %d packages checked", folder, checked[folder])
		_, err := os.Stat(filepath.Join(repositoryRoot(t), folder))
		if err == nil && checked[folder] == 0 {
			t.Errorf("no package of %s was checked", folder)
		}
	}
	if len(checked) == 0 {
		t.Fatal("no package was checked: the folders of the rules do not fit the tree")
	}
}

// arrowOf finds the rule for a folder.
func arrowOf(folder string) (string, arrow, bool) {
	for name := folder; name != ""; {
		if rule, ok := arrows[name]; ok {
			return name, rule, true
		}
		cut := strings.LastIndex(name, "/")
		name = name[:max(cut, 0)]
	}
	return "", arrow{}, false
}

// refuses says why the import path may not be depended on, or nothing.
func (a arrow) refuses(importPath string) string {
	folder, ours := strings.CutPrefix(importPath, modulePath+"/")
	if ours {
		if slices.ContainsFunc(a.ours, func(pattern string) bool { return within(folder, pattern) }) {
			return ""
		}
		return "it may use only " + strings.Join(a.ours, ", ") + " of ours."
	}
	for _, prefix := range a.never {
		if strings.HasPrefix(importPath, prefix) {
			return "it must not know " + prefix + "*."
		}
	}
	return ""
}

// within tells whether the folder is the pattern, or below one that ends in
// "/...".
func within(folder, pattern string) bool {
	base, deep := strings.CutSuffix(pattern, "/...")
	return folder == base || deep && strings.HasPrefix(folder, base+"/")
}

// TestArrowsRefuse breaks the rules on purpose: a rule that refuses nothing
// would pass TestArrows for ever.
func TestArrowsRefuse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		folder string
		dep    string
		refuse bool
	}{
		"SiteAdapter":         {"A site joins the adapters.", "engine/site", modulePath + "/engine/lxd", false},
		"SiteFrontEnd":        {"A site serves front ends, and knows none.", "engine/site", modulePath + "/terraform-provider-maaslxd/provider", true},
		"AdapterSite":         {"Adapters do not know who joins them.", "engine/maas", modulePath + "/engine/site", true},
		"EngineTerraform":     {"No Terraform in the engine.", "engine", "github.com/hashicorp/terraform-plugin-framework/diag", true},
		"EngineKubernetes":    {"No Kubernetes in the engine.", "engine", "k8s.io/api/core/v1", true},
		"EngineRuntime":       {"No controller-runtime in an adapter.", "engine/maas", "sigs.k8s.io/controller-runtime", true},
		"EngineAdapter":       {"The port's owner does not know its adapters.", "engine", modulePath + "/engine/maas", true},
		"EnginePlacement":     {"Placement is the engine's own.", "engine", modulePath + "/engine/placement", false},
		"AdapterAdapter":      {"Adapters stay apart.", "engine/lxd", modulePath + "/engine/maas", true},
		"AdapterEngine":       {"Adapters fill the engine's ports.", "engine/maas", modulePath + "/engine", false},
		"AdapterSubpackage":   {"A package below an adapter is held too.", "engine/maas/wire", modulePath + "/engine/lxd", true},
		"SimulatorEngine":     {"The simulator shares nothing with what it tests.", "acctest/maassim/sim", modulePath + "/engine", true},
		"FrontEnds":           {"Front ends stay apart.", "capi-bridge/controller", modulePath + "/terraform-provider-maaslxd/provider", true},
		"FrontEndEngine":      {"Front ends use the engine.", "terraform-provider-maaslxd/provider", modulePath + "/engine/maas", false},
		"StandardLibrary":     {"The standard library is free to all.", "engine/placement", "net/http", false},
		"ProviderKubernetes":  {"The provider does not know Kubernetes.", "terraform-provider-maaslxd", "k8s.io/client-go/rest", true},
		"NamePrefixIsNoBelow": {"A folder whose name only begins alike is another one.", "cloudinit", modulePath + "/cloudinitx", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, rule, ok := arrowOf(tc.folder)
			if !ok {
				t.Fatalf("no rule for %s", tc.folder)
			}
			if got := rule.refuses(tc.dep); (got != "") != tc.refuse {
				t.Errorf("%s\n%s on %s: refused %t (%s), want %t", tc.reason, tc.folder, tc.dep, got != "", got, tc.refuse)
			}
		})
	}
}

// TestProviderIsImportedByItsMainAlone keeps the front ends' insides out of
// everything but their own program and the acceptance suites.
func TestProviderIsImportedByItsMainAlone(t *testing.T) {
	t.Parallel()
	owners := map[string]string{
		"terraform-provider-maaslxd/provider": "terraform-provider-maaslxd/...",
		"capi-bridge/controller":              "capi-bridge/...",
		"capi-bridge/webhook":                 "capi-bridge/...",
	}
	packages := ourPackages(t)
	for _, p := range packages {
		for _, imported := range p.Imports {
			folder := strings.TrimPrefix(imported, modulePath+"/")
			owner, guarded := owners[folder]
			if guarded && !within(p.folder(), owner) && !within(p.folder(), "acctest/...") {
				t.Errorf("%s imports %s, which only %s and acctest/... may", p.folder(), folder, owner)
			}
		}
	}
	t.Logf("%d packages checked", len(packages))
}

// listed is what go list says of a package.
type listed struct {
	TestImports, XTestImports []string // of its tests, direct ones only
	ImportPath                string
	Name                      string
	Dir                       string
	GoFiles                   []string // those of this platform, without tests
	Imports                   []string // direct, without tests
	Deps                      []string // all, without tests
}

// folder is the package's path below the module.
func (p listed) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/")
}

// ourPackages lists every package of the module, and fails the test where
// there is none.
func ourPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Dir,GoFiles,Imports,Deps,TestImports,XTestImports", "./...")
	cmd.Dir = repositoryRoot(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package")
	}
	return packages
}

// repositoryFiles lists the files that git tracks, with slashes, from the root.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	// Whose checkout it is does not matter for listing it.
	list := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "ls-files", "-z")
	list.Dir = repositoryRoot(t)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	names, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v: %s(this test needs a git checkout)", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00")
}

// repositoryRoot is the module's directory.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := cli.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return root
}
