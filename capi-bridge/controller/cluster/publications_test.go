package cluster

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
	"github.com/maaslxd/maaslxd/engine"
)

// TestPublicationsAreForgotten: nothing is kept of a cluster whose object is gone,
// be it deleted or moved to another management cluster.
func TestPublicationsAreForgotten(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gone := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "prod"}}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
	now, recorder := time.Now(), events.NewFakeRecorder(1)
	r.Published.Remember(gone, endpoint.Publication{PublishedAt: now})
	isKnown := func() bool {
		_, ok := r.Published.KnownAddresses(gone, nil, engine.DNSName{}, now)
		return ok
	}
	r.outbox.Send(recorder, gone, []outbox.Event{{Type: "Normal", Note: "it goes"}}, errors.New("it could not be written"))
	if !isKnown() || len(recorder.Events) > 0 {
		t.Fatalf("nothing was kept before: %v, %d events", isKnown(), len(recorder.Events))
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(gone)}); err != nil {
		t.Fatal(err)
	}
	if r.outbox.Send(recorder, gone, nil, nil); isKnown() || len(recorder.Events) > 0 {
		t.Errorf("kept: %v, %d events", isKnown(), len(recorder.Events))
	}
}
