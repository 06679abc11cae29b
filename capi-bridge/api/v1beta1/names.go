package v1beta1

// Finalizers. The earlier provider has the same ones, so that two finalizers
// never hold one of its objects.
const (
	ClusterFinalizer = "maascluster.infrastructure.cluster.x-k8s.io"
	MachineFinalizer = "maasmachine.infrastructure.cluster.x-k8s.io"
	// HostEvacuationFinalizer was put on machines whose LXD was being emptied.
	// The manager removes it and never adds it.
	HostEvacuationFinalizer = "maas.lxd.io/host-evacuation"
)

// Annotations.
const (
	// AnnotationPrefix begins the annotations by which the controllers know
	// which objects in MAAS belong to a MaasMachine or MaasCluster. The webhook
	// lets only the manager change them, except TakeOverAnnotation.
	AnnotationPrefix = "infrastructure.cluster.x-k8s.io/maas-"
	// CustomEndpointAnnotation on a MaasCluster says that somebody else
	// publishes its endpoint. We make no DNS record then, whatever the value
	// is.
	CustomEndpointAnnotation = "spectrocloud.com/custom-dns-provided"
	// VMNameAnnotation on a MaasMachine is the name that its VM was composed
	// under. The controllers keep to it: a VM may be found by it.
	VMNameAnnotation = "maas.spectrocloud.com/vm-name"
	// TakeOverAnnotation with the value "true" lets a new MaasMachine take the
	// machine that its providerID or systemID names. An object that another
	// provider held needs no annotation.
	TakeOverAnnotation = "infrastructure.cluster.x-k8s.io/maas-take-over"
	// AcceptMAASAnnotation on a MaasCluster accepts another MAAS than the one
	// that the cluster was made in. Its value is the mark of the other MAAS, or
	// "none".
	AcceptMAASAnnotation = "infrastructure.cluster.x-k8s.io/accept-maas"
)

// Names of objects that the manager reads, unless a flag names others.
const (
	// DefaultNamespace is where the manager and its credentials are.
	DefaultNamespace = "capmaas-system"
	// CredentialsSecret holds MAAS's API key under CredentialsKey.
	CredentialsSecret = "maas-credentials"
	CredentialsKey    = "apiKey"
	// EndpointConfigMap holds MAAS's URL under EndpointKey.
	EndpointConfigMap = "capmaas-config"
	EndpointKey       = "maasEndpoint"
	// BootstrapSecret is the older Secret with both.
	BootstrapSecret            = "capmaas-manager-bootstrap-credentials"
	BootstrapSecretEndpointKey = "MAAS_ENDPOINT"
	BootstrapSecretAPIKeyKey   = "MAAS_API_KEY"
	// PreferredSubnetConfigMap is in a cluster's namespace. Under
	// PreferredSubnetKey it names the subnets whose addresses are published.
	PreferredSubnetConfigMap = "maas-preferred-subnet"
	PreferredSubnetKey       = "preferredSubnets"
	// LeaderElectionID keeps two managers from working on the same objects.
	LeaderElectionID = "controller-leader-election-capmaas"
)

// DefaultEndpointPort is the port of a cluster's API where you set none.
const DefaultEndpointPort = 6443
