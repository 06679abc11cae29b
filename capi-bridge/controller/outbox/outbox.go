// Package outbox sends events once what they tell is written down.
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

// Event is an event that is to be sent.
type Event struct {
	Type   string // Normal or Warning
	Reason string
	Action string // the type of the condition that changed
	Note   string // a sentence
}

// Outbox sends events, each once what it tells is written down. What could not be
// written is seen again, and would be told again; of what was written in part, not
// all is seen again. So news are kept until a write succeeds.
//
// The zero value owes nobody anything.
type Outbox struct {
	mu     sync.Mutex
	unsent map[client.ObjectKey]pendingEvents
}

// pendingEvents is what is owed of one object: not of another one of its name.
type pendingEvents struct {
	uid    types.UID
	events []Event
}

// maxUnsent is how many news of an object are kept, the latest: while nothing can be
// written, a message may be another one each time.
const maxUnsent = 20

// Send sends the news of an object if it was written, and keeps them if not. A nil
// recorder sends nothing.
func (t *Outbox) Send(recorder events.EventRecorder, o client.Object, more []Event, written error) {
	if recorder == nil {
		return
	}
	for _, n := range t.takeDue(o, more, written) {
		recorder.Eventf(o, nil, n.Type, n.Reason, n.Action, "%s", n.Note)
	}
}

// takeDue are the news that may be sent now, each once.
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

// Forget drops what is owed of an object that is gone.
func (t *Outbox) Forget(key client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unsent, key)
}

// maxNoteLength is the length of an event's note that the API server takes.
const maxNoteLength = 1024

// NoteForCondition is the sentence of a condition: its message, or what its reason stands for.
func NoteForCondition(c *metav1.Condition) string {
	text := cmp.Or(c.Message, notesByReason[c.Reason], c.Reason)
	if len(text) > maxNoteLength {
		text = strings.ToValidUTF8(text[:maxNoteLength-3], "") + "..."
	}
	return text
}

// notesByReason says what reasons stand for that need no message.
var notesByReason = map[string]string{
	infrav1.MachineDeployedReason:     "it is Deployed in MAAS, and runs",
	infrav1.LXDVMCreatedReason:        "the VM is made, and MAAS has taken stock of it",
	infrav1.NodeProviderIDSetReason:   "its Node carries its providerID",
	infrav1.DeletionCompletedReason:   "nothing of it is left in MAAS",
	infrav1.IdentityReadyReason:       "MAAS takes the credentials",
	infrav1.FailureDomainsReadyReason: "the zones that its machines may be in are known",
	infrav1.APIServerAvailableReason:  "the API of the cluster answers",
	infrav1.ControlPlaneSpreadReason:  "the control plane is in as many zones as have room",
}

// LogWarnings logs each new failure once, as it is told by an event, too.
func LogWarnings(ctx context.Context, all []Event) {
	for _, n := range all {
		if n.Type == corev1.EventTypeWarning {
			ctrl.LoggerFrom(ctx).Info(n.Note, "condition", n.Action, "reason", n.Reason)
		}
	}
}
