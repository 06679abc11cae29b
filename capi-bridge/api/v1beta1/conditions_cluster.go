package v1beta1

// Condition types of a MaasCluster, besides Ready, Paused and Deleting.
const (
	// DNSReadyCondition: the cluster's API has a name, which is published or
	// was given. Its type is that of older versions.
	DNSReadyCondition = "LoadBalancerReady"
	// APIServerAvailableCondition: the cluster's API answers.
	APIServerAvailableCondition = "APIServerAvailable"
	// LXDReadyCondition: all bare-metal machines of the cluster are LXD hosts
	// on which VMs can be made. Only clusters with lxdConfig have it.
	LXDReadyCondition = "LXDReady"
	// FailureDomainsReadyCondition: the availability zones for machines are
	// known, and MAAS has them.
	FailureDomainsReadyCondition = "FailureDomainsReady"
	// ControlPlaneSpreadCondition: the control plane's machines are in as many
	// zones as MAAS has room for. Only clusters whose zones the manager
	// discovers have it.
	ControlPlaneSpreadCondition = "ControlPlaneSpread"
	// IdentityReadyCondition: there are credentials, and MAAS accepts them.
	IdentityReadyCondition = "IdentityReady"
)

// Reasons of LoadBalancerReady.
const (
	// DNSReadyReason: the name is published, with the addresses of those
	// control-plane machines that have one.
	DNSReadyReason = "LoadBalancerReady"
	// DNSFailedReason: MAAS did not accept the DNS record.
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
	// APIServerAvailableReason: the API answers.
	APIServerAvailableReason = "APIServerAvailable"
	// APIServerNotReadyReason: the API does not answer yet, or no longer.
	APIServerNotReadyReason = "APIServerNotReady"
)

// Reasons of LXDReady. The message counts the machines that are ready.
const (
	// LXDReadyReason: VMs can be made on all of them.
	LXDReadyReason = "LXDReady"
	// LXDSetupPendingReason: some of them are not ready yet.
	LXDSetupPendingReason = "LXDSetupPending"
	// WaitingForLXDReason: the machine ran before it was to be a host, and its
	// LXD is not set up yet or does not trust the manager. Only a MaasMachine
	// has it.
	WaitingForLXDReason = "WaitingForLXD"
	// LXDFailedReason: one of them cannot become a host; the message says why.
	LXDFailedReason = "LXDFailed"
)

// Reasons of FailureDomainsReady.
const (
	// FailureDomainsReadyReason: the zones are known.
	FailureDomainsReadyReason = "FailureDomainsReady"
	// ZoneNotFoundReason: spec.failureDomains names a zone that MAAS does not
	// have.
	ZoneNotFoundReason = "ZoneNotFound"
	// NoCapacityReason: no zone has a free machine, or a host with room, for
	// the control plane.
	NoCapacityReason = "NoCapacity"
	// ControlPlaneNotFoundReason: the control plane that the Cluster names, or
	// its template, does not exist yet. They say what the control plane needs
	// of a zone.
	ControlPlaneNotFoundReason = "ControlPlaneNotFound"
)

// Reasons of ControlPlaneSpread.
const (
	// ControlPlaneSpreadReason: no zone with room has two machines fewer than another.
	ControlPlaneSpreadReason = "ControlPlaneSpread"
	// UnevenReason: a zone with room has two machines fewer; the message says
	// which zone.
	UnevenReason = "Uneven"
)

// Reasons of IdentityReady.
const (
	// IdentityReadyReason: MAAS accepts the credentials.
	IdentityReadyReason = "IdentityReady"
	// IdentityNotFoundReason: there is no MaasClusterIdentity of that name.
	IdentityNotFoundReason = "IdentityNotFound"
	// IdentityNotAllowedReason: the cluster's namespace may not use the
	// identity.
	IdentityNotAllowedReason = "IdentityNotAllowed"
	// CredentialsNotFoundReason: there is no Secret with an API key, or no URL
	// of MAAS.
	CredentialsNotFoundReason = "CredentialsNotFound"
	// CredentialsRefusedReason: MAAS refuses the API key.
	CredentialsRefusedReason = "CredentialsRefused"
	// AnotherMAASReason: the credentials are for another MAAS than the one that
	// the cluster was made in.
	AnotherMAASReason = "AnotherMAAS"
)

// Reasons of Deleting of a cluster, besides those of a machine.
const (
	// WaitingForMachinesReason: the cluster still has machines.
	WaitingForMachinesReason = "WaitingForMachines"
	// RemovingDNSReason: the DNS record is being removed.
	RemovingDNSReason = "RemovingDNS"
)
