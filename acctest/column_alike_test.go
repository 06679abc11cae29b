package acctest_test

// The column of real LXDs is for who makes VMs and keeps hosts: MAAS, or we in LXD. A
// test is run there unless none of that differs on its way through the product. These
// are the reasons why it does not.
const (
	unasked   = "it is refused before an LXD is asked, whoever would make the VM or the host"
	settings  = "a setting of the provider is read before it matters who makes VMs"
	oneLedger = "a ledger is opened and kept alike, whoever makes the VMs"
	metal     = "MAAS's own machine is what it is about, and no VM is made"
	ofMachine = "MAAS keeps it of the machine, which every VM and host is, and the same calls change it"
	ofState   = "the state alone keeps it, and nobody is asked to change it"
	installed = "MAAS installs a machine alike, whoever made it; others show how a VM or host is made anew"
	replies   = "MAAS's answers are judged alike, whoever made the machine that they are about"
	language  = "what Terraform does with names, addresses and plans differs in nothing"
	catalog   = "MAAS lists zones, pools, subnets and images alike, whoever makes the VMs"
	wiring    = "MAAS makes a machine's network before it deploys it, whoever keeps the host"
)

// alikeOnLXD are the tests, or their cases, that would show the same in the column of
// LXDs as in that of MAAS, and why. They run in the latter alone, and are skipped with
// the reason in the former.
var alikeOnLXD = map[string]string{
	"TestAccProviderURLForms":    settings,
	"TestAccWorkflowOwnerNeeded": settings,
	"TestAccHostBadKey":          settings,
	"TestAccWorkflowKeyOfOthers": settings,
	"TestAccWorkflowAnotherMAAS": settings,
	"TestAccExampleProvider":     settings,

	"TestAccGuideCI":            settings,
	"TestAccGuideDayTwo":        ofMachine,
	"TestAccPlanRules":          "TestAccWorkflowAttributes changes sizes in LXD, and the rule of removed lines is the same",
	"TestAccGuideRestart":       ofMachine,
	"TestAccGuideLedgerService": oneLedger,

	"TestAccFunctions":         language,
	"TestAccFunctionsBadInput": language,

	"TestAccActionBadInput":   unasked,
	"TestAccActionCommission": metal,

	"TestAccDataCatalog":            catalog,
	"TestAccDataCatalogBadInput":    catalog,
	"TestAccDataCatalogSharesLists": catalog,

	"TestAccHostBadNetwork":          unasked,
	"TestAccWorkflowHostBond":        wiring,
	"TestAccWorkflowHostBondAdded":   wiring,
	"TestAccWorkflowHostNetworkLost": wiring,
	"TestAccExampleHostNetwork":      wiring,

	"TestAccWorkflowTypoCreate":  unasked,
	"TestAccWorkflowTypoForced":  unasked,
	"TestAccWorkflowDescription": ofMachine,
	"TestAccWorkflowAnnotations": ofMachine,
	"TestAccWorkflowProtection":  "TestAccGoneProtection is the same story of a VM in LXD",

	"TestAccPlacementBadInput/Both":         unasked,
	"TestAccPlacementBadInput/Neither":      unasked,
	"TestAccPlacementBadInput/NeitherLater": unasked,
	"TestAccPlacementBadInput/Strategy":     unasked,
	"TestAccPlacementBadInput/EmptyTag":     unasked,
	"TestAccPlacementBadInput/LongGroup":    unasked,
	"TestAccPlacementBadInput/UnknownZone":  unasked,
	"TestAccPlacementBadInput/UnknownPool":  unasked,

	"TestAccProviderBadInput/MalformedKey": settings,
	"TestAccProviderBadInput/WrongKey":     settings,
	"TestAccProviderBadInput/NoScheme":     settings,
	"TestAccProviderBadInput/NotAURL":      settings,
	"TestAccProviderBadInput/HTTPSAsked":   settings,
	"TestAccProviderBadInput/NobodyThere":  settings,
	"TestAccProviderBadInput/NoMAAS":       settings,
	"TestAccProviderBadInput/BadCA":        settings,
	"TestAccProviderBadInput/BadInterval":  settings,
	"TestAccProviderBadInput/BadTimeout":   settings,
	"TestAccProviderBadInput/BadOwner":     settings,

	"TestAccLedgerUnusable":             oneLedger,
	"TestAccLedgerFile":                 oneLedger,
	"TestAccLedgerInMemory":             oneLedger,
	"TestAccLedgerHomeless":             oneLedger,
	"TestAccLedgerDefault":              oneLedger,
	"TestAccWorkflowLedgerService":      oneLedger,
	"TestAccWorkflowNetworksContradict": unasked,
	"TestAccWorkflowNullElements":       unasked,
	"TestAccDataBadInput/HostUnsaid":    unasked,
	"TestAccDataBadInput/HostTwice":     unasked,
	"TestAccDataBadInput/HostIDZero":    unasked,
	"TestAccDataBadInput/MinCores":      unasked,
	"TestAccDataBadInput/EmptyTag":      unasked,
	"TestAccDataBadInput/NoVMID":        unasked,
	"TestAccDataBadInput/VMUnsaid":      unasked,

	"TestAccVMBadInput/UnknownZone":      unasked,
	"TestAccVMBadInput/UnknownPool":      unasked,
	"TestAccVMBadInput/UnknownDomain":    unasked,
	"TestAccVMBadInput/UnknownImage":     unasked,
	"TestAccVMBadInput/AddressElsewhere": unasked,
	"TestAccVMBadInput/AddressOfMAAS":    unasked,
	"TestAccVMBadInput/AddressTaken":     unasked,
	"TestAccVMBadInput/NoAddress":        unasked,
	"TestAccVMBadInput/ZeroCores":        unasked,
	"TestAccVMBadInput/NegativeMemory":   unasked,
	"TestAccVMBadInput/AbsurdMemory":     unasked,
	"TestAccVMBadInput/ZeroDisk":         unasked,
	"TestAccVMBadInput/NoRootDisk":       unasked,
	"TestAccVMBadInput/DottedName":       unasked,
	"TestAccVMBadInput/LongName":         unasked,
	"TestAccVMBadInput/CoresAndPinned":   unasked,
	"TestAccVMBadInput/BigUserData":      unasked,

	"TestAccHostBadMachine": metal,
	"TestAccHostBadInput":   unasked,

	"TestAccMachineImportByIdentity":        metal,
	"TestAccMachineSelected":                metal,
	"TestAccMachineErased":                  metal,
	"TestAccMachineTimeoutIsResumed":        metal,
	"TestAccMachineFailsForGood":            metal,
	"TestAccMachineDrift":                   metal,
	"TestAccMachineBadInput":                metal,
	"TestAccMachineKilled":                  metal,
	"TestAccWorkflowImportNoMachine":        metal,
	"TestAccWorkflowReplaceMachine":         metal,
	"TestAccWorkflowMachineTwice":           metal,
	"TestAccWorkflowMachineLost":            metal,
	"TestAccWorkflowMachineNames":           metal,
	"TestAccWorkflowMachineLeftBehind":      metal,
	"TestAccWorkflowMachineUpkeep":          metal,
	"TestAccWorkflowMachineReplaced":        metal,
	"TestAccWorkflowMachineHostnames":       metal,
	"TestAccWorkflowMachineUpkeepTypo":      metal,
	"TestAccWorkflowMachineProtection":      metal,
	"TestAccWorkflowMachineInMemory":        metal,
	"TestAccWorkflowMachineOfOthers":        metal,
	"TestAccHostKilled/Allocated":           metal,
	"TestAccHostKilled/Deploying":           metal,
	"TestAccHostTwoAtOnce/OneMachine":       metal,
	"TestAccHostFailsForGood":               metal,
	"TestAccHostTimeoutIsResumed/Deploying": metal,
	"TestAccWorkflowLateUserDataOfHost":     installed,
	"TestAccWorkflowTypoHost":               metal,

	"TestAccWorkflowAttributes/Zone":            ofMachine,
	"TestAccWorkflowAttributes/Pool":            ofMachine,
	"TestAccWorkflowAttributes/Domain":          ofMachine,
	"TestAccWorkflowAttributes/Tags":            ofMachine,
	"TestAccWorkflowAttributes/TagsRemoved":     ofMachine,
	"TestAccWorkflowAttributes/PlaceRemoved":    ofMachine,
	"TestAccWorkflowAttributes/InterfaceLabel":  ofState,
	"TestAccWorkflowAttributes/Timeouts":        ofState,
	"TestAccWorkflowAttributes/TimeoutsRemoved": ofState,
	"TestAccWorkflowAttributes/Image":           installed,
	"TestAccWorkflowAttributes/Kernel":          installed,
	"TestAccWorkflowAttributes/Ephemeral":       installed,
	"TestAccWorkflowLateUserData":               installed,

	"TestAccWorkflowHostAttributes/ForceDestroy":    ofState,
	"TestAccWorkflowHostAttributes/Release":         ofState,
	"TestAccWorkflowHostAttributes/Timeouts":        ofState,
	"TestAccWorkflowHostAttributes/OnCreateFailure": ofState,
	"TestAccWorkflowHostAttributes/MachineByFQDN":   ofState,
	"TestAccWorkflowHostAttributes/DefaultsWritten": ofState,
	"TestAccWorkflowHostAttributes/Image":           installed,
	"TestAccWorkflowHostAttributes/Kernel":          installed,
	"TestAccWorkflowHostAttributes/KernelRemoved":   installed,
	"TestAccWorkflowHostAttributes/KernelNamed":     installed,
	"TestAccWorkflowHostAttributes/ImageRemoved":    installed,
	"TestAccWorkflowHostAttributes/ImageNamed":      installed,
	"TestAccWorkflowHostAttributes/PoolDriver":      installed,

	"TestAccVMKilled/Commissioning":            installed,
	"TestAccVMKilled/Deploying":                installed,
	"TestAccVMKilled/DeployingInPlace":         installed,
	"TestAccVMFaults/DeployHangs":              replies,
	"TestAccVMFaults/ReadReset":                replies,
	"TestAccVMErrorsThatSayNothingOfIt":        replies,
	"TestAccVMDeleteFaults/ReleaseUnavailable": replies,
	"TestAccVMTimeoutThenFailed":               "the status alone decides what the next plan replaces; TestAccVMFailedTransitions removes a VM there",
	"TestAccVMDrift/Zone":                      ofMachine,
	"TestAccVMDrift/Tag":                       ofMachine,
	"TestAccVMStalePlan":                       installed,
	"TestAccVMSubnetSpelling":                  language,
	"TestAccWorkflowBlocks":                    language,
	"TestAccWorkflowTarget":                    language,
	"TestAccWorkflowSavedPlan":                 language,
	"TestAccWorkflowNames/Swap":                ofMachine,
	"TestAccWorkflowNames/Shift":               ofMachine,
}
