// Package outbox sends events after their news is written to the object's
// status.
package outbox

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// Event is an event to send.
type Event struct {
	Type   string // Normal or Warning
	Reason string
	Action string // the type of the condition that changed
	Note   string // a sentence
}

// Outbox sends each event once, after its news is written to the object's
// status. A status that was not written is computed again, and its events would
// come twice. A status that was written in part does not bring all events
// again. So the Outbox keeps events until a write succeeds.
//
// The zero value has no events to send.
type Outbox struct {
	mu     sync.Mutex
	unsent map[client.ObjectKey]pendingEvents
}

// pendingEvents are the unsent events of one object, by UID and not by name.
type pendingEvents struct {
	uid    types.UID
	events []Event
}

// maxUnsent is how many of an object's latest events are kept. While no write
// succeeds, each reconcile may bring another message.
const maxUnsent = 20

// Send sends the events of an object after a successful write, and keeps them
// after a failed one. A nil recorder sends nothing.
func (t *Outbox) Send(recorder events.EventRecorder, o client.Object, more []Event, written error) {
	if recorder == nil {
		return
	}
	for _, n := range t.takeDue(o, more, written) {
		recorder.Eventf(o, nil, n.Type, n.Reason, n.Action, "%s", n.Note)
	}
}

// takeDue returns the events that may be sent now, each once.
func (t *Outbox) takeDue(o client.Object, more []Event, written error) []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	var all []Event
	if had := t.unsent[key]; had.uid == o.GetUID() {
		all = had.events
	}
	for _, n := range more {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	if written == nil {
		delete(t.unsent, key)
		return all
	}
	if t.unsent == nil {
		t.unsent = map[client.ObjectKey]pendingEvents{}
	}
	t.unsent[key] = pendingEvents{uid: o.GetUID(), events: all[max(0, len(all)-maxUnsent):]}
	return nil
}

// Forget drops the unsent events of an object that is gone.
func (t *Outbox) Forget(key client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unsent, key)
}

// maxNoteLength is the longest note of an event that the API server accepts.
const maxNoteLength = 1024

// NoteForCondition returns the sentence of a condition: its message, or a text
// for its reason.
func NoteForCondition(c *metav1.Condition) string {
	text := cmp.Or(c.Message, notesByReason[c.Reason], c.Reason)
	if len(text) > maxNoteLength {
		text = strings.ToValidUTF8(text[:maxNoteLength-3], "") + "..."
	}
	return text
}

// notesByReason holds the texts for reasons that come without a message.
var notesByReason = map[string]string{
	infrav1.MachineDeployedReason:     "the machine is Deployed in MAAS and runs",
	infrav1.LXDVMCreatedReason:        "the VM is composed and commissioned",
	infrav1.NodeProviderIDSetReason:   "the machine's Node has its providerID",
	infrav1.DeletionCompletedReason:   "nothing of the object is left in MAAS",
	infrav1.IdentityReadyReason:       "MAAS accepts the credentials",
	infrav1.FailureDomainsReadyReason: "the zones for the cluster's machines are known",
	infrav1.APIServerAvailableReason:  "the API of the cluster answers",
	infrav1.ControlPlaneSpreadReason:  "the control plane uses as many zones as have room",
}

// LogWarnings logs each new failure once, at the same time as its event.
func LogWarnings(ctx context.Context, all []Event) {
	for _, n := range all {
		if n.Type == corev1.EventTypeWarning {
			ctrl.LoggerFrom(ctx).Info(n.Note, "condition", n.Action, "reason", n.Reason)
		}
	}
}
