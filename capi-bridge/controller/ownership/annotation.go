package ownership

import (
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// ArrivalAnnotation names the management cluster in which the object appeared
// while it was paused, with the key of another management cluster. clusterctl
// move brings such objects.
const ArrivalAnnotation = infrav1.AnnotationPrefix + "arrived-paused"

// The values of HostAnnotation.
const (
	HostRegistering = "registering" // we register it, or are about to
	HostRegistered  = "registered"
)

// Annotations of a MaasMachine that the controller writes. Unlike the status
// and UIDs they survive a move to another management cluster.
const (
	// KeyAnnotation is the engine's key of the machine, which is also its mark
	// in MAAS. It names the object that the machine was made for. Former
	// versions used the Machine's UID.
	KeyAnnotation = infrav1.AnnotationPrefix + "key"
	// KindAnnotation is the engine's kind of the machine: vm, machine or host.
	KindAnnotation = infrav1.AnnotationPrefix + "kind"
	// SystemIDAnnotation is the machine's system id in MAAS as far as it is
	// known. A VM that fails before it was ever Ready is made again, with
	// another id.
	SystemIDAnnotation = infrav1.AnnotationPrefix + "system-id"
	// HostAnnotation says that we register the LXD of a machine that was not
	// begun as a host, or that we have done so. Then we also unregister it.
	HostAnnotation = infrav1.AnnotationPrefix + "host"
	// NoSystemID is the value of SystemIDAnnotation where the machine that the
	// spec names belongs to somebody else by now.
	NoSystemID = "none"
	// AttemptAnnotation records the attempt to make a VM: a row of a ledger
	// that ends with its manager. It is written before MAAS is asked.
	AttemptAnnotation = infrav1.AnnotationPrefix + "attempt"
	// NoAttempt is the value where no attempt was begun. An object with a key
	// and without the annotation comes from a manager that kept its rows
	// elsewhere.
	NoAttempt = "none"
	// AdoptionAnnotation says whether another provider made the machine, and
	// whether we have taken it over.
	AdoptionAnnotation = infrav1.AnnotationPrefix + "inherited"
	// SwapAnnotation says that nothing turns the machine's swap off.
	SwapAnnotation = infrav1.AnnotationPrefix + "swap"
	SwapUnchanged  = "unchanged"
)

// The values of AdoptionAnnotation.
const (
	AdoptionNone    = "none"    // no provider had the object before
	AdoptionArrived = "arrived" // it came from elsewhere, with the finalizer and no key
	AdoptionPending = "pending"
	adoptionDone    = "taken"
)

// The engine's kinds, as KindAnnotation names them.
const (
	KindVM      = "vm"
	KindMachine = "machine"
	KindHost    = "host"
)
