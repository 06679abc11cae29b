package acctest_test

// Reasons that several tests share.
const (
	siteExampleNames    = "it needs the machines and VM hosts that the example names"
	siteListsAll        = "it lists everything in MAAS, which has other owners' objects, too"
	siteHostTransitions = "it decides how transitions of a host's machine end, which only the simulator allows"
	siteAnyHost         = "its VM may go to any host, and MAAS has other owners' hosts"
	siteTwoNICs         = "it needs a machine with two NICs on one VLAN"
	siteTooBrief        = "it acts at a moment too short to be seen in MAAS"
	siteSimulatedValues = "it uses sizes and addresses of the simulated model"
	siteRenamesMachines = "it renames machines, and these are only lent"
	siteOwnKey          = "it makes a key of its own, and all hosts of one run share the run's key"
)

// notOnSite are the tests, or their cases, that make no sense on a MAAS that
// the suite did not make, with the reason.
var notOnSite = map[string]string{
	"TestAccExampleHostNetwork":          siteExampleNames,
	"TestAccGoneInterfaces":              siteSimulatedValues,
	"TestAccWorkflowHostBond":            siteTwoNICs,
	"TestAccWorkflowMachineUpkeep":       siteRenamesMachines,
	"TestAccWorkflowMachineReplaced":     siteRenamesMachines,
	"TestAccWorkflowMachineHostnames":    siteRenamesMachines,
	"TestAccWorkflowMachineUpkeepTypo":   siteRenamesMachines,
	"TestAccWorkflowHostBondAdded":       siteTwoNICs,
	"TestAccWorkflowHostBridgeNIC":       siteTwoNICs,
	"TestAccWorkflowHostLinks":           siteTwoNICs,
	"TestAccWorkflowActionTimeouts":      "it makes MAAS's calls hang",
	"TestAccWorkflowSecondAddressMode":   siteSimulatedValues,
	"TestAccWorkflowMachineNIC":          siteTwoNICs,
	"TestAccWorkflowSelectors":           siteSimulatedValues,
	"TestAccWorkflowTimeouts":            "it makes MAAS's calls hang",
	"TestAccWorkflowHostLXD":             siteTwoNICs,
	"TestAccWorkflowHostProject":         "it reads the simulator's LXD",
	"TestAccWorkflowHostMacvlan":         siteTwoNICs,
	"TestAccWorkflowHostPools":           "it needs a machine with two disks, and a Ceph cluster",
	"TestAccWorkflowCachedDisk":          "it needs a machine with two disks, of which the second is tagged in MAAS",
	"TestAccWorkflowHostNetworkLost":     siteTwoNICs,
	"TestAccExampleDemo":                 siteExampleNames,
	"TestAccExampleActions":              siteExampleNames,
	"TestAccGuideFirstFleet":             siteExampleNames,
	"TestAccGuideDayTwo":                 siteExampleNames,
	"TestAccGuideRestartAndRescue":       siteExampleNames,
	"TestAccGuideSnapshot":               siteExampleNames,
	"TestAccGuideExistingNodes":          siteExampleNames,
	"TestAccWorkflowOtherUser":           "it needs the second user of the simulated model",
	"TestAccHostKey":                     siteOwnKey,
	"TestAccHostKeyRotated":              siteOwnKey,
	"TestAccHostKeyExpires":              siteOwnKey,
	"TestAccGoneKeyExpires":              siteOwnKey,
	"TestAccGoneRotated":                 siteOwnKey,
	"TestAccHostKeyInClear":              siteOwnKey,
	"TestAccOperationsUnfinished":        siteOwnKey,
	"TestAccOperationsRotate":            siteOwnKey,
	"TestAccOperationsKeyLost":           siteOwnKey,
	"TestAccWorkflowCIRunner":            siteOwnKey,
	"TestAccWorkflowKeyOfOthers":         siteOwnKey,
	"TestAccWorkflowStateBefore":         "its old state has a key of the simulated model",
	"TestAccHostGoneBeforeDestroy":       "it deletes a machine, and these are only lent",
	"TestAccGoneFleet":                   siteListsAll,
	"TestAccListMachines":                siteListsAll,
	"TestAccListManagedVMHosts":          siteListsAll,
	"TestAccListQueryMachines":           siteListsAll,
	"TestAccWorkflowNoHostYet":           siteListsAll,
	"TestAccGoneInstance":                "it reads the simulator's LXD",
	"TestAccGoneInstanceRuns":            "it reads the simulator's LXD",
	"TestAccExampleDevices":              "it reads the simulator's LXD",
	"TestAccWorkflowComposerChanged":     "it reads the simulator's LXD",
	"TestAccWorkflowSnapshot":            "it reads the simulator's LXD",
	"TestAccGoneSnapshotChanges":         "it reads the simulator's LXD",
	"TestAccSnapshotRefused":             "it reads the simulator's LXD",
	"TestAccGoneProfile":                 "it makes a profile in the simulator's LXD",
	"TestAccGoneMACTaken":                "it makes machines other than VMs",
	"TestAccDataVMs":                     siteListsAll,
	"TestAccHostServerIsTold":            siteListsAll,
	"TestAccPlacementBadInput/EmptyZone": siteListsAll,
	"TestAccHostTimeoutIsResumed":        siteHostTransitions,
	"TestAccHostFailsForGood":            siteHostTransitions,
	"TestAccWorkflowHostReplaced":        siteAnyHost,
	"TestAccHostThenVMs":                 siteAnyHost,
	"TestAccWorkflowDestroyTogether":     siteAnyHost,
	"TestAccHostWaysIn/SelectorZone":     "other machines of the zone fit as well",
	"TestAccHostBadMachine/BridgeTaken":  "it uses the simulated model's names of interfaces",
	"TestAccWorkflowLedgerService":       siteAnyHost,
	"TestAccVMBadInput/CoresBeyondHost":  siteSimulatedValues,
	"TestAccVMBadInput/MemoryBeyondHost": siteSimulatedValues,
	"TestAccVMBadInput/DiskBeyondPool":   siteSimulatedValues,
	"TestAccVMBadInput/AddressElsewhere": siteSimulatedValues,
	"TestAccVMBadInput/AddressOfMAAS":    siteSimulatedValues,

	"TestAccWorkflowCommissionFailureTellsWhy": "it makes a script fail, which only the simulator allows",
	"TestAccWorkflowImportTags":                "it makes an update fail, which only the simulator allows",
	"TestAccWorkflowUnfinishedMetalFails":      "it needs a deployment of twelve seconds",
	"TestAccLXDClientOtherKey":                 siteOwnKey,
	"TestAccMachineTimeoutIsResumed":           siteHostTransitions,
	"TestAccMachineFailsForGood":               siteHostTransitions,
	"TestAccMachineLife/NoVMHosts":             "a real MAAS either has VM hosts or not",
	"TestAccMachineAddress":                    siteSimulatedValues,
	"TestAccMachineBadInput/AddressTaken":      siteSimulatedValues,
	"TestAccMachineUnknown":                    siteSimulatedValues,
	"TestAccWorkflowImportMachine":             siteSimulatedValues,
	"TestAccWorkflowTypoMachine":               siteSimulatedValues,
}
