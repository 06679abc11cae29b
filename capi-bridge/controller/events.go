package controller

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// news is an event that is to be sent.
type news struct {
	kind   string // Normal or Warning
	reason string
	about  string // the type of the condition that changed
	note   string // a sentence
}

// teller sends events, each once what it tells is written down. What could not be
// written is seen again, and would be told again; of what was written in part, not
// all is seen again. So news are kept until a write succeeds.
//
// The zero value owes nobody anything.
type teller struct {
	mu   sync.Mutex
	owed map[client.ObjectKey]debt
}

// debt is what is owed of one object: not of another one of its name.
type debt struct {
	uid  types.UID
	news []news
}

// maxOwed is how many news of an object are kept, the latest: while nothing can be
// written, a message may be another one each time.
const maxOwed = 20

// tell sends the news of an object if it was written, and keeps them if not. A nil
// recorder sends nothing.
func (t *teller) tell(recorder events.EventRecorder, o client.Object, more []news, written error) {
	if recorder == nil {
		return
	}
	for _, n := range t.due(o, more, written) {
		recorder.Eventf(o, nil, n.kind, n.reason, n.about, "%s", n.note)
	}
}

// due are the news that may be sent now, each once.
func (t *teller) due(o client.Object, more []news, written error) []news {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	var all []news
	if had := t.owed[key]; had.uid == o.GetUID() {
		all = had.news
	}
	for _, n := range more {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	if written == nil {
		delete(t.owed, key)
		return all
	}
	if t.owed == nil {
		t.owed = map[client.ObjectKey]debt{}
	}
	t.owed[key] = debt{uid: o.GetUID(), news: all[max(0, len(all)-maxOwed):]}
	return nil
}

// forget drops what is owed of an object that is gone.
func (t *teller) forget(key client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owed, key)
}

// maxNote is the length of an event's note that the API server takes.
const maxNote = 1024

// note is the sentence of a condition: its message, or what its reason stands for.
func note(c *metav1.Condition) string {
	text := cmp.Or(c.Message, plainly[c.Reason], c.Reason)
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote-3], "") + "..."
	}
	return text
}

// plainly says what reasons stand for that need no message.
var plainly = map[string]string{
	infrav1.MachineDeployedReason:     "it is Deployed in MAAS, and runs",
	infrav1.LXDVMCreatedReason:        "the VM is made, and MAAS has taken stock of it",
	infrav1.NodeProviderIDSetReason:   "its Node carries its providerID",
	infrav1.DeletionCompletedReason:   "nothing of it is left in MAAS",
	infrav1.IdentityReadyReason:       "MAAS takes the credentials",
	infrav1.FailureDomainsReadyReason: "the zones that its machines may be in are known",
	infrav1.APIServerAvailableReason:  "the API of the cluster answers",
	infrav1.ControlPlaneSpreadReason:  "the control plane is in as many zones as have room",
}
