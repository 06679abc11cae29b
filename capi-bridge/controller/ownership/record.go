// Package ownership tells whose a machine is: what the annotations of a MaasMachine say of
// it, the mark in MAAS, and which of several objects has the right to it.
package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/providerid"
)

// Record is a MaasMachine in a management cluster: what its annotations say of its
// machine.
type Record struct {
	MaasMachine *infrav1.MaasMachine
	Management  string // the management cluster
}

// ObjectKey is the name of the object.
func (s *Record) ObjectKey() client.ObjectKey { return client.ObjectKeyFromObject(s.MaasMachine) }

// SystemID is the machine's id in MAAS as far as it is known.
func (s *Record) SystemID() string { return SystemIDOf(s.MaasMachine) }

// IsDeleting tells that the object is being deleted.
func (s *Record) IsDeleting() bool { return !s.MaasMachine.DeletionTimestamp.IsZero() }

// IsClaimed tells that the engine may have been asked for the machine.
func (s *Record) IsClaimed() bool { return s.MaasMachine.Annotations[KeyAnnotation] != "" }

// IsProvisioned tells that the machine was once Deployed. The status does not
// survive a move to another management cluster; the providerID does, and we
// write it at that moment. Another provider writes it earlier.
func (s *Record) IsProvisioned() bool {
	m := s.MaasMachine
	return ptr.Deref(m.Status.Initialization.Provisioned, false) || m.Status.Ready ||
		m.Spec.ProviderID != nil && s.IsClaimed() && !s.IsAdoptionPending()
}

// Kind is the engine's kind of the machine. What another provider made was begun
// as no host of ours, whatever was asked for by then.
func (s *Record) Kind() string {
	kind := s.MaasMachine.Annotations[KindAnnotation]
	if kind == KindHost && s.IsFromOtherProvider() {
		return KindMachine
	}
	return kind
}

// VMName is the name of the VM in MAAS and LXD, the same each time.
func (s *Record) VMName() string {
	if name := s.MaasMachine.Annotations[infrav1.VMNameAnnotation]; name != "" {
		return name
	}
	sum := sha256.Sum256([]byte(s.MaasMachine.Annotations[KeyAnnotation]))
	name := strings.ReplaceAll(s.MaasMachine.Name, ".", "-")
	if strings.IndexByte("0123456789", name[0]) >= 0 {
		name = "vm-" + name // LXD takes no instance whose name begins with a digit
	}
	name = strings.TrimRight(name[:min(len(name), maxLabelLength-1-nameHashLength)], "-")
	return name + "-" + hex.EncodeToString(sum[:])[:nameHashLength]
}

// Mark is the one that the object's machine is to bear.
func (s *Record) Mark() Mark { return MarkOf(s.Management, s.MaasMachine) }

// OwnKey is the key that the object's machine is marked with.
func (s *Record) OwnKey() engine.Key { return s.Mark().key() }

// EngineKey is by what the engine knows the machine, as it was written down.
func (s *Record) EngineKey() engine.Key {
	return engine.Key(s.MaasMachine.Annotations[KeyAnnotation])
}

// IsUntouched tells that the engine was never asked for the machine.
func (s *Record) IsUntouched() bool {
	return !s.IsClaimed() && (s.SystemID() == "" || s.namesForeignMachine() && !s.wantsTakeOver())
}

// NeedsTakeOver tells whether the object has no right to its machine but that it is taken
// over: another provider made it, or only the object's annotations say whose it is, as
// noteOrigin noted.
func (s *Record) NeedsTakeOver() bool {
	return s.IsAdoptionPending() || s.MaasMachine.Annotations[controller.UnprovenAnnotation] != ""
}

// RecordOwnership writes down that the machine is marked as the object's. A VM keeps
// the name that it was made by.
func (s *Record) RecordOwnership() {
	all := s.MaasMachine.Annotations
	if s.Kind() == KindVM && s.EngineKey() != s.OwnKey() {
		all[infrav1.VMNameAnnotation] = s.VMName()
	}
	all[KeyAnnotation] = string(s.OwnKey())
	if s.IsAdoptionPending() {
		all[AdoptionAnnotation] = adoptionDone
	}
	delete(all, ArrivalAnnotation)
	delete(all, controller.UnprovenAnnotation)
}

// IsRegistering tells that its LXD was registered by us, or is about to be.
func (s *Record) IsRegistering() bool { return s.MaasMachine.Annotations[HostAnnotation] != "" }

// IsFromOtherProvider tells that another provider made the machine.
func (s *Record) IsFromOtherProvider() bool {
	value := s.MaasMachine.Annotations[AdoptionAnnotation]
	return value != "" && value != AdoptionNone && value != AdoptionArrived
}

// namesForeignMachine tells that an object names a machine which was not made for
// it: it is new here, and so no other provider made the machine for it here.
func (s *Record) namesForeignMachine() bool {
	m := s.MaasMachine
	return !s.IsClaimed() && SystemIDOf(m) != "" && m.Annotations[AdoptionAnnotation] != ""
}

// wantsTakeOver tells that the object asks for the machine all the same, or came with
// it. It gets it where the cluster's identity allows that.
func (s *Record) wantsTakeOver() bool {
	all := s.MaasMachine.Annotations
	return all[infrav1.TakeOverAnnotation] == "true" || all[AdoptionAnnotation] == AdoptionArrived
}

// IsAdoptionPending tells that a machine which another provider made is still to be
// taken over.
func (s *Record) IsAdoptionPending() bool {
	return s.MaasMachine.Annotations[AdoptionAnnotation] == AdoptionPending
}

// SystemIDOf is the machine's id in MAAS as far as it is known.
func SystemIDOf(m *infrav1.MaasMachine) string {
	switch id := m.Annotations[SystemIDAnnotation]; id {
	case "":
	case NoSystemID:
		return ""
	default:
		return id
	}
	if id := ptr.Deref(m.Spec.SystemID, ""); id != "" {
		return id
	}
	id, err := providerid.Parse(ptr.Deref(m.Spec.ProviderID, ""))
	if err != nil {
		return ""
	}
	return id.SystemID
}

// Lengths of a VM's name: one DNS label with a part that makes it unique in the
// whole MAAS, which knows no namespaces.
const (
	maxLabelLength = 63
	nameHashLength = 8
)
