package acctest_test

// Reasons that several tests share.
const (
	examplesNames   = "the machines and VM hosts are those that the example names"
	listsAll        = "it lists all that MAAS has, and others are there"
	hostsPassage    = "it ends the passages of a host's machine by steering the simulator"
	onlyHosts       = "a VM of it may go to any host, and others are there"
	twoNICsNeeded   = "it needs a machine with two NICs on one VLAN"
	brief           = "it acts in a moment that a look at MAAS would miss"
	ofWorld         = "it names sizes and addresses of the simulated world"
	machinesRenamed = "it renames machines, which are only lent"
	clearKey        = "it is about a key that is made, and hosts of one run share the run's"
)

// notOnSite are the tests, or their cases, that say nothing on a MAAS that the suite
// did not make, and why.
var notOnSite = map[string]string{
	"TestAccExampleHostNetwork":          examplesNames,
	"TestAccGoneInterfaces":              ofWorld,
	"TestAccWorkflowHostBond":            twoNICsNeeded,
	"TestAccWorkflowMachineUpkeep":       machinesRenamed,
	"TestAccWorkflowMachineReplaced":     machinesRenamed,
	"TestAccWorkflowMachineHostnames":    machinesRenamed,
	"TestAccWorkflowMachineUpkeepTypo":   machinesRenamed,
	"TestAccWorkflowHostBondAdded":       twoNICsNeeded,
	"TestAccWorkflowHostNetworkLost":     twoNICsNeeded,
	"TestAccExampleDemo":                 examplesNames,
	"TestAccGuideFirstFleet":             examplesNames,
	"TestAccGuideExistingNodes":          examplesNames,
	"TestAccHostKey":                     clearKey,
	"TestAccHostKeyRotated":              clearKey,
	"TestAccHostKeyExpires":              clearKey,
	"TestAccGoneKeyExpires":              clearKey,
	"TestAccGoneRotated":                 clearKey,
	"TestAccHostKeyInClear":              clearKey,
	"TestAccOperationsUnfinished":        clearKey,
	"TestAccOperationsRotate":            clearKey,
	"TestAccOperationsKeyLost":           clearKey,
	"TestAccWorkflowCIRunner":            clearKey,
	"TestAccWorkflowKeyOfOthers":         clearKey,
	"TestAccWorkflowStateBefore":         "its state of before has a key of the simulated world",
	"TestAccHostGoneBeforeDestroy":       "it deletes a machine, which is only lent",
	"TestAccGoneFleet":                   listsAll,
	"TestAccListMachines":                listsAll,
	"TestAccListQueryMachines":           listsAll,
	"TestAccWorkflowNoHostYet":           listsAll,
	"TestAccGoneInstance":                "it looks into the LXD of the simulator",
	"TestAccGoneInstanceRuns":            "it looks into the LXD of the simulator",
	"TestAccExampleDevices":              "it looks into the LXD of the simulator",
	"TestAccWorkflowSnapshot":            "it looks into the LXD of the simulator",
	"TestAccGoneSnapshotChanges":         "it looks into the LXD of the simulator",
	"TestAccSnapshotRefused":             "it looks into the LXD of the simulator",
	"TestAccGoneProfile":                 "it makes a profile in the LXD of the simulator",
	"TestAccGoneMACTaken":                "it makes machines that are no VMs",
	"TestAccDataVMs":                     listsAll,
	"TestAccHostServerIsTold":            listsAll,
	"TestAccPlacementBadInput/EmptyZone": listsAll,
	"TestAccHostTimeoutIsResumed":        hostsPassage,
	"TestAccHostFailsForGood":            hostsPassage,
	"TestAccWorkflowHostReplaced":        onlyHosts,
	"TestAccHostThenVMs":                 onlyHosts,
	"TestAccWorkflowDestroyTogether":     onlyHosts,
	"TestAccHostWaysIn/SelectorZone":     "other machines of the zone are as good",
	"TestAccHostBadMachine/BridgeTaken":  "what interfaces are called is of the simulated world",
	"TestAccWorkflowLedgerService":       onlyHosts,
	"TestAccVMBadInput/CoresBeyondHost":  ofWorld,
	"TestAccVMBadInput/MemoryBeyondHost": ofWorld,
	"TestAccVMBadInput/DiskBeyondPool":   ofWorld,
	"TestAccVMBadInput/AddressElsewhere": ofWorld,
	"TestAccVMBadInput/AddressOfMAAS":    ofWorld,

	"TestAccWorkflowCommissionFailureTellsWhy": "it makes a script fail by steering the simulator",
	"TestAccWorkflowImportTags":                "it makes an update fail by steering the simulator",
	"TestAccWorkflowUnfinishedMetalFails":      "it needs a deployment that takes twelve seconds",
	"TestAccLXDClientOtherKey":                 clearKey,
	"TestAccMachineTimeoutIsResumed":           hostsPassage,
	"TestAccMachineFailsForGood":               hostsPassage,
	"TestAccMachineLife/NoVMHosts":             "a MAAS is with VM hosts or without",
	"TestAccMachineAddress":                    ofWorld,
	"TestAccMachineBadInput/AddressTaken":      ofWorld,
	"TestAccMachineUnknown":                    ofWorld,
	"TestAccWorkflowImportMachine":             ofWorld,
	"TestAccWorkflowTypoMachine":               ofWorld,
}
