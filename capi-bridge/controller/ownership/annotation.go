package ownership

import (
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// ArrivalAnnotation names the management cluster in which the object was seen while
// it was paused, with the key of another one: clusterctl move brings objects so.
const ArrivalAnnotation = infrav1.AnnotationPrefix + "arrived-paused"

// The values of HostAnnotation.
const (
	HostRegistering = "registering" // by us, from before it is done
	HostRegistered  = "registered"
)

// Annotations of a MaasMachine that the controller writes. Unlike the status
// and UIDs they are kept when a cluster is moved to another management cluster.
const (
	// KeyAnnotation is the name by which the engine knows the machine, which is its
	// mark in MAAS: for whom it was made. Former versions took the Machine's UID.
	KeyAnnotation = infrav1.AnnotationPrefix + "key"
	// KindAnnotation is the engine's kind of the machine: vm, machine or host.
	KindAnnotation = infrav1.AnnotationPrefix + "kind"
	// SystemIDAnnotation is the machine's id in MAAS as it is known so far. A VM
	// that fails before it was ever Ready is made anew, with another one.
	SystemIDAnnotation = infrav1.AnnotationPrefix + "system-id"
	// HostAnnotation says that we register the LXD of a machine that was not begun
	// as a host, or have: then it is ours to unregister.
	HostAnnotation = infrav1.AnnotationPrefix + "host"
	// NoSystemID is the value of SystemIDAnnotation where the machine that the spec names is somebody
	// else's by now.
	NoSystemID = "none"
	// AttemptAnnotation is what the making of a VM has begun: the row of a ledger that
	// ends with its manager. It is written before MAAS is asked.
	AttemptAnnotation = infrav1.AnnotationPrefix + "attempt"
	// NoAttempt is its value where nothing was begun. An object with a key and without
	// the annotation is of a manager that kept its rows elsewhere.
	NoAttempt = "none"
	// AdoptionAnnotation says whether another provider made the machine, and
	// whether it was taken over.
	AdoptionAnnotation = infrav1.AnnotationPrefix + "inherited"
	// SwapAnnotation says of a machine that nothing turns its swap off.
	SwapAnnotation = infrav1.AnnotationPrefix + "swap"
	SwapUnchanged  = "unchanged"
)

// The values of AdoptionAnnotation.
const (
	AdoptionNone    = "none"    // the object was nobody's before
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
