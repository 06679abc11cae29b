package acctest_test

// Reasons that several tests share.
const (
	siteExampleNames    = "the machines and VM hosts are those that the example names"
	siteListsAll        = "it lists all that MAAS has, and others are there"
	siteHostTransitions = "it ends the passages of a host's machine by steering the simulator"
	siteAnyHost         = "a VM of it may go to any host, and others are there"
	siteTwoNICs         = "it needs a machine with two NICs on one VLAN"
	siteTooBrief        = "it acts in a moment that a look at MAAS would miss"
	siteSimulatedValues = "it names sizes and addresses of the simulated world"
	siteRenamesMachines = "it renames machines, which are only lent"
	siteOwnKey          = "it is about a key that is made, and hosts of one run share the run's"
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
	"TestAccWorkflowHostNetworkLost":     siteTwoNICs,
	"TestAccExampleDemo":                 siteExampleNames,
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
	"TestAccWorkflowStateBefore":         "its state of before has a key of the simulated world",
	"TestAccHostGoneBeforeDestroy":       "it deletes a machine, which is only lent",
	"TestAccGoneFleet":                   siteListsAll,
	"TestAccListMachines":                siteListsAll,
	"TestAccListQueryMachines":           siteListsAll,
	"TestAccWorkflowNoHostYet":           siteListsAll,
	"TestAccGoneInstance":                "it looks into the LXD of the simulator",
	"TestAccGoneInstanceRuns":            "it looks into the LXD of the simulator",
	"TestAccExampleDevices":              "it looks into the LXD of the simulator",
	"TestAccWorkflowSnapshot":            "it looks into the LXD of the simulator",
	"TestAccGoneSnapshotChanges":         "it looks into the LXD of the simulator",
	"TestAccSnapshotRefused":             "it looks into the LXD of the simulator",
	"TestAccGoneProfile":                 "it makes a profile in the LXD of the simulator",
	"TestAccGoneMACTaken":                "it makes machines that are no VMs",
	"TestAccDataVMs":                     siteListsAll,
	"TestAccHostServerIsTold":            siteListsAll,
	"TestAccPlacementBadInput/EmptyZone": siteListsAll,
	"TestAccHostTimeoutIsResumed":        siteHostTransitions,
	"TestAccHostFailsForGood":            siteHostTransitions,
	"TestAccWorkflowHostReplaced":        siteAnyHost,
	"TestAccHostThenVMs":                 siteAnyHost,
	"TestAccWorkflowDestroyTogether":     siteAnyHost,
	"TestAccHostWaysIn/SelectorZone":     "other machines of the zone are as good",
	"TestAccHostBadMachine/BridgeTaken":  "what interfaces are called is of the simulated world",
	"TestAccWorkflowLedgerService":       siteAnyHost,
	"TestAccVMBadInput/CoresBeyondHost":  siteSimulatedValues,
	"TestAccVMBadInput/MemoryBeyondHost": siteSimulatedValues,
	"TestAccVMBadInput/DiskBeyondPool":   siteSimulatedValues,
	"TestAccVMBadInput/AddressElsewhere": siteSimulatedValues,
	"TestAccVMBadInput/AddressOfMAAS":    siteSimulatedValues,

	"TestAccWorkflowCommissionFailureTellsWhy": "it makes a script fail by steering the simulator",
	"TestAccWorkflowImportTags":                "it makes an update fail by steering the simulator",
	"TestAccWorkflowUnfinishedMetalFails":      "it needs a deployment that takes twelve seconds",
	"TestAccLXDClientOtherKey":                 siteOwnKey,
	"TestAccMachineTimeoutIsResumed":           siteHostTransitions,
	"TestAccMachineFailsForGood":               siteHostTransitions,
	"TestAccMachineLife/NoVMHosts":             "a MAAS is with VM hosts or without",
	"TestAccMachineAddress":                    siteSimulatedValues,
	"TestAccMachineBadInput/AddressTaken":      siteSimulatedValues,
	"TestAccMachineUnknown":                    siteSimulatedValues,
	"TestAccWorkflowImportMachine":             siteSimulatedValues,
	"TestAccWorkflowTypoMachine":               siteSimulatedValues,
}
