package acctest_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exampleTests are the tests that apply and destroy the examples, by pattern.
// Tests of another package have their folder. A file that a test reads by name
// is listed by name, so that a new file fails here until a test uses it.
var exampleTests = []struct {
	pattern string
	tests   []string
}{
	{"resources/maaslxd_vm/resource.tf", []string{"TestAccExamples"}},
	{"resources/maaslxd_vm/resource_wait.tf", []string{"TestAccExamples"}},
	{"resources/maaslxd_vm/resource_day_two.tf", []string{"TestAccExampleDayTwo"}},
	{"resources/maaslxd_vm/resource_devices.tf", []string{"TestAccExampleDevices"}},
	{"resources/maaslxd_vm/resource_networks.tf", []string{"TestAccExampleNetworks"}},
	{"resources/maaslxd_vm/cloud-init.yaml", []string{"TestAccExamples"}},
	{"resources/maaslxd_vm/import*", []string{"TestAccExamples"}},
	{"resources/maaslxd_vm/resource_placement.tf", []string{"TestAccExamplePlacement"}},
	{"resources/maaslxd_vm_host/resource.tf", []string{"TestAccExampleHosts"}},
	{"resources/maaslxd_vm_host/resource_selector.tf", []string{"TestAccExampleHosts"}},
	{"resources/maaslxd_vm_host/resource_registered.tf", []string{"TestAccExampleHosts"}},
	{"resources/maaslxd_vm_host/resource_network.tf", []string{"TestAccExampleHostNetwork"}},
	{"resources/maaslxd_vm_host/resource_storage.tf", []string{"TestAccExampleHostStorage"}},
	{"resources/maaslxd_vm_host/packages.yaml", []string{"TestAccExampleHosts"}},
	{"resources/maaslxd_vm_host/import*", []string{"TestAccExampleHosts"}},
	{"resources/maaslxd_machine/resource.tf", []string{"TestAccExampleMachines"}},
	{"resources/maaslxd_machine/resource_selector.tf", []string{"TestAccExampleMachines"}},
	{"resources/maaslxd_machine/cloud-init.yaml", []string{"TestAccExampleMachines"}},
	{"resources/maaslxd_machine/import*", []string{"TestAccExampleMachines"}},
	{"data-sources/*/data-source.tf", []string{"TestAccExampleDataSources"}},
	{"functions/*/function.tf", []string{"TestAccFunctions"}},
	{"list-resources/*/list-resource.tfquery.hcl", []string{"TestAccExampleLists"}},
	{"ephemeral-resources/*/ephemeral-resource.tf", []string{"TestAccWorkflowLXDClient"}},
	{"actions/*/action.tf", []string{"TestAccExampleActions"}},
	{"provider/provider.tf", []string{"TestAccExampleProvider"}},
	{"fleet/*.tf", []string{"TestAccExampleFleet", "TestAccExampleFleetTests"}},
	{"fleet/tests/*.tftest.hcl", []string{"TestAccExampleFleetTests"}},
	{"demo/*", []string{"TestAccExampleDemo"}},
	{"capi/static-ip.yaml", []string{"capi-bridge/config/TestKubeAPIServer", "capi-bridge/config/TestKubeNamespaced"}},
	{"capi/identity.yaml", []string{"capi-bridge/config/TestKubeAPIServer", "acctest/capi/e2e/TestClusters"}},
	{"capi/lxd.yaml", []string{"capi-bridge/config/TestKubeAPIServer", "acctest/capi/e2e/TestClusters"}},
	{"capi/*.yaml", []string{"capi-bridge/config/TestKubeAPIServer", "capi-bridge/config/TestKubeClusterClass"}},
	{"capi/existing-nodes/*", []string{"capi-bridge/inithost/TestManifest", "capi-bridge/inithost/TestManifestFilledIn"}},
}

// TestEveryExampleIsApplied: every example has a test, and every test that is
// named here exists.
func TestEveryExampleIsApplied(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../examples"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i := slices.IndexFunc(exampleTests, func(e struct {
			pattern string
			tests   []string
		}) bool {
			ok, err := path.Match(e.pattern, name)
			return ok && err == nil
		})
		if i < 0 {
			t.Errorf("examples/%s is applied by no test", name)
			return nil
		}
		used[exampleTests[i].pattern] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exampleTests {
		if !used[e.pattern] {
			t.Errorf("there is no example %s", e.pattern)
		}
		for _, name := range e.tests {
			if !testNames(t, path.Dir(name))[path.Base(name)] {
				t.Errorf("%s is no test", name)
			}
		}
	}
}

// testNames are the tests in a folder of the repository, where "." is this one.
func testNames(t *testing.T, folder string) map[string]bool {
	t.Helper()
	if folder != "." {
		folder = path.Join("..", folder)
	}
	names := map[string]bool{}
	for _, file := range fileNames(t, folder) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
		}
	}
	return names
}
