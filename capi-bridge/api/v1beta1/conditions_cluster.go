package v1beta1

// Condition types of a MaasCluster, besides Ready, Paused and Deleting.
const (
	// DNSReadyCondition: the cluster's API has a name, and the name is published
	// or given. Its type is that of older versions.
	DNSReadyCondition = "LoadBalancerReady"
	// APIServerAvailableCondition: the cluster's API answers.
	APIServerAvailableCondition = "APIServerAvailable"
	// LXDReadyCondition: all bare-metal machines of the cluster are LXD hosts on
	// which VMs can be made. Only where they shall be.
	LXDReadyCondition = "LXDReady"
	// FailureDomainsReadyCondition: the availability zones that machines may be
	// in are known, and MAAS has them.
	FailureDomainsReadyCondition = "FailureDomainsReady"
	// ControlPlaneSpreadCondition: the control plane's machines are in as many zones
	// as MAAS has room for. Only where the zones are those that have room.
	ControlPlaneSpreadCondition = "ControlPlaneSpread"
	// IdentityReadyCondition: there are credentials, and MAAS takes them.
	IdentityReadyCondition = "IdentityReady"
)

// Reasons of LoadBalancerReady.
const (
	// DNSReadyReason: the name is published, with the addresses of the machines
	// of the control plane that have one.
	DNSReadyReason = "LoadBalancerReady"
	// DNSFailedReason: MAAS did not take the DNS record.
	DNSFailedReason = "LoadBalancerFailed"
	// WaitForDNSNameReason: the cluster's API has no name yet.
	WaitForDNSNameReason = "WaitForDNSName"
	// DNSDomainNotFoundReason: MAAS has no domain of that name.
	DNSDomainNotFoundReason = "DNSDomainNotFound"
	// WaitingForControlPlaneReason: no machine of the control plane has an
	// address to publish yet.
	WaitingForControlPlaneReason = "WaitingForControlPlane"
)

// Reasons of APIServerAvailable.
const (
	// APIServerAvailableReason: it answers.
	APIServerAvailableReason = "APIServerAvailable"
	// APIServerNotReadyReason: it does not answer yet, or no longer.
	APIServerNotReadyReason = "APIServerNotReady"
)

// Reasons of LXDReady. The message says of how many machines it holds.
const (
	// LXDReadyReason: VMs can be made on all of them.
	LXDReadyReason = "LXDReady"
	// LXDSetupPendingReason: some of them are not that far yet.
	LXDSetupPendingReason = "LXDSetupPending"
	// WaitingForLXDReason: the LXD of a machine that ran before it was to be a host
	// is not set up yet, or does not trust the manager. Only of a MaasMachine.
	WaitingForLXDReason = "WaitingForLXD"
	// LXDFailedReason: one of them cannot become a host; the message says why.
	LXDFailedReason = "LXDFailed"
)

// Reasons of FailureDomainsReady.
const (
	// FailureDomainsReadyReason: they are known.
	FailureDomainsReadyReason = "FailureDomainsReady"
	// ZoneNotFoundReason: MAAS has no zone of a name in spec.failureDomains.
	ZoneNotFoundReason = "ZoneNotFound"
	// NoCapacityReason: no zone has a machine or a host to take for the control
	// plane.
	NoCapacityReason = "NoCapacity"
	// ControlPlaneNotFoundReason: the control plane that the Cluster names, or its
	// template, is not there yet, which says what it needs zones for.
	ControlPlaneNotFoundReason = "ControlPlaneNotFound"
)

// Reasons of ControlPlaneSpread.
const (
	// ControlPlaneSpreadReason: no zone with room has two machines fewer than another.
	ControlPlaneSpreadReason = "ControlPlaneSpread"
	// UnevenReason: one has; the message says which.
	UnevenReason = "Uneven"
)

// Reasons of IdentityReady.
const (
	// IdentityReadyReason: MAAS takes the credentials.
	IdentityReadyReason = "IdentityReady"
	// IdentityNotFoundReason: there is no MaasClusterIdentity of that name.
	IdentityNotFoundReason = "IdentityNotFound"
	// IdentityNotAllowedReason: the cluster's namespace may not use the
	// identity.
	IdentityNotAllowedReason = "IdentityNotAllowed"
	// CredentialsNotFoundReason: there is no Secret with an API key, or no URL of
	// MAAS.
	CredentialsNotFoundReason = "CredentialsNotFound"
	// CredentialsRefusedReason: MAAS does not take the API key.
	CredentialsRefusedReason = "CredentialsRefused"
	// AnotherMAASReason: the credentials are for another MAAS than the one that the
	// cluster was made in.
	AnotherMAASReason = "AnotherMAAS"
)

// Reasons of Deleting of a cluster, besides those of a machine.
const (
	// WaitingForMachinesReason: machines of the cluster are still there.
	WaitingForMachinesReason = "WaitingForMachines"
	// RemovingDNSReason: the DNS record is being removed.
	RemovingDNSReason = "RemovingDNS"
)
