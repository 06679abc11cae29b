package acctest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

const modulePath = "github.com/maaslxd/maaslxd"

// terraformModules and kubernetesModules are modules that only one front end
// each may use.
var (
	terraformModules  = []string{"github.com/hashicorp/terraform-plugin-"}
	kubernetesModules = []string{"k8s.io/", "sigs.k8s.io/"}
	frontEndModules   = slices.Concat(terraformModules, kubernetesModules)
)

// dependencyRule says on what the packages of one folder may depend, directly
// or not.
type dependencyRule struct {
	reason string
	ours   []string // our folders that it may use; "engine/..." includes all folders below it
	never  []string // prefixes of foreign import paths
}

// sharedByControllers is what the bridge's controllers share.
var sharedByControllers = []string{
	"capi-bridge/controller", "capi-bridge/controller/condition", "capi-bridge/controller/demand", "capi-bridge/controller/endpoint",
	"capi-bridge/controller/outbox", "capi-bridge/controller/ownership", "capi-bridge/controller/problem", "capi-bridge/controller/requeue",
}

// controllerImports is what the controller of a kind may import.
func controllerImports(kind string) []string {
	return slices.Concat(sharedByControllers, []string{
		"capi-bridge/controller/" + kind, "capi-bridge/api/...", "engine/providerid", "engine", "engine/internal/...", "engine/fleet", "engine/placement", "cloudinit/...",
	})
}

// dependencyRules are the tree's dependencies, by folder. For a package the
// longest matching folder counts.
var dependencyRules = map[string]dependencyRule{
	"engine": {
		reason: "The engine knows neither Terraform nor Kubernetes nor its adapters.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/..."},
		never:  frontEndModules,
	},
	"engine/region": {
		reason: "What is under way in a process knows no kind.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/region"},
		never:  frontEndModules,
	},
	"engine/compose": {
		reason: "Who makes VMs knows neither adapters nor kinds.",
		ours:   engineKindImports("engine/compose"),
		never:  frontEndModules,
	},
	"engine/settle": {
		reason: "What kinds change alike in place knows no kind.",
		ours:   engineKindImports("engine/settle"),
		never:  frontEndModules,
	},
	"engine/vm": {
		reason: "Kinds do not know each other.",
		ours:   engineKindImports("engine/compose", "engine/settle", "engine/vm"),
		never:  frontEndModules,
	},
	"engine/machine": {
		reason: "Kinds do not know each other.",
		ours:   engineKindImports("engine/settle", "engine/machine"),
		never:  frontEndModules,
	},
	"engine/host": {
		reason: "A host is a machine first, and knows no other kind.",
		ours:   engineKindImports("engine/settle", "engine/machine", "engine/host"),
		never:  frontEndModules,
	},
	"engine/fleet": {
		reason: "Who reads the whole makes nothing.",
		ours:   engineKindImports("engine/fleet"),
		never:  frontEndModules,
	},
	"engine/operate": {
		reason: "Who acts once by hand knows no kind.",
		ours:   engineKindImports("engine/operate"),
		never:  frontEndModules,
	},
	"engine/assembly": {
		reason: "The kinds are put together without any adapter.",
		ours:   engineKindImports("engine/compose", "engine/settle", "engine/vm", "engine/machine", "engine/host", "engine/fleet", "engine/assembly"),
		never:  frontEndModules,
	},
	"engine/placement": {
		reason: "Placement is pure.",
		ours:   []string{"engine/placement/..."},
		never:  frontEndModules,
	},
	"engine/maas": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/maas/..."},
		never:  frontEndModules,
	},
	"engine/maas/api": {
		reason: "The transport knows no machines.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/maas/api"},
		never:  frontEndModules,
	},
	"engine/maas/share": {
		reason: "What shares reads sends none itself.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/maas/share"},
		never:  frontEndModules,
	},
	"engine/lxd": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "engine/fleetkey", "cloudinit/...", "engine/lxd/..."},
		never:  frontEndModules,
	},
	"engine/providerid": {
		reason: "A providerID is a text.",
		ours:   []string{"engine/providerid"},
		never:  frontEndModules,
	},
	"engine/fleetkey": {
		reason: "A key pair needs no MAAS and no LXD.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/fleetkey"},
		never:  frontEndModules,
	},
	"engine/site": {
		reason: "A site puts the engine and its adapters together, for all front ends.",
		ours:   []string{"engine", "engine/...", "cloudinit/..."},
		never:  frontEndModules,
	},
	"engine/ledger": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/ledger/..."},
		never:  frontEndModules,
	},
	"engine/ledger/room": {
		reason: "The choice of a host is pure, and hangs on no store.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/ledger/room"},
		never:  frontEndModules,
	},
	"engine/ledger/lease": {
		reason: "Who judges leases does not know where they are kept.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/ledger/lease"},
		never:  frontEndModules,
	},
	"engine/ledger/wire": {
		reason: "What is said does not hang on who serves it.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/ledger/lease", "engine/ledger/wire"},
		never:  frontEndModules,
	},
	"engine/ledger/access": {
		reason: "Who may do what is known without any row.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/ledger/access"},
		never:  frontEndModules,
	},
	"engine/ledger/remote": {
		reason: "A client does not know the service from within.",
		ours: []string{
			"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...",
			"engine/ledger", "engine/ledger/room", "engine/ledger/lease", "engine/ledger/wire", "engine/ledger/remote",
		},
		never: frontEndModules,
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
	"acctest/maassim/recording": {
		reason: "The form of a recording does not hang on who replays it.",
		ours:   []string{"acctest/maassim/recording"},
		never:  frontEndModules,
	},
	"acctest/maassim/freeport": {
		reason: "A port is found without knowing what for.",
		ours:   []string{"acctest/maassim/freeport"},
		never:  frontEndModules,
	},
	"acctest/maassim/sim/versions": {
		reason: "What versions differ in is known without any state.",
		ours:   simulatorPackages("versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/surface": {
		reason: "Which operations there are does not hang on who serves them.",
		ours:   simulatorPackages("surface", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/rest": {
		reason: "How MAAS answers does not hang on what about.",
		ours:   simulatorPackages("rest"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/boot": {
		reason: "A first boot knows the machine that it runs on, and no MAAS.",
		ours:   simulatorPackages("boot", "lxd/daemon"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/world": {
		reason: "The state does not know who changes it.",
		ours:   simulatorPackages("world/...", "boot", "lxd/daemon", "rest"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/lxd": {
		reason: "LXD's API knows nothing of MAAS's.",
		ours:   simulatorPackages("lxd", "lxd/daemon", "boot", "world/...", "rest"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/world/site": {
		reason: "What an operator makes beside machines knows no machine.",
		ours:   simulatorPackages("world/site"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/world/storage": {
		reason: "Disks do not know what else a machine is.",
		ours:   simulatorPackages("world/storage"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/disks": {
		reason: "What lies on disks does not know machines' own operations.",
		ours:   simulatorPackages("disks", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/upkeep": {
		reason: "What an operator keeps up does not know machines' own operations.",
		ours:   simulatorPackages("upkeep", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/settings": {
		reason: "Settings know no operations but their own.",
		ours:   simulatorPackages("settings", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/accounts": {
		reason: "Users and their keys do not know machines' own operations.",
		ours:   simulatorPackages("accounts", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/catalog": {
		reason: "What machines are sorted into does not know machines' own operations.",
		ours:   simulatorPackages("catalog", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/network": {
		reason: "Networks are linked to machines without knowing their own operations.",
		ours:   simulatorPackages("network", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/hosts": {
		reason: "A VM host makes machines; who allocates one uses it, not the other way round.",
		ours:   simulatorPackages("hosts", "lifecycle", "driver", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	// The provider block, and the list of all objects. The packages of the
	// objects are below.
	"terraform-provider-maaslxd": {
		reason: "The front ends do not know each other.",
		ours:   []string{"terraform-provider-maaslxd/...", "engine/...", "cloudinit/..."},
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/datasources": {
		reason: "Objects do not use each other's helpers.",
		ours:   providerObjectImports("fleet"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/functions": {
		reason: "Functions ask nobody.",
		ours:   []string{"terraform-provider-maaslxd/provider/functions", "engine/providerid"},
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/actions": {
		reason: "Actions use no object's helpers.",
		ours:   providerObjectImports("actions"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/ephemerals": {
		reason: "Ephemeral resources use no object's helpers.",
		ours:   providerObjectImports("ephemerals"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/vm": {
		reason: "Objects do not use each other's helpers.",
		ours:   append(providerObjectImports("vm"), "terraform-provider-maaslxd/provider/moved", "terraform-provider-maaslxd/provider/vm/instance"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/vm/instance": {
		reason: "An attribute does not know its resource.",
		ours:   providerObjectImports("vm/instance"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/moved": {
		reason: "What finds the VMs of other providers does not know the objects.",
		ours:   providerObjectImports("moved"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/host": {
		reason: "Objects do not use each other's helpers.",
		ours:   append(providerObjectImports("host"), "terraform-provider-maaslxd/provider/host/network"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/host/network": {
		reason: "An attribute does not know its resource.",
		ours:   providerObjectImports("host/network"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/machine": {
		reason: "Objects do not use each other's helpers.",
		ours:   providerObjectImports("machine"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/client": {
		reason: "What objects share does not know the objects.",
		ours: []string{
			"terraform-provider-maaslxd/provider/client", "terraform-provider-maaslxd/provider/diagnostics", "terraform-provider-maaslxd/provider/values/...",
			"engine/...", "cloudinit/...",
		},
		never: kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/diagnostics": {
		reason: "Errors are explained without asking MAAS.",
		ours:   []string{"terraform-provider-maaslxd/provider/diagnostics", "engine", "engine/internal/...", "engine/placement", "engine/maas/api", "engine/bounded", "cloudinit/..."},
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/values": {
		reason: "Values know nothing of who asks MAAS.",
		ours:   []string{"terraform-provider-maaslxd/provider/values/...", "engine", "engine/internal/...", "engine/placement", "cloudinit/..."},
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/providertest": {
		reason: "What asks a resource in a test must not know the resource.",
		ours:   []string{"terraform-provider-maaslxd/provider/providertest"},
		never:  kubernetesModules,
	},
	"capi-bridge/api": {
		reason: "Kinds are data.",
		ours:   []string{"capi-bridge/api/...", "engine/providerid"},
		never:  terraformModules,
	},
	"capi-bridge/webhook": {
		reason: "What is refused when it is written needs no MAAS.",
		ours:   []string{"capi-bridge/api/...", "engine/providerid", "capi-bridge/webhook/..."},
		never:  terraformModules,
	},
	"capi-bridge/controller": {
		reason: "Controllers know the engine, and no adapter of it; what they share knows no controller.",
		ours:   slices.Concat(sharedByControllers, []string{"capi-bridge/api/...", "engine/providerid", "engine", "engine/internal/...", "engine/fleet", "engine/placement", "cloudinit/..."}),
		never:  terraformModules,
	},
	"capi-bridge/controller/cluster": {
		reason: "Controllers meet in the objects, and do not use each other's insides.",
		ours:   controllerImports("cluster"),
		never:  terraformModules,
	},
	"capi-bridge/controller/machine": {
		reason: "Controllers meet in the objects, and do not use each other's insides.",
		ours:   controllerImports("machine"),
		never:  terraformModules,
	},
	"capi-bridge/controller/template": {
		reason: "Controllers meet in the objects, and do not use each other's insides.",
		ours:   controllerImports("template"),
		never:  terraformModules,
	},
	"capi-bridge/controller/controllertest": {
		reason: "What tests of several controllers share knows no controller.",
		ours: []string{
			"capi-bridge/controller/controllertest", "capi-bridge/api/...", "engine/providerid", "engine", "engine/internal/...", "engine/fleet", "engine/placement", "cloudinit/...",
			"acctest/crash", "acctest/maassim/...",
		},
		never: terraformModules,
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

// engineKindImports is what a kind, or the packages that kinds share, may
// import. These are the contract, the work under way in the process, placement,
// and the given packages.
func engineKindImports(beside ...string) []string {
	return append([]string{"engine", "engine/internal/...", "engine/region", "engine/placement", "cloudinit/..."}, beside...)
}

// simulatorPackages are packages behind the simulator's public one.
func simulatorPackages(names ...string) []string {
	for i := range names {
		names[i] = "acctest/maassim/sim/" + names[i]
	}
	return names
}

// providerObjectImports is what the package of a provider's object may import:
// what objects share, the engine, and no other object.
func providerObjectImports(name string) []string {
	const provider = "terraform-provider-maaslxd/provider/"
	return []string{provider + name, provider + "client", provider + "diagnostics", provider + "values/...", "engine/...", "cloudinit/..."}
}

// TestArrows checks the direction of every dependency between our packages. It
// keeps Terraform and Kubernetes out of packages that must not know them.
func TestArrows(t *testing.T) {
	t.Parallel()
	checked := map[string]int{}
	for _, p := range ourPackages(t) {
		folder, rule, ok := findDependencyRule(p.folder())
		if !ok {
			continue // acctest and the examples may import everything
		}
		checked[folder]++
		// The rule includes the simulator's tests: they must not depend on our
		// client.
		deps := p.Deps
		if isWithinFolder(folder, "acctest/maassim/...") {
			deps = slices.Concat(deps, p.TestImports, p.XTestImports)
		}
		for _, dep := range deps {
			if why := rule.refusalReason(dep); why != "" {
				t.Errorf("%s depends on %s: %s %s", p.folder(), dep, why, rule.reason)
			}
		}
	}
	for folder := range dependencyRules {
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

// findDependencyRule finds the rule for a folder.
func findDependencyRule(folder string) (string, dependencyRule, bool) {
	for name := folder; name != ""; {
		if rule, ok := dependencyRules[name]; ok {
			return name, rule, true
		}
		cut := strings.LastIndex(name, "/")
		name = name[:max(cut, 0)]
	}
	return "", dependencyRule{}, false
}

// refusalReason says why a package may not depend on the import path. It is
// empty where the package may.
func (a dependencyRule) refusalReason(importPath string) string {
	folder, ours := strings.CutPrefix(importPath, modulePath+"/")
	if ours {
		if slices.ContainsFunc(a.ours, func(pattern string) bool { return isWithinFolder(folder, pattern) }) {
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

// isWithinFolder reports whether the folder is the pattern, or below one that
// ends in "/...".
func isWithinFolder(folder, pattern string) bool {
	base, deep := strings.CutSuffix(pattern, "/...")
	return folder == base || deep && strings.HasPrefix(folder, base+"/")
}

// TestArrowsRefuse breaks the rules on purpose. A rule that refuses nothing
// would always pass TestArrows.
func TestArrowsRefuse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		folder string
		dep    string
		refuse bool
	}{
		"SiteAdapter":          {"A site joins the adapters.", "engine/site", modulePath + "/engine/lxd", false},
		"SiteFrontEnd":         {"A site serves front ends, and knows none.", "engine/site", modulePath + "/terraform-provider-maaslxd/provider", true},
		"AdapterSite":          {"Adapters do not know who joins them.", "engine/maas", modulePath + "/engine/site", true},
		"EngineTerraform":      {"No Terraform in the engine.", "engine", "github.com/hashicorp/terraform-plugin-framework/diag", true},
		"EngineKubernetes":     {"No Kubernetes in the engine.", "engine", "k8s.io/api/core/v1", true},
		"EngineRuntime":        {"No controller-runtime in an adapter.", "engine/maas", "sigs.k8s.io/controller-runtime", true},
		"EngineAdapter":        {"The port's owner does not know its adapters.", "engine", modulePath + "/engine/maas", true},
		"EnginePlacement":      {"Placement is the engine's own.", "engine", modulePath + "/engine/placement", false},
		"AdapterAdapter":       {"Adapters stay apart.", "engine/lxd", modulePath + "/engine/maas", true},
		"AdapterEngine":        {"Adapters fill the engine's ports.", "engine/maas", modulePath + "/engine", false},
		"AdapterKey":           {"An adapter shows the fleet's key.", "engine/lxd", modulePath + "/engine/fleetkey", false},
		"KeyAdapter":           {"The key serves without an LXD at hand.", "engine/fleetkey", modulePath + "/engine/lxd", true},
		"TransportAdapter":     {"Requests are sent without knowing what for.", "engine/maas/api", modulePath + "/engine/maas", true},
		"ShareTransport":       {"Who shares a read is told how to read.", "engine/maas/share", modulePath + "/engine/maas/api", true},
		"AdapterSubpackage":    {"A package below an adapter is held too.", "engine/maas/wire", modulePath + "/engine/lxd", true},
		"SimulatorEngine":      {"The simulator shares nothing with what it tests.", "acctest/maassim/sim", modulePath + "/engine", true},
		"FrontEnds":            {"Front ends stay apart.", "capi-bridge/controller", modulePath + "/terraform-provider-maaslxd/provider", true},
		"ControllerController": {"A cluster's controller does not use a machine's.", "capi-bridge/controller/cluster", modulePath + "/capi-bridge/controller/machine", true},
		"SharedController":     {"What controllers share knows none.", "capi-bridge/controller/problem", modulePath + "/capi-bridge/controller/machine", true},
		"FrontEndEngine":       {"Front ends use the engine.", "terraform-provider-maaslxd/provider", modulePath + "/engine/maas", false},
		"StandardLibrary":      {"The standard library is free to all.", "engine/placement", "net/http", false},
		"ProviderKubernetes":   {"The provider does not know Kubernetes.", "terraform-provider-maaslxd", "k8s.io/client-go/rest", true},
		"ObjectShared":         {"Objects share the client.", "terraform-provider-maaslxd/provider/vm", modulePath + "/terraform-provider-maaslxd/provider/client", false},
		"ObjectObject":         {"No object uses another one's helpers.", "terraform-provider-maaslxd/provider/vm", modulePath + "/terraform-provider-maaslxd/provider/host", true},
		"SharedObject":         {"What is shared knows no object.", "terraform-provider-maaslxd/provider/client", modulePath + "/terraform-provider-maaslxd/provider/datasources", true},
		"NamePrefixIsNoBelow":  {"A folder whose name only begins alike is another one.", "cloudinit", modulePath + "/cloudinitx", true},
		"SimulatorRooms":       {"Resources stand on the state.", "acctest/maassim/sim/hosts", modulePath + "/acctest/maassim/sim/world", false},
		"SimulatorState":       {"The state does not know its resources.", "acctest/maassim/sim/world", modulePath + "/acctest/maassim/sim/hosts", true},
		"SimulatorLXD":         {"LXD has no MAAS in it.", "acctest/maassim/sim/lxd", modulePath + "/acctest/maassim/sim/lifecycle", true},
		"SimulatorDaemon":      {"A package below a room is held too.", "acctest/maassim/sim/lxd/daemon", modulePath + "/engine/lxd", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, rule, ok := findDependencyRule(tc.folder)
			if !ok {
				t.Fatalf("no rule for %s", tc.folder)
			}
			if got := rule.refusalReason(tc.dep); (got != "") != tc.refuse {
				t.Errorf("%s\n%s on %s: refused %t (%s), want %t", tc.reason, tc.folder, tc.dep, got != "", got, tc.refuse)
			}
		})
	}
}

// TestProviderIsImportedByItsMainAlone: only a front end's own program and the
// acceptance suites may import its packages.
func TestProviderIsImportedByItsMainAlone(t *testing.T) {
	t.Parallel()
	owners := map[string]string{
		"terraform-provider-maaslxd/provider/...": "terraform-provider-maaslxd/...",
		"capi-bridge/controller/...":              "capi-bridge/...",
		"capi-bridge/webhook":                     "capi-bridge/...",
	}
	packages := ourPackages(t)
	for _, p := range packages {
		for _, imported := range p.Imports {
			folder := strings.TrimPrefix(imported, modulePath+"/")
			for guarded, owner := range owners {
				if isWithinFolder(folder, guarded) && !isWithinFolder(p.folder(), owner) && !isWithinFolder(p.folder(), "acctest/...") {
					t.Errorf("%s imports %s, which only %s and acctest/... may", p.folder(), folder, owner)
				}
			}
		}
	}
	t.Logf("%d packages checked", len(packages))
}

// goPackage is a package as go list describes it.
type goPackage struct {
	TestImports, XTestImports []string // of its tests; direct ones only
	ImportPath                string
	Name                      string
	Dir                       string
	GoFiles                   []string // of this platform, without tests
	Imports                   []string // direct ones, without tests
	Deps                      []string // all, without those of tests
}

// folder is the package's path below the module.
func (p goPackage) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/")
}

// ourPackages lists every package of the module. It fails the test where there
// is none.
func ourPackages(t *testing.T) []goPackage {
	t.Helper()
	packages, err := allPackages()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// allPackages runs go list once for all tests.
var allPackages = sync.OnceValues(func() ([]goPackage, error) {
	ctx := context.Background() // not a test's: the end of the first test must not end it for all
	root, err := cli.Root(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Name,Dir,GoFiles,Imports,Deps,TestImports,XTestImports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, errors.New("go list found no package")
	}
	return packages, nil
})

// repositoryFiles lists the files that git tracks, from the root, with slashes.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	// Git lists the files also where another user owns the checkout.
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
