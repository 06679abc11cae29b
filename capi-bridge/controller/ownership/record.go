// Package ownership decides whose a machine is. It reads the annotations of a
// MaasMachine and the mark in MAAS, and finds which of several objects has the
// right to the machine.
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

// Record is a MaasMachine in a management cluster, and what its annotations say
// about its machine.
type Record struct {
	MaasMachine *infrav1.MaasMachine
	Management  string // the management cluster
}

// ObjectKey is the name of the object.
func (s *Record) ObjectKey() client.ObjectKey { return client.ObjectKeyFromObject(s.MaasMachine) }

// SystemID is the machine's system id in MAAS as far as it is known.
func (s *Record) SystemID() string { return SystemIDOf(s.MaasMachine) }

// IsDeleting reports whether the object is being deleted.
func (s *Record) IsDeleting() bool { return !s.MaasMachine.DeletionTimestamp.IsZero() }

// IsClaimed reports whether the engine may have been asked for the machine.
func (s *Record) IsClaimed() bool { return s.MaasMachine.Annotations[KeyAnnotation] != "" }

// IsProvisioned reports whether the machine was ever Deployed. The status does
// not survive a move to another management cluster. The providerID does, and we
// write it when the machine is Deployed. Another provider writes it earlier.
func (s *Record) IsProvisioned() bool {
	m := s.MaasMachine
	return ptr.Deref(m.Status.Initialization.Provisioned, false) || m.Status.Ready ||
		m.Spec.ProviderID != nil && s.IsClaimed() && !s.IsAdoptionPending()
}

// Kind is the engine's kind of the machine. A machine of another provider was
// not begun as a host of ours, whatever the spec asked for by then.
func (s *Record) Kind() string {
	kind := s.MaasMachine.Annotations[KindAnnotation]
	if kind == KindHost && s.IsFromOtherProvider() {
		return KindMachine
	}
	return kind
}

// VMName is the name of the VM in MAAS and LXD. It is the same each time.
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

// Mark is the mark that the object's machine must bear.
func (s *Record) Mark() Mark { return MarkOf(s.Management, s.MaasMachine) }

// OwnKey is the key that the object's machine is marked with.
func (s *Record) OwnKey() engine.Key { return s.Mark().key() }

// EngineKey is the engine's key of the machine, as the annotation has it.
func (s *Record) EngineKey() engine.Key {
	return engine.Key(s.MaasMachine.Annotations[KeyAnnotation])
}

// IsUntouched reports whether the engine was never asked for the machine.
func (s *Record) IsUntouched() bool {
	return !s.IsClaimed() && (s.SystemID() == "" || s.namesForeignMachine() && !s.wantsTakeOver())
}

// NeedsTakeOver reports whether the object can only take its machine over. That
// is so where another provider made the machine, or where only the object's
// annotations say whose it is (see noteOrigin).
func (s *Record) NeedsTakeOver() bool {
	return s.IsAdoptionPending() || s.MaasMachine.Annotations[controller.UnprovenAnnotation] != ""
}

// RecordOwnership writes down that the machine is marked as the object's. A VM
// keeps the name that it was made with.
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

// IsRegistering reports whether we registered the machine's LXD, or are about
// to.
func (s *Record) IsRegistering() bool { return s.MaasMachine.Annotations[HostAnnotation] != "" }

// IsFromOtherProvider reports whether another provider made the machine.
func (s *Record) IsFromOtherProvider() bool {
	value := s.MaasMachine.Annotations[AdoptionAnnotation]
	return value != "" && value != AdoptionNone && value != AdoptionArrived
}

// namesForeignMachine reports whether a new object names a machine that was not
// made for it. No other provider can have made the machine for it, because the
// object is new here.
func (s *Record) namesForeignMachine() bool {
	m := s.MaasMachine
	return !s.IsClaimed() && SystemIDOf(m) != "" && m.Annotations[AdoptionAnnotation] != ""
}

// wantsTakeOver reports whether the object asks for a foreign machine, or came
// with one. It gets the machine where the cluster's identity allows that.
func (s *Record) wantsTakeOver() bool {
	all := s.MaasMachine.Annotations
	return all[infrav1.TakeOverAnnotation] == "true" || all[AdoptionAnnotation] == AdoptionArrived
}

// IsAdoptionPending reports whether we still have to take over a machine that
// another provider made.
func (s *Record) IsAdoptionPending() bool {
	return s.MaasMachine.Annotations[AdoptionAnnotation] == AdoptionPending
}

// SystemIDOf returns the machine's system id in MAAS as far as it is known.
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

// Lengths of a VM's name. The name is one DNS label. A part of it makes it
// unique in the whole MAAS, which has no namespaces.
const (
	maxLabelLength = 63
	nameHashLength = 8
)
