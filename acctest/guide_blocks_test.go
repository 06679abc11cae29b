package acctest_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// followedGuides are the guides whose blocks of a language one test runs from
// the first to the last.
var followedGuides = map[string]string{"clusters sh": "capi-bridge/config/TestKubeInstallAnother"}

// Reasons that several blocks share.
const (
	blockPicture   = "it is a picture"
	blockSystem    = "it sets up the system that it runs on"
	blockCluster   = "it needs a management cluster that runs"
	blockOtherTool = "it calls a program of others, which a developer may not have"
)

// untestedBlocks are the blocks that no test runs or reads, by guide and first
// line, with the reason.
var untestedBlocks = map[string]string{
	"clusters: Cluster, MachineDeployment, KubeadmControlPlane       you write these":                                                    blockPicture,
	"first-fleet: Ready machine ──► deployed ──► LXD set up ──► VM host in MAAS ──► VMs":                                                 blockPicture,
	"moving-off-vm-hosts: MAAS up to 3.8                        the version after 3.8 (4.0)":                                             blockPicture,
	"shared-ledger: team red          team blue         CI runner         capi-bridge":                                                   blockPicture,
	"clusters: NAME                        CLUSTER   MODE   HOST    ZONE   SYSTEMID   STATE       READY   REASON                    AGE": "it is the output of kubectl",

	"shared-ledger: # /etc/systemd/system/maaslxd-ledger.service":                                                      blockSystem,
	"shared-ledger: sudo useradd --system --home-dir /var/lib/maaslxd-ledger --shell /usr/sbin/nologin maaslxd-ledger": blockSystem,
	"clusters: maas:53 {": blockSystem,

	"clusters-from-capmaas: kubectl --kubeconfig workload.kubeconfig get daemonsets,secrets,serviceaccounts,clusterroles,clusterrolebindings -A | grep -i lxd-initializer": blockCluster,
	"clusters-from-capmaas: kubectl get clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io,maasclusters,maasmachines,maasmachinetemplates -A -o yaml > before.yaml":       blockCluster,
	"clusters: clusterctl get kubeconfig demo > demo.kubeconfig": blockCluster,
	"existing-nodes: kubectl get secret --namespace capmaas-system maaslxd-lxd-client --output jsonpath='{.data.tls\\.crt}' | base64 --decode > fleet.crt": blockCluster,
	"shared-ledger: prefix=$(kubectl get namespace kube-system -o jsonpath='{.metadata.uid}')":                                                             blockCluster,
	"shared-ledger: kubectl get namespace kube-system -o jsonpath='{.metadata.uid}'":                                                                       blockCluster,

	"keys-and-certificates: lxc config trust add lxd-client-next.crt --restricted --projects maas":                  blockOtherTool,
	"moving-off-vm-hosts: maas $PROFILE tags create name=maaslxd-host":                                              blockOtherTool,
	"images-for-clusters: maas admin boot-resources create name=custom/k8s title=k8s architecture=amd64/generic \\": "it uploads an image of an operating system, which somebody must build",

	"images-for-clusters: export CONTROL_PLANE_MACHINE_IMAGE=custom/k8s WORKER_MACHINE_IMAGE=custom/k8s": "it sets the variables of the guide clusters, whose test sets them, too",
	"clusters: providers:":                "it names releases of other providers of Cluster API",
	"beside-other-providers: terraform {": "it needs a resource of canonical/maas that the stand-in lacks",
	"keys-and-certificates: lxd = { trusted_certificates = [file(\"lxd-client-next.crt\")] }": "it is a line of a VM host, and TestAccOperationsRotate sets the attribute",
	"troubleshooting: import {": "TestAccWorkflowImportVM writes the same block",
}

// guideFences are the fenced blocks of a page: the language, and the text.
var guideFences = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")

// guideTests are the guides that tests read, and the titles that they quote, by test file.
type guideTests map[string]string

// readGuideTests are all test files of the repository but this one.
func readGuideTests(t *testing.T) guideTests {
	t.Helper()
	texts := guideTests{}
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, "_test.go") || path.Base(name) == "guide_blocks_test.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// guideConstant is a constant that holds the name of a guide, or another text.
var guideConstant = regexp.MustCompile(`(?m)^\s*(?:const )?(\w+) +(?:string )?= "([\w./-]+)"$`)

// names tells whether a test file names a guide: by its text, or by a constant of its package.
func (g guideTests) names(file, guide string) bool {
	text := g[file]
	if strings.Contains(text, `"`+guide+`"`) || strings.Contains(text, "/"+guide+".md") {
		return true
	}
	for other, source := range g {
		if path.Dir(other) != path.Dir(file) {
			continue
		}
		for _, constant := range guideConstant.FindAllStringSubmatch(source, -1) {
			if constant[2] == guide && regexp.MustCompile(`\b`+constant[1]+`\b`).MatchString(text) {
				return true
			}
		}
	}
	return false
}

// quote tells whether a test file quotes the title of a block, and names its guide.
func (g guideTests) quote(guide, title string) bool {
	for file, text := range g {
		if strings.Contains(text, `"`+title+`"`) && g.names(file, guide) {
			return true
		}
	}
	return false
}

// TestGuideOfATitle plants tests that quote a title, with and without its guide.
func TestGuideOfATitle(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		tests  guideTests
		want   bool
	}{
		"Named":        {"The test reads the guide.", guideTests{"a/x_test.go": `blockOf(t, "first-fleet", "Apply")`}, true},
		"Path":         {"The test opens the page.", guideTests{"a/x_test.go": `open("../docs/guides/first-fleet.md"); run("Apply")`}, true},
		"Constant":     {"A constant of the package names the guide.", guideTests{"a/x_test.go": `blockOf(t, first, "Apply")`, "a/y_test.go": "const (\n\tfirst = \"first-fleet\"\n)"}, true},
		"Elsewhere":    {"A constant of another package is another one.", guideTests{"a/x_test.go": `blockOf(t, first, "Apply")`, "b/y_test.go": "const first = \"first-fleet\"\n"}, false},
		"OtherGuide":   {"Another guide has a block of the same title.", guideTests{"a/x_test.go": `blockOf(t, "day-two", "Apply")`}, false},
		"OtherFile":    {"One test names the guide, and another quotes the title.", guideTests{"a/x_test.go": `readGuide(t, "first-fleet")`, "a/y_test.go": `t.Run("Apply", nil)`}, false},
		"NoGuide":      {"The title is a common word.", guideTests{"a/x_test.go": `t.Run("Apply", nil)`}, false},
		"PartOfATitle": {"The title is longer.", guideTests{"a/x_test.go": `blockOf(t, "first-fleet", "Apply again")`}, false},
	}
	for title, tc := range cases {
		if got := tc.tests.quote("first-fleet", "Apply"); got != tc.want {
			t.Errorf("%s: %s\ngot %t, want %t", title, tc.reason, got, tc.want)
		}
	}
}

// TestEveryGuideBlockIsTested: a test quotes the title of each block of a guide
// and names that guide, or follows the whole guide, or the block has a reason. A reason that is no
// longer needed fails, too.
func TestEveryGuideBlockIsTested(t *testing.T) {
	t.Parallel()
	tests, seen := readGuideTests(t), map[string]bool{}
	for _, file := range fileNames(t, "../docs/guides") {
		guide := strings.TrimSuffix(file, ".md")
		for _, fence := range guideFences.FindAllStringSubmatch(readGuide(t, guide), -1) {
			first, _, _ := strings.Cut(fence[2], "\n")
			title, hasTitle := strings.CutPrefix(first, "# ")
			key := guide + ": " + strings.TrimSpace(first)
			seen[key] = true
			tested := hasTitle && tests.quote(guide, title) || followedGuides[guide+" "+fence[1]] != ""
			if reason := untestedBlocks[key]; tested == (reason != "") {
				t.Errorf("%q: tested %t, and the reason why not is %q", key, tested, reason)
			}
		}
	}
	for key := range untestedBlocks {
		if !seen[key] {
			t.Errorf("no guide has the block %q", key)
		}
	}
	for _, name := range followedGuides {
		if !testNames(t, path.Dir(name))[path.Base(name)] {
			t.Errorf("%s is no test", name)
		}
	}
}
