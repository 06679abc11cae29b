package acctest_test

// The column of real LXDs differs in who makes VMs and keeps hosts: MAAS, or
// our provider in LXD. A test runs there unless it cannot see any such
// difference. These are the reasons why it cannot.
const (
	alikeRefusedFirst    = "it is refused before any call to an LXD, so the maker of the VM or host does not matter"
	alikeProviderSetting = "a provider setting is read before the composer matters"
	alikeLedger          = "the ledger works in the same way for both composers"
	alikeBareMetal       = "it is about a bare-metal machine, and no VM is made"
	alikeMachineRecord   = "MAAS stores it in the machine's record, and the same calls change it for VMs and hosts"
	alikeStateOnly       = "only Terraform's state has it, and no call changes it"
	alikeInstallation    = "MAAS deploys a machine in the same way, whoever made it; other tests replace a VM or host"
	alikeAnswers         = "the provider handles MAAS's answers in the same way, whoever made the machine"
	alikeTerraform       = "Terraform handles names, addresses and plans in the same way"
	alikeCatalog         = "MAAS lists zones, pools, subnets and images in the same way for both composers"
	alikeNetwork         = "MAAS makes a machine's network before the deployment, with and without VM hosts"
)

// alikeOnLXD are the tests, or their cases, with equal results in both columns,
// and the reason. They run only in the column of MAAS. The column of LXDs skips
// them with the reason.
var alikeOnLXD = map[string]string{
	"TestAccProviderURLForms":    alikeProviderSetting,
	"TestAccWorkflowOwnerNeeded": alikeProviderSetting,
	"TestAccHostBadKey":          alikeProviderSetting,
	"TestAccWorkflowKeyOfOthers": alikeProviderSetting,
	"TestAccWorkflowAnotherMAAS": alikeProviderSetting,
	"TestAccExampleProvider":     alikeProviderSetting,

	"TestAccGuideCI":               alikeProviderSetting,
	"TestAccGuideDayTwo":           alikeMachineRecord,
	"TestAccGuideRestartAndRescue": alikeMachineRecord,
	"TestAccGuideSimulator":        alikeMachineRecord,
	"TestAccGuideSnapshot":         "TestAccWorkflowSnapshot takes and restores snapshots of real LXDs",
	"TestAccGuideLedgerService":    alikeLedger,
	"TestAccExampleActions":        "the tests of the actions themselves run there",
	"TestAccPlanRules":             "TestAccWorkflowAttributes changes sizes in LXD, and the rule of removed lines is the same",

	"TestAccFunctions":         alikeTerraform,
	"TestAccFunctionsBadInput": alikeTerraform,

	"TestAccActionBadInput":   alikeRefusedFirst,
	"TestAccActionCommission": alikeBareMetal,

	"TestAccDataCatalog":            alikeCatalog,
	"TestAccDataCatalogBadInput":    alikeCatalog,
	"TestAccDataCatalogSharesLists": alikeCatalog,

	"TestAccHostBadNetwork":          alikeRefusedFirst,
	"TestAccWorkflowHostBond":        alikeNetwork,
	"TestAccWorkflowHostBondAdded":   alikeNetwork,
	"TestAccWorkflowHostNetworkLost": alikeNetwork,
	"TestAccExampleHostNetwork":      alikeNetwork,

	"TestAccWorkflowTypoCreate":  alikeRefusedFirst,
	"TestAccWorkflowTypoForced":  alikeRefusedFirst,
	"TestAccWorkflowDescription": alikeMachineRecord,
	"TestAccWorkflowAnnotations": alikeMachineRecord,
	"TestAccWorkflowProtection":  "TestAccGoneProtection is the same story of a VM in LXD",

	"TestAccPlacementBadInput/Both":         alikeRefusedFirst,
	"TestAccPlacementBadInput/Neither":      alikeRefusedFirst,
	"TestAccPlacementBadInput/NeitherLater": alikeRefusedFirst,
	"TestAccPlacementBadInput/Strategy":     alikeRefusedFirst,
	"TestAccPlacementBadInput/EmptyTag":     alikeRefusedFirst,
	"TestAccPlacementBadInput/LongGroup":    alikeRefusedFirst,
	"TestAccPlacementBadInput/UnknownZone":  alikeRefusedFirst,
	"TestAccPlacementBadInput/UnknownPool":  alikeRefusedFirst,

	"TestAccProviderBadInput/MalformedKey": alikeProviderSetting,
	"TestAccProviderBadInput/WrongKey":     alikeProviderSetting,
	"TestAccProviderBadInput/NoScheme":     alikeProviderSetting,
	"TestAccProviderBadInput/NotAURL":      alikeProviderSetting,
	"TestAccProviderBadInput/HTTPSAsked":   alikeProviderSetting,
	"TestAccProviderBadInput/NobodyThere":  alikeProviderSetting,
	"TestAccProviderBadInput/NoMAAS":       alikeProviderSetting,
	"TestAccProviderBadInput/BadCA":        alikeProviderSetting,
	"TestAccProviderBadInput/BadInterval":  alikeProviderSetting,
	"TestAccProviderBadInput/BadTimeout":   alikeProviderSetting,
	"TestAccProviderBadInput/BadOwner":     alikeProviderSetting,

	"TestAccLedgerUnusable":             alikeLedger,
	"TestAccLedgerFile":                 alikeLedger,
	"TestAccLedgerInMemory":             alikeLedger,
	"TestAccLedgerHomeless":             alikeLedger,
	"TestAccLedgerDefault":              alikeLedger,
	"TestAccWorkflowLedgerService":      alikeLedger,
	"TestAccWorkflowNetworksContradict": alikeRefusedFirst,
	"TestAccWorkflowNullElements":       alikeRefusedFirst,
	"TestAccDataBadInput/HostUnsaid":    alikeRefusedFirst,
	"TestAccDataBadInput/HostTwice":     alikeRefusedFirst,
	"TestAccDataBadInput/HostIDZero":    alikeRefusedFirst,
	"TestAccDataBadInput/MinCores":      alikeRefusedFirst,
	"TestAccDataBadInput/EmptyTag":      alikeRefusedFirst,
	"TestAccDataBadInput/NoVMID":        alikeRefusedFirst,
	"TestAccDataBadInput/VMUnsaid":      alikeRefusedFirst,

	"TestAccVMBadInput/UnknownZone":      alikeRefusedFirst,
	"TestAccVMBadInput/UnknownPool":      alikeRefusedFirst,
	"TestAccVMBadInput/UnknownDomain":    alikeRefusedFirst,
	"TestAccVMBadInput/UnknownImage":     alikeRefusedFirst,
	"TestAccVMBadInput/AddressElsewhere": alikeRefusedFirst,
	"TestAccVMBadInput/AddressOfMAAS":    alikeRefusedFirst,
	"TestAccVMBadInput/AddressTaken":     alikeRefusedFirst,
	"TestAccVMBadInput/NoAddress":        alikeRefusedFirst,
	"TestAccVMBadInput/ZeroCores":        alikeRefusedFirst,
	"TestAccVMBadInput/NegativeMemory":   alikeRefusedFirst,
	"TestAccVMBadInput/AbsurdMemory":     alikeRefusedFirst,
	"TestAccVMBadInput/ZeroDisk":         alikeRefusedFirst,
	"TestAccVMBadInput/NoRootDisk":       alikeRefusedFirst,
	"TestAccVMBadInput/DottedName":       alikeRefusedFirst,
	"TestAccVMBadInput/LongName":         alikeRefusedFirst,
	"TestAccVMBadInput/CoresAndPinned":   alikeRefusedFirst,
	"TestAccVMBadInput/BigUserData":      alikeRefusedFirst,

	"TestAccHostBadMachine": alikeBareMetal,
	"TestAccHostBadInput":   alikeRefusedFirst,

	"TestAccMachineImportByIdentity":        alikeBareMetal,
	"TestAccMachineSelected":                alikeBareMetal,
	"TestAccMachineErased":                  alikeBareMetal,
	"TestAccMachineTimeoutIsResumed":        alikeBareMetal,
	"TestAccMachineFailsForGood":            alikeBareMetal,
	"TestAccMachineDrift":                   alikeBareMetal,
	"TestAccMachineBadInput":                alikeBareMetal,
	"TestAccMachineKilled":                  alikeBareMetal,
	"TestAccWorkflowImportNoMachine":        alikeBareMetal,
	"TestAccWorkflowReplaceMachine":         alikeBareMetal,
	"TestAccWorkflowMachineTwice":           alikeBareMetal,
	"TestAccWorkflowMachineLost":            alikeBareMetal,
	"TestAccWorkflowMachineNames":           alikeBareMetal,
	"TestAccWorkflowMachineLeftBehind":      alikeBareMetal,
	"TestAccWorkflowMachineUpkeep":          alikeBareMetal,
	"TestAccWorkflowMachineReplaced":        alikeBareMetal,
	"TestAccWorkflowMachineHostnames":       alikeBareMetal,
	"TestAccWorkflowMachineUpkeepTypo":      alikeBareMetal,
	"TestAccWorkflowMachineProtection":      alikeBareMetal,
	"TestAccWorkflowMachineInMemory":        alikeBareMetal,
	"TestAccWorkflowMachineOfOthers":        alikeBareMetal,
	"TestAccHostKilled/Allocated":           alikeBareMetal,
	"TestAccHostKilled/Deploying":           alikeBareMetal,
	"TestAccHostTwoAtOnce/OneMachine":       alikeBareMetal,
	"TestAccHostFailsForGood":               alikeBareMetal,
	"TestAccHostTimeoutIsResumed/Deploying": alikeBareMetal,
	"TestAccWorkflowLateUserDataOfHost":     alikeInstallation,
	"TestAccWorkflowTypoHost":               alikeBareMetal,

	"TestAccWorkflowAttributes/Zone":            alikeMachineRecord,
	"TestAccWorkflowAttributes/Pool":            alikeMachineRecord,
	"TestAccWorkflowAttributes/Domain":          alikeMachineRecord,
	"TestAccWorkflowAttributes/Tags":            alikeMachineRecord,
	"TestAccWorkflowAttributes/TagsRemoved":     alikeMachineRecord,
	"TestAccWorkflowAttributes/PlaceRemoved":    alikeMachineRecord,
	"TestAccWorkflowAttributes/InterfaceLabel":  alikeStateOnly,
	"TestAccWorkflowAttributes/Timeouts":        alikeStateOnly,
	"TestAccWorkflowAttributes/TimeoutsRemoved": alikeStateOnly,
	"TestAccWorkflowAttributes/Image":           alikeInstallation,
	"TestAccWorkflowAttributes/Kernel":          alikeInstallation,
	"TestAccWorkflowAttributes/Ephemeral":       alikeInstallation,
	"TestAccWorkflowLateUserData":               alikeInstallation,

	"TestAccWorkflowHostAttributes/ForceDestroy":    alikeStateOnly,
	"TestAccWorkflowHostAttributes/Release":         alikeStateOnly,
	"TestAccWorkflowHostAttributes/Timeouts":        alikeStateOnly,
	"TestAccWorkflowHostAttributes/OnCreateFailure": alikeStateOnly,
	"TestAccWorkflowHostAttributes/MachineByFQDN":   alikeStateOnly,
	"TestAccWorkflowHostAttributes/DefaultsWritten": alikeStateOnly,
	"TestAccWorkflowHostAttributes/Image":           alikeInstallation,
	"TestAccWorkflowHostAttributes/Kernel":          alikeInstallation,
	"TestAccWorkflowHostAttributes/KernelRemoved":   alikeInstallation,
	"TestAccWorkflowHostAttributes/KernelNamed":     alikeInstallation,
	"TestAccWorkflowHostAttributes/ImageRemoved":    alikeInstallation,
	"TestAccWorkflowHostAttributes/ImageNamed":      alikeInstallation,
	"TestAccWorkflowHostAttributes/PoolDriver":      alikeInstallation,

	"TestAccVMKilled/Commissioning":            alikeInstallation,
	"TestAccVMKilled/Deploying":                alikeInstallation,
	"TestAccVMKilled/DeployingInPlace":         alikeInstallation,
	"TestAccVMFaults/DeployHangs":              alikeAnswers,
	"TestAccVMFaults/ReadReset":                alikeAnswers,
	"TestAccVMErrorsThatSayNothingOfIt":        alikeAnswers,
	"TestAccVMDeleteFaults/ReleaseUnavailable": alikeAnswers,
	"TestAccVMTimeoutThenFailed":               "only the status decides what the next plan replaces; TestAccVMFailedTransitions removes a VM there",
	"TestAccVMDrift/Zone":                      alikeMachineRecord,
	"TestAccVMDrift/Tag":                       alikeMachineRecord,
	"TestAccVMStalePlan":                       alikeInstallation,
	"TestAccVMSubnetSpelling":                  alikeTerraform,
	"TestAccWorkflowBlocks":                    alikeTerraform,
	"TestAccWorkflowTarget":                    alikeTerraform,
	"TestAccWorkflowSavedPlan":                 alikeTerraform,
	"TestAccWorkflowNames/Swap":                alikeMachineRecord,
	"TestAccWorkflowNames/Shift":               alikeMachineRecord,
}
