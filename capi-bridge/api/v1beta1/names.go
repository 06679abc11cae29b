package v1beta1

// Finalizers. They are those of the provider that came before: an object of
// its must not be held by two of them.
const (
	ClusterFinalizer = "maascluster.infrastructure.cluster.x-k8s.io"
	MachineFinalizer = "maasmachine.infrastructure.cluster.x-k8s.io"
	// HostEvacuationFinalizer was put on machines whose LXD was being emptied.
	// It is taken off, never put on.
	HostEvacuationFinalizer = "maas.lxd.io/host-evacuation"
)

// Annotations.
const (
	// AnnotationPrefix begins the annotations by which the controllers know what is
	// an object's in MAAS. The webhook lets nobody else change them, but for
	// TakeOverAnnotation.
	AnnotationPrefix = "infrastructure.cluster.x-k8s.io/maas-"
	// CustomEndpointAnnotation on a MaasCluster says that somebody else
	// publishes its endpoint: no DNS record is made, whatever the value is.
	CustomEndpointAnnotation = "spectrocloud.com/custom-dns-provided"
	// VMNameAnnotation on a MaasMachine is the name that its VM was composed
	// under. It is honoured where it stands; a VM may be found by it.
	VMNameAnnotation = "maas.spectrocloud.com/vm-name"
	// TakeOverAnnotation on a MaasMachine that is new lets it have the machine
	// that its providerID or systemID names, where the value is "true". An object
	// that another provider held needs none.
	TakeOverAnnotation = "infrastructure.cluster.x-k8s.io/maas-take-over"
	// AcceptMAASAnnotation on a MaasCluster names the mark of another MAAS than the
	// one that it was made in, or "none": the cluster goes on there.
	AcceptMAASAnnotation = "infrastructure.cluster.x-k8s.io/accept-maas"
)

// Names of objects that the manager reads, where nothing else is said.
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
	// PreferredSubnetConfigMap, in a cluster's namespace, names under
	// PreferredSubnetKey the subnets whose addresses are published.
	PreferredSubnetConfigMap = "maas-preferred-subnet"
	PreferredSubnetKey       = "preferredSubnets"
	// LeaderElectionID excludes two managers that would hold the same objects.
	LeaderElectionID = "controller-leader-election-capmaas"
)

// DefaultEndpointPort is that of a cluster's API where none is given.
const DefaultEndpointPort = 6443
