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
	"capi-bridge/advice", "capi-bridge/controller", "capi-bridge/controller/condition", "capi-bridge/controller/demand", "capi-bridge/controller/endpoint",
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
		reason: "The engine does not import Terraform, Kubernetes or its adapters.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/..."},
		never:  frontEndModules,
	},
	"engine/region": {
		reason: "The list of a process's work in progress does not import any kind.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/region"},
		never:  frontEndModules,
	},
	"engine/compose": {
		reason: "The maker of VMs imports neither adapters nor kinds.",
		ours:   engineKindImports("engine/compose"),
		never:  frontEndModules,
	},
	"engine/inplace": {
		reason: "Changes in place that all kinds share do not import any kind.",
		ours:   engineKindImports("engine/inplace"),
		never:  frontEndModules,
	},
	"engine/vm": {
		reason: "Kinds do not import each other.",
		ours:   engineKindImports("engine/compose", "engine/inplace", "engine/vm"),
		never:  frontEndModules,
	},
	"engine/machine": {
		reason: "Kinds do not import each other.",
		ours:   engineKindImports("engine/inplace", "engine/machine"),
		never:  frontEndModules,
	},
	"engine/host": {
		reason: "A host is also a machine, and imports no other kind.",
		ours:   engineKindImports("engine/inplace", "engine/machine", "engine/host"),
		never:  frontEndModules,
	},
	"engine/fleet": {
		reason: "The reader of the whole fleet changes nothing.",
		ours:   engineKindImports("engine/fleet"),
		never:  frontEndModules,
	},
	"engine/operate": {
		reason: "One-time operations of users do not import any kind.",
		ours:   engineKindImports("engine/operate"),
		never:  frontEndModules,
	},
	"engine/assembly": {
		reason: "The kinds are assembled without any adapter.",
		ours:   engineKindImports("engine/compose", "engine/inplace", "engine/vm", "engine/machine", "engine/host", "engine/fleet", "engine/assembly"),
		never:  frontEndModules,
	},
	"engine/placement": {
		reason: "Placement has no side effects.",
		ours:   []string{"engine/placement/..."},
		never:  frontEndModules,
	},
	"engine/maas": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/maas/..."},
		never:  frontEndModules,
	},
	"engine/maas/api": {
		reason: "The transport does not import machines.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/maas/api"},
		never:  frontEndModules,
	},
	"engine/maas/share": {
		reason: "The package that shares reads sends none itself.",
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
		reason: "A site assembles the engine and its adapters, for all front ends.",
		ours:   []string{"engine", "engine/...", "cloudinit/..."},
		never:  frontEndModules,
	},
	"engine/ledger": {
		reason: "Adapters import the engine, never each other.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/ledger/..."},
		never:  frontEndModules,
	},
	"engine/ledger/room": {
		reason: "The choice of a host has no side effects, and does not depend on a store.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/ledger/room"},
		never:  frontEndModules,
	},
	"engine/ledger/lease": {
		reason: "The judge of leases does not depend on their store.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/ledger/lease"},
		never:  frontEndModules,
	},
	"engine/ledger/wire": {
		reason: "The wire format does not depend on the server.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...", "engine/ledger/lease", "engine/ledger/wire"},
		never:  frontEndModules,
	},
	"engine/ledger/access": {
		reason: "The rights of a client do not depend on rows.",
		ours:   []string{"engine", "engine/internal/...", "engine/placement", "cloudinit/...", "engine/ledger/access"},
		never:  frontEndModules,
	},
	"engine/ledger/remote": {
		reason: "A client does not import the inside of the service.",
		ours: []string{
			"engine", "engine/internal/...", "engine/placement", "engine/bounded", "cloudinit/...",
			"engine/ledger", "engine/ledger/room", "engine/ledger/lease", "engine/ledger/wire", "engine/ledger/remote",
		},
		never: frontEndModules,
	},
	"cloudinit": {
		reason: "A host's first boot is data only.",
		ours:   []string{"cloudinit/..."},
		never:  frontEndModules,
	},
	"acctest/maassim": {
		reason: "The simulator speaks HTTP only, so a wrong guess in our client cannot hide in it.",
		ours:   []string{"acctest/maassim/..."},
		never:  frontEndModules,
	},
	"acctest/maassim/recording": {
		reason: "The format of a recording does not depend on its replay.",
		ours:   []string{"acctest/maassim/recording"},
		never:  frontEndModules,
	},
	"acctest/maassim/freeport": {
		reason: "The search for a free port does not depend on its use.",
		ours:   []string{"acctest/maassim/freeport"},
		never:  frontEndModules,
	},
	"acctest/maassim/sim/versions": {
		reason: "The differences between versions do not depend on state.",
		ours:   simulatorPackages("versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/surface": {
		reason: "The list of operations does not depend on their handlers.",
		ours:   simulatorPackages("surface", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/rest": {
		reason: "The form of MAAS's answers does not depend on their subject.",
		ours:   simulatorPackages("rest"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/boot": {
		reason: "A first boot imports its machine, and not MAAS.",
		ours:   simulatorPackages("boot", "lxd/daemon"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/world": {
		reason: "The state does not import the code that changes it.",
		ours:   simulatorPackages("world/...", "boot", "lxd/daemon", "rest"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/lxd": {
		reason: "LXD's API does not import MAAS's.",
		ours:   simulatorPackages("lxd", "lxd/daemon", "boot", "world/...", "rest"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/world/site": {
		reason: "An operator's other objects do not import machines.",
		ours:   simulatorPackages("world/site"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/world/storage": {
		reason: "Disks do not import the rest of a machine.",
		ours:   simulatorPackages("world/storage"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/disks": {
		reason: "Disk layouts do not import machines' own operations.",
		ours:   simulatorPackages("disks", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/upkeep": {
		reason: "Upkeep by an operator does not import machines' own operations.",
		ours:   simulatorPackages("upkeep", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/settings": {
		reason: "Settings import only their own operations.",
		ours:   simulatorPackages("settings", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/accounts": {
		reason: "Users and their keys do not import machines' own operations.",
		ours:   simulatorPackages("accounts", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/catalog": {
		reason: "Zones, pools and tags do not import machines' own operations.",
		ours:   simulatorPackages("catalog", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/network": {
		reason: "Networks do not import machines' own operations.",
		ours:   simulatorPackages("network", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	"acctest/maassim/sim/hosts": {
		reason: "A VM host makes machines. Allocation imports VM hosts, and not the other way round.",
		ours:   simulatorPackages("hosts", "lifecycle", "driver", "request", "view", "world/...", "boot", "lxd/daemon", "rest", "versions"),
		never:  frontEndModules,
	},
	// The provider block, and the list of all objects. The packages of the
	// objects are below.
	"terraform-provider-maaslxd": {
		reason: "The front ends do not import each other.",
		ours:   []string{"terraform-provider-maaslxd/...", "engine/...", "cloudinit/..."},
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/datasources": {
		reason: "Objects do not use each other's helpers.",
		ours:   providerObjectImports("fleet"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/functions": {
		reason: "Functions make no calls.",
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
		reason: "An attribute does not import its resource.",
		ours:   providerObjectImports("vm/instance"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/moved": {
		reason: "The search for VMs of other providers does not import the objects.",
		ours:   providerObjectImports("moved"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/host": {
		reason: "Objects do not use each other's helpers.",
		ours:   append(providerObjectImports("host"), "terraform-provider-maaslxd/provider/host/network"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/host/network": {
		reason: "An attribute does not import its resource.",
		ours:   providerObjectImports("host/network"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/machine": {
		reason: "Objects do not use each other's helpers.",
		ours:   providerObjectImports("machine"),
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/client": {
		reason: "The packages that objects share do not import the objects.",
		ours: []string{
			"terraform-provider-maaslxd/provider/client", "terraform-provider-maaslxd/provider/diagnostics", "terraform-provider-maaslxd/provider/values/...",
			"engine/...", "cloudinit/...",
		},
		never: kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/diagnostics": {
		reason: "Explaining an error needs no call of MAAS.",
		ours:   []string{"terraform-provider-maaslxd/provider/diagnostics", "engine", "engine/internal/...", "engine/placement", "engine/maas/api", "engine/bounded", "cloudinit/..."},
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/values": {
		reason: "Values do not import the client.",
		ours:   []string{"terraform-provider-maaslxd/provider/values/...", "engine", "engine/internal/...", "engine/placement", "cloudinit/..."},
		never:  kubernetesModules,
	},
	"terraform-provider-maaslxd/provider/providertest": {
		reason: "The test helpers for resources do not import the resources.",
		ours:   []string{"terraform-provider-maaslxd/provider/providertest"},
		never:  kubernetesModules,
	},
	"capi-bridge/api": {
		reason: "The kinds of the API are data only.",
		ours:   []string{"capi-bridge/api/...", "engine/providerid"},
		never:  terraformModules,
	},
	"capi-bridge/webhook": {
		reason: "The webhook's checks need no MAAS.",
		ours:   []string{"capi-bridge/api/...", "engine/providerid", "capi-bridge/webhook/..."},
		never:  terraformModules,
	},
	"capi-bridge/controller": {
		reason: "Controllers import the engine, and no adapter of it. The packages that they share import no controller.",
		ours:   slices.Concat(sharedByControllers, []string{"capi-bridge/api/...", "engine/providerid", "engine", "engine/internal/...", "engine/fleet", "engine/placement", "cloudinit/..."}),
		never:  terraformModules,
	},
	"capi-bridge/controller/cluster": {
		reason: "Controllers meet in the objects, and do not import each other.",
		ours:   controllerImports("cluster"),
		never:  terraformModules,
	},
	"capi-bridge/controller/machine": {
		reason: "Controllers meet in the objects, and do not import each other.",
		ours:   controllerImports("machine"),
		never:  terraformModules,
	},
	"capi-bridge/controller/template": {
		reason: "Controllers meet in the objects, and do not import each other.",
		ours:   controllerImports("template"),
		never:  terraformModules,
	},
	"capi-bridge/controller/controllertest": {
		reason: "The test helpers for several controllers import no controller.",
		ours: []string{
			"capi-bridge/controller/controllertest", "capi-bridge/api/...", "engine/providerid", "engine", "engine/internal/...", "engine/fleet", "engine/placement", "cloudinit/...",
			"acctest/crash", "acctest/maassim/...",
		},
		never: terraformModules,
	},
	"capi-bridge/identity": {
		reason: "The controllers find their MAAS without the manager.",
		ours:   []string{"capi-bridge/advice", "capi-bridge/api/...", "capi-bridge/controller/...", "capi-bridge/identity/...", "engine/...", "cloudinit/..."},
		never:  terraformModules,
	},
	"capi-bridge": {
		reason: "The front ends do not import each other.",
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

// TestImportDirections checks the direction of every dependency between our packages. It
// keeps Terraform and Kubernetes out of packages that must not know them.
func TestImportDirections(t *testing.T) {
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
// would always pass TestImportDirections.
func TestArrowsRefuse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		folder string
		dep    string
		refuse bool
	}{
		"SiteAdapter":          {"A site joins the adapters.", "engine/site", modulePath + "/engine/lxd", false},
		"SiteFrontEnd":         {"A site serves front ends, and imports none.", "engine/site", modulePath + "/terraform-provider-maaslxd/provider", true},
		"AdapterSite":          {"Adapters do not import the site that assembles them.", "engine/maas", modulePath + "/engine/site", true},
		"EngineTerraform":      {"No Terraform in the engine.", "engine", "github.com/hashicorp/terraform-plugin-framework/diag", true},
		"EngineKubernetes":     {"No Kubernetes in the engine.", "engine", "k8s.io/api/core/v1", true},
		"EngineRuntime":        {"No controller-runtime in an adapter.", "engine/maas", "sigs.k8s.io/controller-runtime", true},
		"EngineAdapter":        {"The engine owns the port, and does not import its adapters.", "engine", modulePath + "/engine/maas", true},
		"EnginePlacement":      {"Only the engine imports placement.", "engine", modulePath + "/engine/placement", false},
		"AdapterAdapter":       {"Adapters stay apart.", "engine/lxd", modulePath + "/engine/maas", true},
		"AdapterEngine":        {"Adapters implement the engine's ports.", "engine/maas", modulePath + "/engine", false},
		"AdapterKey":           {"An adapter shows the fleet's key.", "engine/lxd", modulePath + "/engine/fleetkey", false},
		"KeyAdapter":           {"The key pair does not need an LXD.", "engine/fleetkey", modulePath + "/engine/lxd", true},
		"TransportAdapter":     {"The transport does not depend on the use of a request.", "engine/maas/api", modulePath + "/engine/maas", true},
		"ShareTransport":       {"The package that shares reads gets a function for the read.", "engine/maas/share", modulePath + "/engine/maas/api", true},
		"AdapterSubpackage":    {"A package below an adapter follows its rule, too.", "engine/maas/wire", modulePath + "/engine/lxd", true},
		"SimulatorEngine":      {"The simulator shares no code with the tested product.", "acctest/maassim/sim", modulePath + "/engine", true},
		"FrontEnds":            {"Front ends stay apart.", "capi-bridge/controller", modulePath + "/terraform-provider-maaslxd/provider", true},
		"ControllerController": {"A cluster's controller does not use a machine's.", "capi-bridge/controller/cluster", modulePath + "/capi-bridge/controller/machine", true},
		"SharedController":     {"A package that controllers share imports no controller.", "capi-bridge/controller/problem", modulePath + "/capi-bridge/controller/machine", true},
		"FrontEndEngine":       {"Front ends use the engine.", "terraform-provider-maaslxd/provider", modulePath + "/engine/maas", false},
		"StandardLibrary":      {"Every package may import the standard library.", "engine/placement", "net/http", false},
		"ProviderKubernetes":   {"The provider does not import Kubernetes.", "terraform-provider-maaslxd", "k8s.io/client-go/rest", true},
		"ObjectShared":         {"Objects share the client.", "terraform-provider-maaslxd/provider/vm", modulePath + "/terraform-provider-maaslxd/provider/client", false},
		"ObjectObject":         {"An object does not use another object's helpers.", "terraform-provider-maaslxd/provider/vm", modulePath + "/terraform-provider-maaslxd/provider/host", true},
		"SharedObject":         {"A shared package imports no object.", "terraform-provider-maaslxd/provider/client", modulePath + "/terraform-provider-maaslxd/provider/datasources", true},
		"NamePrefixIsNoBelow":  {"A folder whose name only begins with another one's is not below it.", "cloudinit", modulePath + "/cloudinitx", true},
		"SimulatorRooms":       {"Resources of the simulator import its state.", "acctest/maassim/sim/hosts", modulePath + "/acctest/maassim/sim/world", false},
		"SimulatorState":       {"The state does not import its resources.", "acctest/maassim/sim/world", modulePath + "/acctest/maassim/sim/hosts", true},
		"SimulatorLXD":         {"LXD's API does not import MAAS's resources.", "acctest/maassim/sim/lxd", modulePath + "/acctest/maassim/sim/lifecycle", true},
		"SimulatorDaemon":      {"A package below a folder follows its rule, too.", "acctest/maassim/sim/lxd/daemon", modulePath + "/engine/lxd", true},
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
