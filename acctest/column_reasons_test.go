package acctest_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Reasons that several tests share.
const (
	lxdNoHostRecord       = "it reads MAAS's record of a VM host, and this MAAS has none"
	lxdNoHostNumber       = "it names a VM host by its number in MAAS, and this MAAS has none"
	lxdOneVersion         = "the version of a real LXD cannot be chosen"
	lxdNoHostMachine      = "a host there is a machine of MAAS, and this LXD is not on one"
	lxdUnreachableNetwork = "the example's machines are in a network that cannot be reached from here; the demo's can"
	lxdNoMAASRefresh      = "MAAS does not refresh LXDs there"
	lxdNoCompose          = "the former provider's VMs were composed by MAAS on its VM hosts"

	lxdLoopbackOnly = "its machines have loopback addresses, and no LXD listens on one of these alone"
	lxdOtherNetwork = "the addresses of the network differ there"
)

// notOnLXD are the tests, or their cases, that make no sense where LXD makes
// the VMs, with the reason.
var notOnLXD = map[string]string{
	"TestAccWorkflowHostLinks/VLAN":       lxdLoopbackOnly,
	"TestAccWorkflowHostLXD":              lxdLoopbackOnly,
	"TestAccWorkflowHostPools":            "a real LXD has neither such a disk nor Ceph",
	"TestAccWorkflowRoomTogether":         "the room of a real LXD depends on the machine that runs the tests",
	"TestAccDataHosts":                    lxdNoHostNumber,
	"TestAccDataBadInput/NoHostID":        lxdNoHostNumber,
	"TestAccHostNamesSwapped":             lxdNoHostNumber,
	"TestAccHostServerIsTold":             lxdNoHostNumber,
	"TestAccHostMoved":                    "the former provider names a VM host by its number in MAAS",
	"TestAccWorkflowComposerBack":         lxdNoHostRecord,
	"TestAccWorkflowVMHostDeletedInMAAS":  lxdNoHostRecord,
	"TestAccWorkflowIgnoreChanges/VMHost": lxdNoHostRecord,
	"TestAccWorkflowComposerBackRefused":  lxdNoHostRecord,
	"TestAccWorkflowUpgradedDisks":        lxdNoHostRecord,
	"TestAccWorkflowComposerChanged":      lxdNoHostRecord,
	"TestAccWorkflowMoveByImport":         lxdNoCompose,
	"TestAccWorkflowMoveFleet":            lxdNoCompose,
	"TestAccWorkflowMoveHosts":            lxdNoCompose,
	"TestAccWorkflowMoveHostKilled":       lxdNoCompose,
	"TestAccWorkflowMoveHostOnePair":      lxdNoCompose,
	"TestAccWorkflowMoveHostRefused":      lxdNoCompose,
	"TestAccWorkflowMoveHostThenChange":   lxdNoCompose,
	"TestAccHostDrift/Zone":               lxdNoHostRecord,
	"TestAccHostDrift/Ratio":              lxdNoHostRecord,
	"TestAccHostDrift/Name":               lxdNoHostRecord,
	"TestAccHostDrift/Tag":                lxdNoHostRecord,
	"TestAccHostDrift/Forgotten":          lxdNoHostRecord,
	"TestAccHostDrift/Unrecorded":         lxdNoHostRecord,
	"TestAccHostImportUnmarked":           lxdNoHostRecord,
	"TestAccWorkflowOwnerOfAdopted/Host":  lxdNoHostRecord,
	"TestAccHostKilled/Unregistered":      lxdNoHostRecord,
	"TestAccVMBadInput/HostNeverReached":  lxdNoHostRecord,
	"TestAccVMBadInput/NoVMHosts":         "it makes VMs there",
	"TestAccHostBadInput/NoVMHosts":       "it makes hosts there",
	"TestAccHostTooNew":                   lxdOneVersion,
	"TestAccVMOnLXDTooNew":                lxdOneVersion,
	"TestAccHostBadLXD/TooOld":            lxdOneVersion,
	"TestAccGoneTooOld":                   lxdOneVersion,
	"TestAccHostProjectInUse":             lxdNoHostMachine,
	"TestAccWorkflowImportHostByAddress":  lxdNoHostMachine,
	"TestAccHostWaysIn/ByAddress":         lxdNoHostMachine,
	"TestAccHostAddressCorrected":         lxdNoHostMachine,
	"TestAccHostServerDemanded":           lxdNoHostMachine,
	"TestAccHostBadLXD/ProjectHoldsVMs":   lxdNoHostMachine,
	"TestAccHostBadLXD/RegisteredAlready": lxdNoHostMachine,
	"TestAccHostBadLXD/Untrusted":         lxdNoHostMachine,
	"TestAccHostBadLXD/ProjectInUse":      lxdNoMAASRefresh,
	"TestAccExampleHosts":                 lxdUnreachableNetwork,
	"TestAccExampleMachines":              lxdUnreachableNetwork,
	"TestAccMachineAddress":               lxdOtherNetwork,
	"TestAccMachineUnknown":               lxdOtherNetwork,
	"TestAccWorkflowTypoMachine":          lxdOtherNetwork,
	"TestAccWorkflowImportMachine":        lxdOtherNetwork,
	"TestAccMachineLife/VMHosts":          "MAAS has no VM hosts there: the other case covers that",
	"TestAccExampleFleet":                 lxdUnreachableNetwork,
	"TestAccGuideExistingNodes":           lxdNoHostMachine,
	"TestAccExampleFleetTests":            lxdUnreachableNetwork,
	"TestAccGoneBad/OtherServer":          "the certificate of a real LXD cannot be changed",
	"TestAccWorkflowForeignLXD":           "the certificate of a real LXD cannot be changed",
	"TestAccProfileOnMAAS":                "a profile can be chosen there",
	"TestAccInstanceOnMAAS":               "a VM can have options and devices there",
	"TestAccGoneServerChanged":            "the certificate of a real LXD cannot be changed",
	"TestAccWorkflowGeneratedVM":          "LXD gives a VM the MAC address that the configuration names",
	"TestAccHostServerChanged":            "the certificate of a real LXD cannot be changed",
	"TestAccVMReplacedForSize":            "LXD resizes a VM in place",
	"TestAccVMResizeUnanswered":           "LXD resizes a VM in place, whatever MAAS answers",
	"TestAccWorkflowTypoVM":               lxdOtherNetwork,
	"TestAccWorkflowTypoAddresses":        lxdOtherNetwork,
	"TestAccHostKeyExpires":               "without a valid key nobody sees what is on a host: see TestAccGoneKeyExpires",
}

// startsVMs are the tests whose VMs real LXDs start, where they can, with the
// reason. In all other tests that would cost time and prove nothing more.
var startsVMs = map[string]string{
	"TestAccGoneLife":          "a VM is deployed, and removed while it runs",
	"TestAccGoneInstanceRuns":  "LXD changes some options and devices of a running VM",
	"TestAccGoneResizeStops":   "a running VM is stopped, changed and started",
	"TestAccWorkflowPower":     "a VM is turned off and on",
	"TestAccWorkflowSnapshot":  "a running VM is stopped, restored and started",
	"TestAccGoneResizeRefused": "LXD itself refuses some changes of a running VM",
}

// TestColumnReasons: each name in the tables is that of a test, or of a case of
// it. So a reason goes with its test.
func TestColumnReasons(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		if file == "column_reasons_test.go" || file == "column_alike_test.go" || file == "site_reasons_test.go" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	names := slices.Concat(slices.Collect(maps.Keys(notOnSite)), slices.Collect(maps.Keys(notOnLXD)), slices.Collect(maps.Keys(alikeOnLXD)))
	for name := range startsVMs {
		if reasonFor(name, notOnLXD) != "" || reasonFor(name, alikeOnLXD) != "" {
			t.Errorf("%s starts VMs and is skipped", name)
		}
		names = append(names, name)
	}
	for name := range alikeOnLXD {
		if _, other := notOnLXD[name]; other {
			t.Errorf("%s has two reasons", name)
		}
	}
	for _, name := range names {
		test, one, _ := strings.Cut(name, "/")
		if !strings.Contains(code.String(), "func "+test+"(t *testing.T)") {
			t.Errorf("there is no test %s", test)
		}
		if one != "" && !strings.Contains(code.String(), `"`+one+`"`) {
			t.Errorf("%s has no case %s", test, one)
		}
	}
}
