package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// Annotations of a MaasMachine that the controller writes. Unlike the status
// and UIDs they are kept when a cluster is moved to another management cluster.
const (
	// KeyAnnotation is the name by which the engine knows the machine, which is its
	// mark in MAAS: for whom it was made. Former versions took the Machine's UID.
	KeyAnnotation = annotationPrefix + "key"
	// KindAnnotation is the engine's kind of the machine: vm, machine or host.
	KindAnnotation = annotationPrefix + "kind"
	// SystemIDAnnotation is the machine's id in MAAS as it is known so far. A VM
	// that fails before it was ever Ready is made anew, with another one.
	SystemIDAnnotation = annotationPrefix + "system-id"
	// HostAnnotation says that we register the LXD of a machine that was not begun
	// as a host, or have: then it is ours to unregister.
	HostAnnotation = annotationPrefix + "host"
	// noSystemID is its value where the machine that the spec names is somebody
	// else's by now.
	noSystemID = "none"
	// InheritedAnnotation says whether another provider made the machine, and
	// whether it was taken over.
	InheritedAnnotation = annotationPrefix + "inherited"
	// SwapAnnotation says of a machine that nothing turns its swap off.
	SwapAnnotation = annotationPrefix + "swap"
	swapUnchanged  = "unchanged"
)

// The values of InheritedAnnotation.
const (
	inheritanceNone    = "none"    // the object was nobody's before
	inheritanceArrived = "arrived" // it came from elsewhere, with the finalizer and no key
	inheritancePending = "pending"
	inheritanceTaken   = "taken"
)

// The engine's kinds, as KindAnnotation names them.
const (
	kindVM      = "vm"
	kindMachine = "machine"
	kindHost    = "host"
)

// machineScope is a MaasMachine with what it hangs on.
type machineScope struct {
	cluster     *clusterv1.Cluster   // nil: gone, and the machine is being deleted
	machine     *clusterv1.Machine   // likewise
	maasCluster *infrav1.MaasCluster // likewise
	maasMachine *infrav1.MaasMachine

	management string               // the management cluster
	rival      *infrav1.MaasMachine // with a better right to the machine
	refused    *blocked             // why the object has no right to it; nil: it has
	// ownerUnknown is why it could not be told whether it has.
	ownerUnknown error

	want  infrav1.ResolvedMachine
	hosts *infrav1.ResolvedHosts // nil: machines do not become LXD hosts
	site  *Site
	news  []news // what is told once this reconcile is written down
}

func (s *machineScope) key() client.ObjectKey { return client.ObjectKeyFromObject(s.maasMachine) }

func (s *machineScope) deleting() bool { return !s.maasMachine.DeletionTimestamp.IsZero() }

// claimed tells that the engine may have been asked for the machine.
func (s *machineScope) claimed() bool { return s.maasMachine.Annotations[KeyAnnotation] != "" }

// inherited tells that another provider made the machine.
func (s *machineScope) inherited() bool {
	value := s.maasMachine.Annotations[InheritedAnnotation]
	return value != "" && value != inheritanceNone && value != inheritanceArrived
}

// namesForeignMachine tells that an object names a machine which was not made for
// it: it is new here, and so no other provider made the machine for it here.
func (s *machineScope) namesForeignMachine() bool {
	m := s.maasMachine
	return !s.claimed() && systemIDOf(m) != "" && m.Annotations[InheritedAnnotation] != ""
}

// wantsTakeOver tells that the object asks for the machine all the same, or came with
// it. It gets it where the cluster's identity allows that.
func (s *machineScope) wantsTakeOver() bool {
	all := s.maasMachine.Annotations
	return all[infrav1.TakeOverAnnotation] == "true" || all[InheritedAnnotation] == inheritanceArrived
}

// noRight is why nothing is done for such an object.
func (s *machineScope) noRight() *blocked {
	return &blocked{
		reason: infrav1.ConflictReason,
		message: fmt.Sprintf("spec.providerID and spec.systemID: machine %s was not made for this object, which is new, "+
			"and whose deletion would release it", systemIDOf(s.maasMachine)),
		hint: "Leave both out to get a machine; or, if it is to be taken over as it is, set the annotation " + infrav1.TakeOverAnnotation +
			": \"true\", which the cluster's identity must allow.",
	}
}

// adoptionPending tells that a machine which another provider made is still to be
// taken over.
func (s *machineScope) adoptionPending() bool {
	return s.maasMachine.Annotations[InheritedAnnotation] == inheritancePending
}

// provisioned tells that the machine was once Deployed. The status does not
// survive a move to another management cluster; the providerID does, and we
// write it at that moment. Another provider writes it earlier.
func (s *machineScope) provisioned() bool {
	m := s.maasMachine
	return ptr.Deref(m.Status.Initialization.Provisioned, false) || m.Status.Ready ||
		m.Spec.ProviderID != nil && s.claimed() && !s.adoptionPending()
}

// controlPlane tells that the machine is one of the cluster's control plane.
func (s *machineScope) controlPlane() bool {
	if s.machine != nil {
		return util.IsControlPlaneMachine(s.machine)
	}
	_, ok := s.maasMachine.Labels[clusterv1.MachineControlPlaneLabel]
	return ok
}

// mark writes the annotations of claim.
func (s *machineScope) mark(m *infrav1.MaasMachine) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[KeyAnnotation] = string(s.ownKey())
	m.Annotations[KindAnnotation] = s.wantedKind()
	if id := systemIDOf(m); id != "" {
		m.Annotations[SystemIDAnnotation] = id
		m.Annotations[InheritedAnnotation] = inheritancePending
	}
}

// wantedKind is the kind that the specs ask for.
func (s *machineScope) wantedKind() string {
	switch {
	case s.want.Mode == infrav1.ProvisioningModeLXD:
		return kindVM
	case s.hosts != nil:
		return kindHost
	default:
		return kindMachine
	}
}

// kind is the engine's kind of the machine. What another provider made was begun
// as no host of ours, whatever was asked for by then.
func (s *machineScope) kind() string {
	kind := s.maasMachine.Annotations[KindAnnotation]
	if kind == kindHost && s.inherited() {
		return kindMachine
	}
	return kind
}

// systemIDOf is the machine's id in MAAS as far as it is known.
func systemIDOf(m *infrav1.MaasMachine) string {
	switch id := m.Annotations[SystemIDAnnotation]; id {
	case "":
	case noSystemID:
		return ""
	default:
		return id
	}
	if id := ptr.Deref(m.Spec.SystemID, ""); id != "" {
		return id
	}
	id, err := infrav1.ParseProviderID(ptr.Deref(m.Spec.ProviderID, ""))
	if err != nil {
		return ""
	}
	return id.SystemID
}

// ref is the machine as the engine knows it.
func (s *machineScope) ref() engine.Ref {
	ref := engine.Ref{
		Key: s.engineKey(), Name: s.vmName(), SystemID: systemIDOf(s.maasMachine),
		Finished: s.provisioned() && s.kind() != kindHost,
	}
	if s.site != nil {
		ref.Release.Credentials = s.site.Credentials
	}
	return ref
}

// Lengths of a VM's name: one DNS label with a part that makes it unique in the
// whole MAAS, which knows no namespaces.
const (
	maxLabel  = 63
	hashChars = 8
)

// vmName is the name of the VM in MAAS and LXD, the same each time.
func (s *machineScope) vmName() string {
	if name := s.maasMachine.Annotations[infrav1.VMNameAnnotation]; name != "" {
		return name
	}
	sum := sha256.Sum256([]byte(s.maasMachine.Annotations[KeyAnnotation]))
	name := strings.ReplaceAll(s.maasMachine.Name, ".", "-")
	if strings.IndexByte("0123456789", name[0]) >= 0 {
		name = "vm-" + name // LXD takes no instance whose name begins with a digit
	}
	name = strings.TrimRight(name[:min(len(name), maxLabel-1-hashChars)], "-")
	return name + "-" + hex.EncodeToString(sum[:])[:hashChars]
}

// group names the machines that the VM shall stand apart from: those of its
// control plane, or of its MachineDeployment. Empty: none.
func (s *machineScope) group() string {
	if s.machine == nil {
		return ""
	}
	cluster := s.machine.Namespace + "/" + s.machine.Spec.ClusterName
	if s.controlPlane() {
		return cluster + "/control-plane"
	}
	if name := s.machine.Labels[clusterv1.MachineDeploymentNameLabel]; name != "" {
		return cluster + "/machine-deployments/" + name
	}
	return ""
}

// failureDomain is the availability zone that the machine must be in; empty:
// any. That of the Machine counts, where it has one.
func (s *machineScope) failureDomain() string {
	if s.machine != nil && s.machine.Spec.FailureDomain != "" {
		return s.machine.Spec.FailureDomain
	}
	return s.want.FailureDomain
}

// resolve reads the specs. Its error says what they contradict themselves in.
func (s *machineScope) resolve() error {
	var errs, more field.ErrorList
	s.want, errs = s.maasMachine.Spec.Resolve(field.NewPath("spec"))
	if s.maasCluster != nil && s.want.Mode == infrav1.ProvisioningModeBareMetal {
		s.hosts, more = s.maasCluster.Spec.ResolveHosts(field.NewPath("spec"))
	}
	if len(more) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("MaasCluster"), fmt.Sprintf("%s: %v", s.maasCluster.Name, more.ToAggregate())))
	}
	if len(errs) == 0 {
		return nil
	}
	return &blocked{reason: infrav1.InvalidSpecReason, message: errs.ToAggregate().Error()}
}

// gates says what must come first, before anything is made.
func (s *machineScope) gates() error {
	switch {
	case s.provisioned():
		return nil
	case !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false):
		return &blocked{
			reason: infrav1.WaitingForClusterInfrastructureReason, passing: true,
			message: fmt.Sprintf("the infrastructure of cluster %s is not provisioned yet", s.cluster.Name),
		}
	case s.machine.Spec.Bootstrap.DataSecretName == nil && s.maasMachine.Spec.ProviderID == nil:
		return &blocked{
			reason: infrav1.WaitingForBootstrapDataReason, passing: true,
			message: fmt.Sprintf("the bootstrap data of Machine %s are not there yet", s.machine.Name),
		}
	}
	return nil
}
